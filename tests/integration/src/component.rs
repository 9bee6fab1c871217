//! Components for the scripts of a test.

use std::cell::Cell;
use std::sync::{Condvar, Mutex};

/// A counter that all threads may use.
#[derive(Debug, Default)]
pub struct Counter(Mutex<u32>);

impl Counter {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn starting_at(count: u32) -> Self {
        Self(Mutex::new(count))
    }

    pub fn add(&self, more: u32) -> u32 {
        let mut count = self.0.lock().unwrap();
        *count += more;
        *count
    }

    pub fn fail(&self) -> u32 {
        panic!("the counter is broken")
    }
}

/// Holds up whoever comes, until it is opened.
#[derive(Debug, Default)]
pub struct Latch {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Latch {
    pub const fn new() -> Self {
        Self { is_open: Mutex::new(false), opened: Condvar::new() }
    }

    pub fn wait(&self) {
        let is_open = self.is_open.lock().unwrap();
        drop(self.opened.wait_while(is_open, |is_open| !*is_open).unwrap());
    }

    pub fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

/// May move from thread to thread, but not be shared.
#[derive(Debug, Default)]
pub struct Unshared(Cell<u32>);

impl Unshared {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&self, more: u32) -> u32 {
        self.0.set(self.0.get() + more);
        self.0.get()
    }
}
