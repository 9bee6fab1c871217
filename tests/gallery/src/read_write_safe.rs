//! J. Magee and J. Kramer's readers-writers monitor that is safe, and no more
//! (*Concurrency: State Models and Java Programs*, 1999).
//!
//! A. Yanes explored it in *A dynamic framework for testing the
//! synchronization behavior of Java monitors* (2007); this is the form that it
//! has there.

use std::sync::{Condvar, Mutex};

/// Grants a resource to many readers at a time, or to one writer.
///
/// Who is next, nobody has promised: if readers keep coming, writers starve.
/// The last reader wakes everybody. One would do, as only writers wait while
/// somebody reads, and the others find that they must go on waiting.
#[derive(Debug, Default)]
pub struct ReadWriteSafe {
    holders: Mutex<Holders>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct Holders {
    readers: usize,
    writing: bool,
}

impl ReadWriteSafe {
    /// A resource that nobody holds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gets the resource for reading; waits while it is being written.
    pub fn acquire_read(&self) {
        let mut holders = self.holders.lock().unwrap();
        while holders.writing {
            holders = self.released.wait(holders).unwrap();
        }
        holders.readers += 1;
    }

    /// Gives the resource back after reading.
    pub fn release_read(&self) {
        let mut holders = self.holders.lock().unwrap();
        holders.readers -= 1;
        // mutants: equivalent: early-unlock: whoever comes in in the gap wakes all
        // when it leaves
        if holders.readers == 0 {
            // mutants: equivalent: notify-one: the last writer has woken all readers,
            // so only writers wait now, and whoever comes in wakes the next
            self.released.notify_all();
        }
    }

    /// Gets the resource for writing; waits while anybody else has it.
    pub fn acquire_write(&self) {
        let mut holders = self.holders.lock().unwrap();
        while holders.readers > 0 || holders.writing {
            holders = self.released.wait(holders).unwrap();
        }
        holders.writing = true;
    }

    /// Gives the resource back after writing.
    pub fn release_write(&self) {
        let mut holders = self.holders.lock().unwrap();
        holders.writing = false;
        self.released.notify_all();
    }
}
