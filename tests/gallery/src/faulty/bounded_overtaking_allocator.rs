//! Faults of [`BoundedOvertakingAllocator`](crate::BoundedOvertakingAllocator).

use std::sync::{Condvar, Mutex};

/// Notices that somebody has been overtaken when that one wakes up: the
/// textbook's own monitor, whose fault A. Yanes found (2007, Table 5.1).
///
/// Whoever is overtaken counts it, but has to be awake for that. Between the
/// wake-up call and the waking others can come in, and find that nobody
/// minds.
#[derive(Debug)]
pub struct CountsLate {
    pool: Mutex<Pool>,
    bound: u64,
    changed: Condvar,
}

#[derive(Debug)]
struct Pool {
    available: u32,
    turn: u64,
    served: u64,
    /// How many of those who wait have been overtaken `bound` times, and know.
    overtaken: u32,
}

impl CountsLate {
    /// A pool of `count` things, in which nobody should be overtaken more than
    /// `bound` times.
    pub fn new(count: u32, bound: u64) -> Self {
        let pool = Pool {
            available: count,
            turn: 0,
            served: 0,
            overtaken: 0,
        };
        Self {
            pool: Mutex::new(pool),
            bound,
            changed: Condvar::new(),
        }
    }

    /// Takes `count` things; waits while there are fewer, or while others have
    /// been overtaken too often.
    pub fn get(&self, count: u32) {
        let mut pool = self.pool.lock().unwrap();
        let my_turn = pool.turn;
        pool.turn += 1;
        let mut overtaken_me = false;
        while count > pool.available || pool.overtaken > 0 && !overtaken_me {
            pool = self.changed.wait(pool).unwrap();
            if pool.served >= my_turn + self.bound && !overtaken_me {
                overtaken_me = true;
                pool.overtaken += 1;
            }
        }
        if overtaken_me {
            pool.overtaken -= 1;
        }
        pool.served += 1;
        pool.available -= count;
        self.changed.notify_all();
    }

    /// Puts `count` things back.
    pub fn put(&self, count: u32) {
        self.pool.lock().unwrap().available += count;
        self.changed.notify_all();
    }
}
