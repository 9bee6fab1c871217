//! The abstract clock, which the paper tests with its own tool (5.3).

use std::sync::{Condvar, Mutex};

/// A time that moves only when it is told to.
///
/// It begins at 0. The paper's drivers put their threads in order with such a
/// clock; here it is a component under test like any other.
#[derive(Debug, Default)]
pub struct Clock {
    time: Mutex<u64>,
    ticked: Condvar,
}

impl Clock {
    /// A clock at time 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until the time is `time` or later.
    pub fn await_time(&self, time: u64) {
        let mut now = self.time.lock().unwrap();
        while *now < time {
            now = self.ticked.wait(now).unwrap();
        }
    }

    /// Moves the time on by one, and wakes those who wait for it.
    pub fn tick(&self) {
        *self.time.lock().unwrap() += 1;
        self.ticked.notify_all();
    }

    /// What time it is.
    pub fn time(&self) -> u64 {
        *self.time.lock().unwrap()
    }
}
