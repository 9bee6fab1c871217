//! The bounded buffer of the textbook.
//!
//! Component 9 of the paper's Table 2; from J. Magee and J. Kramer,
//! *Concurrency: State Models and Java Programs* (1999), in the form in which
//! A. Yanes tests it (*A Dynamic Framework for Testing the Synchronization
//! Behavior of Java Monitors*, 2007): it wakes nobody without need.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

/// A queue with a limited number of places.
///
/// Producers and consumers wait on one condition variable, as in a Java
/// monitor. They can wait only for a buffer that is full, or empty, so it is
/// enough to wake them, all of them, when it ceases to be so.
#[derive(Debug)]
pub struct BufferImpl<T> {
    items: Mutex<VecDeque<T>>,
    size: usize,
    changed: Condvar,
}

impl<T> BufferImpl<T> {
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
        if items.len() == 1 {
            self.changed.notify_all();
        }
    }

    /// Takes the oldest item out; waits while the buffer is empty.
    pub fn get(&self) -> T {
        let mut items = self.items.lock().unwrap();
        while items.is_empty() {
            items = self.changed.wait(items).unwrap();
        }
        let oldest = items.pop_front().expect("the loop has seen one");
        if items.len() == self.size - 1 {
            self.changed.notify_all();
        }
        oldest
    }
}
