//! Components with mistakes between their blocking calls, and right ones.

use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Sells seats.
#[derive(Default)]
pub struct Seats(Mutex<u32>);

impl Seats {
    /// Looks under the lock, and sells under the lock, but lets go of it in
    /// between.
    pub fn sell(&self, all: u32) -> bool {
        let is_free = *self.0.lock().unwrap() < all;
        if is_free {
            *self.0.lock().unwrap() += 1;
        }
        is_free
    }

    pub fn sell_at_once(&self, all: u32) -> bool {
        let mut sold = self.0.lock().unwrap();
        let is_free = *sold < all;
        *sold += u32::from(is_free);
        is_free
    }

    pub fn sold(&self) -> u32 {
        *self.0.lock().unwrap()
    }
}

/// Counts.
#[derive(Default)]
pub struct Counter(AtomicU32);

impl Counter {
    /// What another thread adds in between is lost.
    pub fn add(&self) {
        let count = self.0.load(Ordering::SeqCst);
        self.0.store(count + 1, Ordering::SeqCst);
    }

    pub fn add_at_once(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Hands a value from one thread to another.
#[derive(Default)]
pub struct Slot<T> {
    value: UnsafeCell<T>,
    is_full: AtomicBool,
}

unsafe impl<T: Send> Sync for Slot<T> {}

impl<T: Copy> Slot<T> {
    pub fn put(&self, value: T) {
        unsafe { *self.value.get() = value };
        self.is_full.store(true, Ordering::Release);
    }

    /// Says that it is there, and then puts it there.
    pub fn put_late(&self, value: T) {
        self.is_full.store(true, Ordering::Release);
        unsafe { *self.value.get() = value }; // races: writes
    }

    pub fn get(&self) -> Option<T> {
        self.is_full.load(Ordering::Acquire).then(|| {
            unsafe { *self.value.get() } // races: reads
        })
    }
}

/// The paper's buffer, without mutual exclusion.
#[derive(Default)]
pub struct Buffer<T> {
    items: UnsafeCell<Vec<T>>,
}

unsafe impl<T: Send> Sync for Buffer<T> {}

impl<T> Buffer<T> {
    pub fn put(&self, item: T) {
        unsafe { &mut *self.items.get() }.push(item);
    }

    pub fn len(&self) -> usize {
        unsafe { &*self.items.get() }.len()
    }
}
