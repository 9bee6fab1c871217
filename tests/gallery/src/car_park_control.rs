//! The gates of a car park, from J. Magee and J. Kramer's *Concurrency: State
//! Models and Java Programs* (1999).

use std::sync::{Condvar, Mutex};

/// Lets cars in while there is room, and out while there are any.
///
/// Cars at the exit wait for the first car inside, cars at the entrance for the
/// first free space. Nobody is notified of the second: so the first wakes all
/// of them, and each looks whether there is something left for it.
#[derive(Debug)]
pub struct CarParkControl {
    capacity: usize,
    spaces: Mutex<usize>,
    moved: Condvar,
}

impl CarParkControl {
    /// An empty car park with room for `capacity` cars.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a car park must have room for a car");
        Self {
            capacity,
            spaces: Mutex::new(capacity),
            moved: Condvar::new(),
        }
    }

    /// A car drives in; it waits while there is no space.
    pub fn arrive(&self) {
        let mut spaces = self.spaces.lock().unwrap();
        while *spaces == 0 {
            spaces = self.moved.wait(spaces).unwrap();
        }
        *spaces -= 1;
        if *spaces == self.capacity - 1 {
            self.moved.notify_all();
        }
    }

    /// A car drives out; it waits while there is none inside.
    pub fn depart(&self) {
        let mut spaces = self.spaces.lock().unwrap();
        while *spaces == self.capacity {
            spaces = self.moved.wait(spaces).unwrap();
        }
        *spaces += 1;
        if *spaces == 1 {
            self.moved.notify_all();
        }
    }
}
