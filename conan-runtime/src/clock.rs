//! The abstract clock: a monitor whose time moves only when it is ticked.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Time in ticks, from 0 on. Threads wait for a time; somebody ticks.
#[derive(Debug, Default)]
pub struct Clock {
    time: Mutex<u64>,
    ticked: Condvar,
}

impl Clock {
    /// A clock at time 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Suspends the calling thread until the clock has reached `time`.
    pub fn await_time(&self, time: u64) {
        let mut now = self.lock();
        while *now < time {
            now = self
                .ticked
                .wait(now)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Moves time on by one and wakes whoever waits for it.
    pub fn tick(&self) {
        *self.lock() += 1;
        self.ticked.notify_all();
    }

    /// The present time.
    pub fn time(&self) -> u64 {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        // Nothing here panics while it holds the lock.
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn time_begins_at_zero_and_moves_by_ticks_only() {
        let clock = Clock::new();
        assert_eq!(clock.time(), 0);
        clock.tick();
        clock.tick();
        assert_eq!(clock.time(), 2);
        clock.await_time(1);
        clock.await_time(2);
    }

    #[test]
    fn waiting_threads_go_on_when_their_time_has_come() {
        let clock = Arc::new(Clock::new());
        let waiting: Vec<_> = (1..=3)
            .map(|time| {
                let clock = Arc::clone(&clock);
                thread::spawn(move || {
                    clock.await_time(time);
                    clock.time()
                })
            })
            .collect();
        for _ in 0..3 {
            clock.tick();
        }
        for (thread, time) in waiting.into_iter().zip(1..) {
            let woken = thread.join().expect("the thread does not panic");
            assert!(woken >= time, "woken at {woken}, not before {time}");
        }
    }
}
