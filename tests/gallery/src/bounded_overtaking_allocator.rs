//! The allocator that lets players overtake, but not too often.
//!
//! Component 14 of the paper's Table 2; from J. Magee and J. Kramer,
//! *Concurrency: State Models and Java Programs* (1999), where it gives out
//! golf balls. The monitor there has a fault, which A. Yanes found (*A Dynamic
//! Framework for Testing the Synchronization Behavior of Java Monitors*, 2007,
//! Table 5.1); it is
//! [`faulty::bounded_overtaking_allocator::CountsLate`](crate::faulty::bounded_overtaking_allocator::CountsLate).

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex};

/// A pool of equal things, from which players get some. One who waits for many
/// can be overtaken by later ones who want few, up to a bound.
///
/// Whoever has waited longest has been overtaken most often: it is enough to
/// look after that one.
#[derive(Debug)]
pub struct BoundedOvertakingAllocator {
    pool: Mutex<Pool>,
    bound: u64,
    changed: Condvar,
}

#[derive(Debug)]
struct Pool {
    available: u32,
    /// The number for the next one who comes.
    turn: u64,
    /// How many have been served.
    served: u64,
    /// The numbers of those who have not been served yet.
    unserved: BTreeSet<u64>,
}

impl BoundedOvertakingAllocator {
    /// A pool of `count` things, in which nobody is overtaken more than
    /// `bound` times.
    pub fn new(count: u32, bound: u64) -> Self {
        let pool = Pool {
            available: count,
            turn: 0,
            served: 0,
            unserved: BTreeSet::new(),
        };
        Self {
            pool: Mutex::new(pool),
            bound,
            changed: Condvar::new(),
        }
    }

    /// Takes `count` things; waits while there are fewer, or while the one who
    /// has waited longest must not be overtaken any more.
    pub fn get(&self, count: u32) {
        let mut pool = self.pool.lock().unwrap();
        let my_turn = pool.turn;
        pool.turn += 1;
        pool.unserved.insert(my_turn);
        while count > pool.available || pool.overtakings(my_turn) > self.bound {
            pool = self.changed.wait(pool).unwrap();
        }
        pool.unserved.remove(&my_turn);
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

impl Pool {
    /// How often the one who has waited longest will have been overtaken when
    /// the one with the number `turn` is served.
    ///
    /// All who came before that one are served. So of all who are served, as
    /// many as exceed its number came later.
    fn overtakings(&self, turn: u64) -> u64 {
        match self.unserved.first() {
            Some(&first) if first != turn => self.served - first + 1,
            _ => 0,
        }
    }
}
