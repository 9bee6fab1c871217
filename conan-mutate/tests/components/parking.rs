//! Waits of parking_lot's kind: the guard is lent, and there is no poison.

use parking_lot::{Condvar, Mutex};
use std::time::Duration;

pub struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    pub const fn new() -> Self {
        Self { is_open: Mutex::new(false), opened: Condvar::new() }
    }

    pub fn pass(&self) {
        let mut is_open = self.is_open.lock();
        while !*is_open {
            self.opened.wait(&mut is_open);
        }
        *is_open = false;
    }

    pub fn pass_while(&self, limit: Duration) {
        let mut is_open = self.is_open.lock();
        self.opened.wait_while(&mut is_open, |is_open| !*is_open);
        self.opened.wait_while_for(&mut is_open, |is_open| !*is_open, limit);
        while !*is_open && self.opened.wait_for(&mut is_open, limit).timed_out() {}
    }
}
