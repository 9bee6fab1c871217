//! A bounded buffer: the symmetric relative of the producer-consumer monitor.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// A queue that holds a limited number of items.
///
/// Producers and consumers wait on condition variables of their own, and each
/// change makes room for, or brings an item to, one of them: `notify_one` is
/// enough here.
#[derive(Debug)]
pub struct Buffer<T> {
    items: Mutex<VecDeque<T>>,
    capacity: usize,
    item_added: Condvar,
    item_removed: Condvar,
}

impl<T> Buffer<T> {
    /// An empty buffer for up to `capacity` items.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a buffer must have room for an item");
        Self {
            items: Mutex::new(VecDeque::with_capacity(capacity)),
            capacity,
            item_added: Condvar::new(),
            item_removed: Condvar::new(),
        }
    }

    /// Adds an item at the end; waits while the buffer is full.
    pub fn put(&self, item: T) {
        let mut items = self.items.lock().unwrap();
        while items.len() == self.capacity {
            items = self.item_removed.wait(items).unwrap();
        }
        items.push_back(item);
        self.item_added.notify_one();
    }

    /// Adds an item at the end, or gives it back if the buffer is full.
    pub fn try_put(&self, item: T) -> Result<(), T> {
        let mut items = self.items.lock().unwrap();
        if items.len() == self.capacity {
            return Err(item);
        }
        items.push_back(item);
        self.item_added.notify_one();
        Ok(())
    }

    /// Takes the oldest item out; waits while there is none.
    pub fn take(&self) -> T {
        let mut items = self.items.lock().unwrap();
        loop {
            if let Some(item) = items.pop_front() {
                self.item_removed.notify_one();
                return item;
            }
            items = self.item_added.wait(items).unwrap();
        }
    }

    /// Takes the oldest item out; gives up when none has come in `timeout`.
    pub fn take_timeout(&self, timeout: Duration) -> Option<T> {
        let items = self.items.lock().unwrap();
        let (mut items, _) = self
            .item_added
            .wait_timeout_while(items, timeout, |items| items.is_empty())
            .unwrap();
        let item = items.pop_front()?;
        self.item_removed.notify_one();
        Some(item)
    }

    /// How many items are in it now.
    pub fn len(&self) -> usize {
        self.items.lock().unwrap().len()
    }

    /// Whether there is no item in it now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
