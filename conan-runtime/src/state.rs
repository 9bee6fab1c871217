//! Where a thread of a sequence is, for everybody to see.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::event::Place;

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Created, and not at its first tick yet.
    Starting,
    /// Suspended by its own wish until the clock reaches this time.
    Waiting(u64),
    /// In a fragment: running, or suspended in the component.
    Running {
        /// The time at which the present call began.
        since: u64,
        /// The template or statement that it is in.
        place: Place,
    },
    /// Ended, at this time.
    Finished(u64),
}

/// The threads of a sequence; the last of them is the observer, if there is one.
#[derive(Debug)]
pub(crate) struct States {
    phases: Mutex<Vec<Phase>>,
    changed: Condvar,
    /// How many wait for a change: mostly nobody.
    waiting: AtomicUsize,
}

impl States {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            phases: Mutex::new(vec![Phase::Starting; count]),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    pub(crate) fn set(&self, thread: usize, phase: Phase) {
        self.lock()[thread] = phase;
        // Whoever looks on waits for threads to arrive or to end only.
        let is_news = !matches!(phase, Phase::Running { .. });
        if is_news && self.waiting.load(Ordering::SeqCst) > 0 {
            self.changed.notify_all();
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    pub(crate) fn get(&self, thread: usize) -> Phase {
        self.lock()[thread]
    }

    /// Waits until the phases are as asked, up to a deadline. True if they are.
    pub(crate) fn wait_until(
        &self,
        deadline: Instant,
        mut done: impl FnMut(&[Phase]) -> bool,
    ) -> bool {
        let mut phases = self.lock();
        loop {
            if done(&phases) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return false;
            }
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let waited = self.changed.wait_timeout(phases, left);
            phases = waited.unwrap_or_else(PoisonError::into_inner).0;
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Phase>> {
        self.phases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True if every thread has ended.
pub(crate) fn all_finished(phases: &[Phase]) -> bool {
    phases
        .iter()
        .all(|phase| matches!(phase, Phase::Finished(_)))
}
