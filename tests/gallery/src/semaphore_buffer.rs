//! The bounded buffer that students of the paper's authors had to write (5.6):
//! controlled by semaphores, and by nothing else.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

/// A ring of numbers under three semaphores: one counts the free places, one
/// those in use, and one lets a single thread at the ring.
///
/// The ring itself does nothing against threads that meet in it: an index is
/// loaded, used, and stored. Without the third semaphore it is
/// [`faulty::semaphore_buffer::NoExclusion`](crate::faulty::semaphore_buffer::NoExclusion).
#[derive(Debug)]
pub struct SemaphoreBuffer {
    free: Semaphore,
    used: Semaphore,
    exclusion: Semaphore,
    ring: Ring,
}

impl SemaphoreBuffer {
    /// An empty buffer with `size` places.
    pub fn new(size: u32) -> Self {
        Self {
            free: Semaphore::new(size),
            used: Semaphore::new(0),
            exclusion: Semaphore::new(1),
            ring: Ring::new(size),
        }
    }

    /// Puts a number in behind the others; waits while the buffer is full.
    pub fn put(&self, number: u32) {
        self.free.down();
        self.exclusion.down();
        self.ring.put(number);
        self.exclusion.up();
        self.used.up();
    }

    /// Takes the oldest number out; waits while the buffer is empty.
    pub fn get(&self) -> u32 {
        self.used.down();
        self.exclusion.down();
        let number = self.ring.get();
        self.exclusion.up();
        self.free.up();
        number
    }
}

/// A counter that does not go below zero: who wants to take it there waits.
#[derive(Debug)]
pub(crate) struct Semaphore {
    value: Mutex<u32>,
    raised: Condvar,
}

impl Semaphore {
    pub(crate) fn new(value: u32) -> Self {
        Self {
            value: Mutex::new(value),
            raised: Condvar::new(),
        }
    }

    pub(crate) fn down(&self) {
        let mut value = self.value.lock().unwrap();
        while *value == 0 {
            value = self.raised.wait(value).unwrap();
        }
        *value -= 1;
    }

    pub(crate) fn up(&self) {
        *self.value.lock().unwrap() += 1;
        self.raised.notify_one();
    }
}

/// Numbers in a circle. Not for several threads at once, though nothing here
/// is undefined then: numbers are lost, or come out twice.
#[derive(Debug)]
pub(crate) struct Ring {
    places: Vec<AtomicU32>,
    next_in: AtomicUsize,
    next_out: AtomicUsize,
}

impl Ring {
    pub(crate) fn new(size: u32) -> Self {
        Self {
            places: (0..size).map(|_| AtomicU32::new(0)).collect(),
            next_in: AtomicUsize::new(0),
            next_out: AtomicUsize::new(0),
        }
    }

    pub(crate) fn put(&self, number: u32) {
        let place = self.next_in.load(Ordering::Relaxed);
        self.places[place].store(number, Ordering::Relaxed);
        self.next_in.store(self.after(place), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u32 {
        let place = self.next_out.load(Ordering::Relaxed);
        let number = self.places[place].load(Ordering::Relaxed);
        self.next_out.store(self.after(place), Ordering::Relaxed);
        number
    }

    fn after(&self, place: usize) -> usize {
        (place + 1) % self.places.len()
    }
}
