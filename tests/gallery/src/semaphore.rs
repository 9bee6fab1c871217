//! The semaphore of J. Magee and J. Kramer's *Concurrency: State Models and
//! Java Programs* (1999): E. W. Dijkstra's, as a monitor.

use std::sync::{Condvar, Mutex};

/// A number that never falls below 0: who would take it there waits.
///
/// All who wait wait for the same, and one more lets one more through:
/// `notify_one` is enough here.
#[derive(Debug)]
pub struct Semaphore {
    value: Mutex<usize>,
    raised: Condvar,
}

impl Semaphore {
    /// A semaphore that the first `initial` callers of [`down`](Self::down)
    /// pass without waiting.
    pub fn new(initial: usize) -> Self {
        Self {
            value: Mutex::new(initial),
            raised: Condvar::new(),
        }
    }

    /// Adds one.
    pub fn up(&self) {
        let mut value = self.value.lock().unwrap();
        *value += 1;
        self.raised.notify_one();
    }

    /// Takes one away; waits while there is none.
    pub fn down(&self) {
        let mut value = self.value.lock().unwrap();
        while *value == 0 {
            value = self.raised.wait(value).unwrap();
        }
        *value -= 1;
    }
}
