//! The abstract clock: its time moves only when it is ticked.

use std::fmt::Debug;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::event::Place;

/// Time in ticks, from 0 on. Threads wait for a time; somebody ticks.
pub trait Clock: Debug + Send + Sync {
    /// Suspends the calling thread until the clock has reached `time`. The
    /// place is that of the code which the thread is about to run: where an
    /// engine can choose, threads go on in the order of their places.
    fn await_time(&self, time: u64, place: Place);

    /// Moves time on by one and wakes whoever waits for it.
    fn tick(&self);

    /// The present time.
    fn time(&self) -> u64;
}

/// The clock as the paper has it: a monitor.
#[derive(Debug, Default)]
pub struct MonitorClock {
    time: Mutex<u64>,
    ticked: Condvar,
}

impl Clock for MonitorClock {
    fn await_time(&self, time: u64, _: Place) {
        let mut now = self.lock();
        while *now < time {
            now = self
                .ticked
                .wait(now)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn tick(&self) {
        *self.lock() += 1;
        self.ticked.notify_all();
    }

    fn time(&self) -> u64 {
        *self.lock()
    }
}

impl MonitorClock {
    /// A clock at time 0.
    pub fn new() -> Self {
        Self::default()
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

    const PLACE: Place = Place { line: 1, column: 1 };

    #[test]
    fn time_begins_at_zero_and_moves_by_ticks_only() {
        let clock = MonitorClock::new();
        assert_eq!(clock.time(), 0);
        clock.tick();
        clock.tick();
        assert_eq!(clock.time(), 2);
        clock.await_time(1, PLACE);
        clock.await_time(2, PLACE);
    }

    #[test]
    fn waiting_threads_go_on_when_their_time_has_come() {
        let clock = Arc::new(MonitorClock::new());
        let waiting: Vec<_> = (1..=3)
            .map(|time| {
                let clock = Arc::clone(&clock);
                thread::spawn(move || {
                    clock.await_time(time, PLACE);
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
