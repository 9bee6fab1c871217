//! A readers-writers monitor in which both kinds take turns, after J. Magee
//! and J. Kramer's (*Concurrency: State Models and Java Programs*, 1999).
//!
//! Here writers, too, look whose turn it is, as the cars of that book's fair
//! bridge do: then it does not matter in which order threads wake.

use std::sync::{Condvar, Mutex};

/// Grants a resource to many readers at a time, or to one writer, and lets
/// neither kind starve.
///
/// When a reader leaves, it is the writers' turn; when a writer leaves, the
/// readers'. It matters only if both kinds wait: then those whose turn it is
/// go first.
#[derive(Debug, Default)]
pub struct ReadWriteFair {
    access: Mutex<Access>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct Access {
    readers: usize,
    writing: bool,
    waiting_readers: usize,
    waiting_writers: usize,
    readers_turn: bool,
}

impl Access {
    fn is_closed_to_readers(&self) -> bool {
        self.writing || self.waiting_writers > 0 && !self.readers_turn
    }

    fn is_closed_to_writers(&self) -> bool {
        self.writing || self.readers > 0 || self.waiting_readers > 0 && self.readers_turn
    }
}

impl ReadWriteFair {
    /// A resource that nobody holds; at first it is the writers' turn.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gets the resource for reading; waits while it is being written, and
    /// while a writer waits whose turn it is.
    pub fn acquire_read(&self) {
        let mut access = self.access.lock().unwrap();
        access.waiting_readers += 1;
        while access.is_closed_to_readers() {
            access = self.released.wait(access).unwrap();
        }
        access.waiting_readers -= 1;
        access.readers += 1;
    }

    /// Gives the resource back after reading.
    pub fn release_read(&self) {
        let mut access = self.access.lock().unwrap();
        access.readers -= 1;
        access.readers_turn = false;
        self.released.notify_all();
    }

    /// Gets the resource for writing; waits while anybody else has it, and
    /// while a reader waits whose turn it is.
    pub fn acquire_write(&self) {
        let mut access = self.access.lock().unwrap();
        access.waiting_writers += 1;
        while access.is_closed_to_writers() {
            access = self.released.wait(access).unwrap();
        }
        access.waiting_writers -= 1;
        access.writing = true;
    }

    /// Gives the resource back after writing.
    pub fn release_write(&self) {
        let mut access = self.access.lock().unwrap();
        access.writing = false;
        access.readers_turn = true;
        self.released.notify_all();
    }
}
