//! A gate that opens once.

use std::sync::{Condvar, Mutex};

/// Shut at first; [`pass`](Self::pass) waits until somebody opens it.
#[derive(Debug, Default)]
pub struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// A gate that is shut.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until the gate is open.
    pub fn pass(&self) {
        let mut is_open = self.is_open.lock().unwrap();
        while !*is_open {
            is_open = self.opened.wait(is_open).unwrap();
        }
    }

    /// Opens the gate for good, and lets everybody through who waits.
    pub fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    /// Whether it has been opened.
    pub fn is_open(&self) -> bool {
        *self.is_open.lock().unwrap()
    }
}
