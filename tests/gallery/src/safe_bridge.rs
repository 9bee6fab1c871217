//! The single-lane bridge that is safe, but not fair.
//!
//! Component 8 of the paper's Table 2; from J. Magee and J. Kramer,
//! *Concurrency: State Models and Java Programs* (1999).

use std::sync::{Condvar, Mutex};

/// A bridge for cars of one colour at a time.
///
/// A car waits while cars of the other colour are on the bridge, and for
/// nothing else: if cars of one colour keep coming, the others never cross.
#[derive(Debug, Default)]
pub struct SafeBridge {
    cars: Mutex<Cars>,
    emptied: Condvar,
}

/// The cars on the bridge.
#[derive(Debug, Default)]
struct Cars {
    red: u32,
    blue: u32,
}

impl SafeBridge {
    /// A bridge without a car on it.
    pub fn new() -> Self {
        Self::default()
    }

    /// A red car drives onto the bridge; waits while blue ones are on it.
    pub fn red_enter(&self) {
        let mut cars = self.cars.lock().unwrap();
        while cars.blue > 0 {
            cars = self.emptied.wait(cars).unwrap();
        }
        cars.red += 1;
    }

    /// A red car leaves the bridge.
    pub fn red_exit(&self) {
        let mut cars = self.cars.lock().unwrap();
        cars.red -= 1;
        // mutants: equivalent: early-unlock: a red car that enters in the gap wakes
        // all when it leaves
        if cars.red == 0 {
            self.emptied.notify_all();
        }
    }

    /// A blue car drives onto the bridge; waits while red ones are on it.
    pub fn blue_enter(&self) {
        let mut cars = self.cars.lock().unwrap();
        while cars.red > 0 {
            cars = self.emptied.wait(cars).unwrap();
        }
        cars.blue += 1;
    }

    /// A blue car leaves the bridge.
    pub fn blue_exit(&self) {
        let mut cars = self.cars.lock().unwrap();
        cars.blue -= 1;
        // mutants: equivalent: early-unlock: a blue car that enters in the gap wakes
        // all when it leaves
        if cars.blue == 0 {
            self.emptied.notify_all();
        }
    }

    /// How many red cars, and how many blue ones, are on the bridge.
    pub fn cars(&self) -> (u32, u32) {
        let cars = self.cars.lock().unwrap();
        (cars.red, cars.blue)
    }
}
