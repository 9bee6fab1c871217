//! The less usual shapes, each once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, LockResult, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

pub struct Shapes(Mutex<(usize, bool)>, Condvar);

impl Default for Shapes {
    fn default() -> Self {
        Self(Mutex::new((0, false)), Condvar::new())
    }
}

impl Shapes {
    fn lock(&self) -> MutexGuard<'_, (usize, bool)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A loop that breaks.
    pub fn looped(&self) {
        let mut state = self.lock();
        loop {
            if state.0 > 0 {
                break;
            }
            state = self.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.0 += 1;
    }

    /// A loop that only returns cannot be left after one wait.
    pub fn returned(&self) -> usize {
        let mut state = self.lock();
        loop {
            if state.1 {
                return state.0;
            }
            state = self.1.wait(state).unwrap();
        }
    }

    /// The result is handed on.
    pub fn handed_on<'a>(
        &self,
        state: MutexGuard<'a, (usize, bool)>,
    ) -> LockResult<MutexGuard<'a, (usize, bool)>> {
        self.1.wait(state)
    }

    /// Check and act in one statement, a chain with `let`, a guard of an arm.
    pub fn conditions(&self, wanted: Option<usize>) -> usize {
        let mut state = self.lock();
        if state.0 >= 2 && state.1 {
            state.0 -= 2;
        }
        if let Some(wanted) = wanted
            && !state.1
        {
            return wanted;
        }
        match state.0 {
            n if n % 2 == 0 => 0,
            _ => 1,
        }
    }

    /// Atomics and parking.
    pub fn parks(&self, count: &AtomicUsize, other: &Thread) {
        while count.fetch_add(1, Ordering::SeqCst) < 3usize {
            thread::park();
        }
        other.unpark();
    }

    /// Nothing here is a condition variable.
    pub fn not_these(&self, barrier: &std::sync::Barrier) {
        barrier.wait();
        assert!(1 < 2);
        drop(self.lock());
    }

    #[cfg(test)]
    pub fn only_in_tests(&self) {
        self.1.notify_one();
    }

    #[cfg(not(test))]
    pub fn not_in_tests(&self) {
        self.1.notify_one();
    }
}
