//! The allocator that lets anybody overtake.
//!
//! Component 12 of the paper's Table 2; from J. Magee and J. Kramer,
//! *Concurrency: State Models and Java Programs* (1999), where it gives out
//! golf balls.

use std::sync::{Condvar, Mutex};

/// A pool of equal things, from which players get some and put them back.
///
/// Whoever finds enough is served: those who want many may wait for ever while
/// others, who want few, come and go.
#[derive(Debug)]
pub struct SimpleAllocator {
    available: Mutex<u32>,
    returned: Condvar,
}

impl SimpleAllocator {
    /// A pool of `count` things.
    pub fn new(count: u32) -> Self {
        Self {
            available: Mutex::new(count),
            returned: Condvar::new(),
        }
    }

    /// Takes `count` things; waits while there are fewer.
    pub fn get(&self, count: u32) {
        let mut available = self.available.lock().unwrap();
        while count > *available {
            available = self.returned.wait(available).unwrap();
        }
        *available -= count;
    }

    /// Puts `count` things back.
    pub fn put(&self, count: u32) {
        *self.available.lock().unwrap() += count;
        self.returned.notify_all();
    }
}
