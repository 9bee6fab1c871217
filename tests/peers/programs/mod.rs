//! The programs, written once for all tools.
//!
//! Whoever includes this module has a module `tool` beside it, with the
//! synchronisation and the [`Stage`] of its tool: std's own for conan, loom's
//! for loom, shuttle's for shuttle. That is all that differs.
//!
//! What would be a data race in a language that allows it is made of relaxed
//! atomic accesses, one for each load and each store: [`Cell`].

mod buffers;
mod cooperari;
mod sctbench;

use super::tool::{AtomicI64, Mutex, MutexGuard, Ordering, Stage};

/// A program, for a number of threads.
pub struct Program {
    /// What it is called in the tables.
    pub name: &'static str,
    /// How many threads there are, if nobody asks for another number.
    pub threads: usize,
    /// Puts its threads on the stage.
    pub set: fn(&mut Stage, usize),
}

const fn program(name: &'static str, threads: usize, set: fn(&mut Stage, usize)) -> Program {
    Program { name, threads, set }
}

/// The twelve of Cooperari's evaluation.
pub const COOPERARI: [Program; 12] = [
    program("alarm clock", 4, cooperari::alarm_clock),
    program("apache lang", 4, cooperari::apache_lang),
    program("bank", 4, cooperari::bank),
    program("clean", 4, cooperari::clean),
    program("dining", 4, cooperari::dining),
    program("linked list", 4, cooperari::linked_list),
    program("merge sort", 4, cooperari::merge_sort),
    program("piper", 4, cooperari::piper),
    program("reorder", 4, cooperari::reorder),
    program("semaphore", 4, cooperari::semaphore),
    program("two stage", 4, cooperari::two_stage),
    program("wrong lock", 4, cooperari::wrong_lock),
];

/// Small programs in the style of `SCTBench`, and the paper's buffer without
/// mutual exclusion.
pub const OTHERS: [Program; 17] = [
    program("account", 3, sctbench::account),
    program("reorder_3", 3, sctbench::reorder),
    program("reorder_5", 5, sctbench::reorder),
    program("reorder_10", 10, sctbench::reorder),
    program("reorder_20", 20, sctbench::reorder),
    program("twostage", 2, sctbench::twostage),
    program("wronglock", 4, sctbench::wronglock),
    program("deadlock01", 2, sctbench::deadlock01),
    program("carter01", 4, sctbench::carter01),
    program("phase01", 2, sctbench::phase01),
    program("sync01", 2, sctbench::sync01),
    program("bluetooth_driver", 2, sctbench::bluetooth_driver),
    program("lazy01", 3, sctbench::lazy01),
    program("circular_buffer", 2, sctbench::circular_buffer),
    program("work_stealing", 2, sctbench::work_stealing),
    program("unsync_buffer", 4, buffers::unsynchronised),
    program("unsync_buffer_8", 8, buffers::unsynchronised),
];

/// The paper's monitor, in which nothing is wrong.
pub const MONITOR: Program = program("monitor", 4, buffers::monitor);

/// Finds a program by its name.
pub fn named(name: &str) -> Option<&'static Program> {
    let all = COOPERARI.iter().chain(&OTHERS).chain([&MONITOR]);
    all.into_iter().find(|program| program.name == name)
}

/// A variable that nothing protects.
struct Cell(AtomicI64);

impl Cell {
    fn new(value: i64) -> Self {
        Self(AtomicI64::new(value))
    }

    fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Adds in two steps.
    fn add(&self, number: i64) {
        self.set(self.get() + number);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

fn cells(count: usize, value: i64) -> Vec<Cell> {
    (0..count).map(|_| Cell::new(value)).collect()
}
