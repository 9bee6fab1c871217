//! Who runs next, and whom a wake wakes: decided here and nowhere else.

use std::sync::{Arc, Mutex, PoisonError};

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

/// A decision that a strategy took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// This thread ran next, of these that were ready.
    Next(ThreadId, Vec<ThreadId>),
    /// This thread was woken, of these that waited.
    Wake(ThreadId, Vec<ThreadId>),
}

/// Writes down the decisions of another strategy.
#[derive(Debug)]
pub struct Recorded<S> {
    strategy: S,
    decisions: Arc<Mutex<Vec<Decision>>>,
}

impl<S> Recorded<S> {
    /// Records what `strategy` decides. The list can be read at any time at
    /// which no thread of the world runs.
    pub fn new(strategy: S) -> (Self, Arc<Mutex<Vec<Decision>>>) {
        let decisions = Arc::new(Mutex::new(Vec::new()));
        let recorded = Self {
            strategy,
            decisions: Arc::clone(&decisions),
        };
        (recorded, decisions)
    }

    fn record(&self, decision: Decision) {
        let decisions = self.decisions.lock();
        decisions
            .unwrap_or_else(PoisonError::into_inner)
            .push(decision);
    }
}

impl<S: Strategy> Strategy for Recorded<S> {
    fn next(&mut self, ready: &[ThreadId]) -> usize {
        let index = self.strategy.next(ready);
        self.record(Decision::Next(ready[index], ready.to_vec()));
        index
    }

    fn wake(&mut self, waiting: &[ThreadId]) -> usize {
        let index = self.strategy.wake(waiting);
        self.record(Decision::Wake(waiting[index], waiting.to_vec()));
        index
    }
}
