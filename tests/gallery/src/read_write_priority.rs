//! A readers-writers monitor that prefers writers, after J. Magee and J.
//! Kramer's (*Concurrency: State Models and Java Programs*, 1999), in an early
//! version of which the paper found a fault (5.7):
//! [`faulty::ReadWritePriority`](crate::faulty::ReadWritePriority).

use std::sync::{Condvar, Mutex};

/// Grants a resource to many readers at a time, or to one writer; to no new
/// reader as long as a writer waits.
///
/// So readers, too, wait while others read: for the writer who waits for those
/// others. Every reader who leaves wakes them all, and they see for themselves
/// whose turn it is.
#[derive(Debug, Default)]
pub struct ReadWritePriority {
    access: Mutex<Access>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct Access {
    readers: usize,
    writing: bool,
    waiting_writers: usize,
}

impl ReadWritePriority {
    /// A resource that nobody holds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gets the resource for reading; waits while it is being written, or a
    /// writer waits for it.
    pub fn acquire_read(&self) {
        let mut access = self.access.lock().unwrap();
        while access.writing || access.waiting_writers > 0 {
            access = self.released.wait(access).unwrap();
        }
        access.readers += 1;
    }

    /// Gives the resource back after reading.
    pub fn release_read(&self) {
        let mut access = self.access.lock().unwrap();
        access.readers -= 1;
        self.released.notify_all();
    }

    /// Gets the resource for writing; waits while anybody else has it.
    pub fn acquire_write(&self) {
        let mut access = self.access.lock().unwrap();
        access.waiting_writers += 1;
        while access.writing || access.readers > 0 {
            access = self.released.wait(access).unwrap();
        }
        access.waiting_writers -= 1;
        access.writing = true;
    }

    /// Gives the resource back after writing.
    pub fn release_write(&self) {
        let mut access = self.access.lock().unwrap();
        access.writing = false;
        self.released.notify_all();
    }
}
