//! Faults of [`SemaphoreBuffer`](crate::SemaphoreBuffer).

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;

use crate::semaphore_buffer::{Ring, Semaphore};

/// Lets several threads at the ring at once: the solution from which the
/// paper's authors took the mutual exclusion, to see whether their script
/// would find out (5.6).
#[derive(Debug)]
pub struct NoExclusion {
    free: Semaphore,
    used: Semaphore,
    ring: Ring,
}

impl NoExclusion {
    /// An empty buffer with `size` places.
    pub fn new(size: u32) -> Self {
        Self {
            free: Semaphore::new(size),
            used: Semaphore::new(0),
            ring: Ring::new(size),
        }
    }

    /// Puts a number in behind the others; waits while the buffer is full.
    pub fn put(&self, number: u32) {
        self.free.down();
        self.ring.put(number);
        self.used.up();
    }

    /// Takes the oldest number out; waits while the buffer is empty.
    pub fn get(&self) -> u32 {
        self.used.down();
        let number = self.ring.get();
        self.free.up();
        number
    }
}

/// [`NoExclusion`] that lets the others go first just where it should not:
/// between loading an index and storing it.
#[derive(Debug)]
pub struct Hesitant {
    free: Semaphore,
    used: Semaphore,
    places: Vec<AtomicU32>,
    next_in: AtomicUsize,
    next_out: AtomicUsize,
}

impl Hesitant {
    /// An empty buffer with `size` places.
    pub fn new(size: u32) -> Self {
        Self {
            free: Semaphore::new(size),
            used: Semaphore::new(0),
            places: (0..size).map(|_| AtomicU32::new(0)).collect(),
            next_in: AtomicUsize::new(0),
            next_out: AtomicUsize::new(0),
        }
    }

    /// Puts a number in behind the others; waits while the buffer is full.
    pub fn put(&self, number: u32) {
        self.free.down();
        self.advance(&self.next_in).store(number, Ordering::Relaxed);
        self.used.up();
    }

    /// Takes the oldest number out; waits while the buffer is empty.
    pub fn get(&self) -> u32 {
        self.used.down();
        let number = self.advance(&self.next_out).load(Ordering::Relaxed);
        self.free.up();
        number
    }

    /// Moves an index on, and gives the place where it was.
    fn advance(&self, index: &AtomicUsize) -> &AtomicU32 {
        let place = index.load(Ordering::Relaxed);
        thread::yield_now();
        index.store((place + 1) % self.places.len(), Ordering::Relaxed);
        &self.places[place]
    }
}
