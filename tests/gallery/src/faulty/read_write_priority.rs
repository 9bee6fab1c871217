//! The fault that the paper found in Magee and Kramer's readers-writers monitor
//! with priority for writers (5.7).

use std::sync::{Condvar, Mutex};

/// Wakes one thread where all must be woken, when a reader leaves.
///
/// The one that is woken may not be the one that can go on. Say that two
/// readers are inside, a writer waits, and behind it a third reader, who lets
/// it go first. The first reader to leave wakes the writer, too soon: it waits
/// again, now behind the third reader. The second one wakes that reader, who
/// still lets the writer go first. Both wait for ever, and nobody is inside.
///
/// (If only the last reader to leave notified, as in
/// [`ReadWriteSafe`](crate::ReadWriteSafe), this order of waking would never
/// show the fault: as long as anybody reads, whoever has waited longest is a
/// writer. The paper saw it on one of its Java machines only.)
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
        self.released.notify_one();
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
