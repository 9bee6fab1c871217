//! The readers-writers monitor of the paper (5.4), in which it planted seven
//! faults (5.5).

use std::sync::{Condvar, Mutex};

/// Lets many read at a time, or one write.
///
/// Readers wait for a writer only. So while anybody reads, all who wait are
/// writers, and the last reader to leave need not wake more than one of them.
#[derive(Debug, Default)]
pub struct ReaderWriter {
    inside: Mutex<Inside>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Inside {
    readers: usize,
    writing: bool,
}

impl ReaderWriter {
    /// A monitor with nobody inside.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins to read; waits while somebody writes.
    pub fn start_read(&self) {
        let mut inside = self.inside.lock().unwrap();
        while inside.writing {
            inside = self.left.wait(inside).unwrap();
        }
        inside.readers += 1;
    }

    /// Ends reading.
    pub fn end_read(&self) {
        let mut inside = self.inside.lock().unwrap();
        inside.readers -= 1;
        // mutants: equivalent: early-unlock: a reader who comes in in the gap wakes
        // a writer when it leaves, and who is woken in vain looks again
        if inside.readers == 0 {
            self.left.notify_one();
        }
    }

    /// Begins to write; waits while somebody reads or writes.
    pub fn start_write(&self) {
        let mut inside = self.inside.lock().unwrap();
        while inside.writing || inside.readers > 0 {
            inside = self.left.wait(inside).unwrap();
        }
        inside.writing = true;
    }

    /// Ends writing.
    pub fn end_write(&self) {
        let mut inside = self.inside.lock().unwrap();
        inside.writing = false;
        self.left.notify_all();
    }
}
