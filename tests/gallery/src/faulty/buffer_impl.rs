//! Faults of [`BufferImpl`](crate::BufferImpl).

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

/// Wakes one thread with every change, whoever it is: the fault that the paper
/// found in an earlier version of the textbook's monitor (5.7).
///
/// Producers and consumers wait on the same condition variable. A producer
/// that wakes another producer finds that one no place: it waits again, and
/// the consumer who could have gone on is never woken.
#[derive(Debug)]
pub struct NotifyOne<T> {
    items: Mutex<VecDeque<T>>,
    size: usize,
    changed: Condvar,
}

impl<T> NotifyOne<T> {
    /// An empty buffer with `size` places.
    pub fn new(size: usize) -> Self {
        assert!(size > 0, "a buffer must have a place for an item");
        Self {
            items: Mutex::new(VecDeque::with_capacity(size)),
            size,
            changed: Condvar::new(),
        }
    }

    /// Puts an item in behind the others; waits while the buffer is full.
    pub fn put(&self, item: T) {
        let mut items = self.items.lock().unwrap();
        while items.len() == self.size {
            items = self.changed.wait(items).unwrap();
        }
        items.push_back(item);
        self.changed.notify_one();
    }

    /// Takes the oldest item out; waits while the buffer is empty.
    pub fn get(&self) -> T {
        let mut items = self.items.lock().unwrap();
        while items.is_empty() {
            items = self.changed.wait(items).unwrap();
        }
        let oldest = items.pop_front().expect("the loop has seen one");
        self.changed.notify_one();
        oldest
    }
}
