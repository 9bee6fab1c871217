//! The single-lane bridge that is fair.
//!
//! Component 7 of the paper's Table 2; from J. Magee and J. Kramer,
//! *Concurrency: State Models and Java Programs* (1999).

use std::sync::{Condvar, Mutex};

/// A bridge for cars of one colour at a time, which take turns.
///
/// A car waits while cars of the other colour are on the bridge, and also
/// while cars of the other colour wait and have the turn. Each car that leaves
/// gives the turn to the other colour.
#[derive(Debug)]
pub struct FairBridge {
    traffic: Mutex<Traffic>,
    emptied: Condvar,
}

#[derive(Debug)]
struct Traffic {
    red: u32,
    blue: u32,
    red_waiting: u32,
    blue_waiting: u32,
    blue_turn: bool,
}

impl FairBridge {
    /// A bridge without a car on it. Blue has the first turn.
    pub fn new() -> Self {
        let traffic = Traffic {
            red: 0,
            blue: 0,
            red_waiting: 0,
            blue_waiting: 0,
            blue_turn: true,
        };
        Self {
            traffic: Mutex::new(traffic),
            emptied: Condvar::new(),
        }
    }

    /// A red car drives onto the bridge; waits while blue ones are on it, or
    /// wait for it and have the turn.
    pub fn red_enter(&self) {
        let mut traffic = self.traffic.lock().unwrap();
        traffic.red_waiting += 1;
        while traffic.blue > 0 || traffic.blue_waiting > 0 && traffic.blue_turn {
            traffic = self.emptied.wait(traffic).unwrap();
        }
        traffic.red_waiting -= 1;
        traffic.red += 1;
    }

    /// A red car leaves the bridge, and gives the turn to blue.
    pub fn red_exit(&self) {
        let mut traffic = self.traffic.lock().unwrap();
        traffic.red -= 1;
        traffic.blue_turn = true;
        // mutants: equivalent: early-unlock: a red car enters in the gap only if no
        // blue one waits, or if one has left meanwhile and woken everybody
        if traffic.red == 0 {
            self.emptied.notify_all();
        }
    }

    /// A blue car drives onto the bridge; waits while red ones are on it, or
    /// wait for it and have the turn.
    pub fn blue_enter(&self) {
        let mut traffic = self.traffic.lock().unwrap();
        traffic.blue_waiting += 1;
        while traffic.red > 0 || traffic.red_waiting > 0 && !traffic.blue_turn {
            traffic = self.emptied.wait(traffic).unwrap();
        }
        traffic.blue_waiting -= 1;
        traffic.blue += 1;
    }

    /// A blue car leaves the bridge, and gives the turn to red.
    pub fn blue_exit(&self) {
        let mut traffic = self.traffic.lock().unwrap();
        traffic.blue -= 1;
        traffic.blue_turn = false;
        // mutants: equivalent: early-unlock: a blue car enters in the gap only if no
        // red one waits, or if one has left meanwhile and woken everybody
        if traffic.blue == 0 {
            self.emptied.notify_all();
        }
    }

    /// How many red cars, and how many blue ones, are on the bridge.
    pub fn cars(&self) -> (u32, u32) {
        let traffic = self.traffic.lock().unwrap();
        (traffic.red, traffic.blue)
    }
}

impl Default for FairBridge {
    fn default() -> Self {
        Self::new()
    }
}
