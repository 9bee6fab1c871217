//! The allocator that serves in the order of arrival.
//!
//! Component 13 of the paper's Table 2; from J. Magee and J. Kramer,
//! *Concurrency: State Models and Java Programs* (1999), where it gives out
//! golf balls.

use std::sync::{Condvar, Mutex};

/// A pool of equal things, from which players get some, first come, first
/// served.
///
/// Whoever wants many waits until there are enough, and all who have come
/// later wait behind.
#[derive(Debug)]
pub struct FairAllocator {
    pool: Mutex<Pool>,
    changed: Condvar,
}

#[derive(Debug)]
struct Pool {
    available: u32,
    /// The number for the next one who comes.
    turn: u64,
    /// The number that is served next.
    next: u64,
}

impl FairAllocator {
    /// A pool of `count` things.
    pub fn new(count: u32) -> Self {
        let pool = Pool {
            available: count,
            turn: 0,
            next: 0,
        };
        Self {
            pool: Mutex::new(pool),
            changed: Condvar::new(),
        }
    }

    /// Takes `count` things; waits while there are fewer, or somebody who came
    /// earlier waits.
    pub fn get(&self, count: u32) {
        let mut pool = self.pool.lock().unwrap();
        let my_turn = pool.turn;
        pool.turn += 1;
        while count > pool.available || my_turn != pool.next {
            pool = self.changed.wait(pool).unwrap();
        }
        // mutants: equivalent: early-unlock: until `next` moves on, everybody else
        // waits, and what is put back meanwhile is only more
        pool.next += 1;
        pool.available -= count;
        self.changed.notify_all();
    }

    /// Puts `count` things back.
    pub fn put(&self, count: u32) {
        self.pool.lock().unwrap().available += count;
        self.changed.notify_all();
    }
}
