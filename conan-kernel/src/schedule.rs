//! Who runs next, and whom a wake wakes: decided here and nowhere else.

use crate::state::ThreadId;

/// Takes the decisions of a world.
pub trait Strategy: Send {
    /// Which of the ready threads runs next, as an index. They are in the
    /// order in which they became ready; there is at least one.
    fn next(&mut self, ready: &[ThreadId]) -> usize;

    /// Which of the threads that wait at one place is woken, as an index.
    /// They are in the order in which they began to wait; there is at least
    /// one.
    fn wake(&mut self, waiting: &[ThreadId]) -> usize;
}

/// The fixed default: first come, first served.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fifo;

impl Strategy for Fifo {
    fn next(&mut self, _: &[ThreadId]) -> usize {
        0
    }

    fn wake(&mut self, _: &[ThreadId]) -> usize {
        0
    }
}
