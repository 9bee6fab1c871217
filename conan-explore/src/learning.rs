//! Where threads meet, found out before a search begins.
//!
//! In code that was compiled with hooks, scheduling points are where threads
//! touch the same memory, and that has to be seen first. The executions in
//! which it is seen are always the same ones, whatever the search and its seed:
//! only so can the points of a token be found again in another process, and can
//! several processes share a search. They are those of [`Mixed`], since they may
//! as well find something. In the first, while nothing is known, every atomic
//! operation is a point.

use std::sync::atomic::{AtomicU64, Ordering};

use conan_kernel::fine;

use crate::program::{Outcome, Program};
use crate::schedule::Schedule;
use crate::search::Mixed;

/// After so many executions without anything new, and as many as there have
/// been before them, there is nothing more to see, as far as anybody can tell.
const QUIET: u64 = 25;

/// So many executions are enough in any case.
const MOST: u64 = 1000;

/// The seed of these executions.
const SEED: u64 = 0;

/// How many executions the process has learned from, since it forgot what it
/// knew.
static LEARNED: AtomicU64 = AtomicU64::new(0);

/// How many executions the process has learned from before the present one:
/// another process must learn from as many before it can have the same points.
pub fn learned() -> u64 {
    LEARNED.load(Ordering::Relaxed)
}

/// Executions in which the kernel learns where threads meet.
pub(crate) struct Learning {
    schedule: Schedule,
    executions: u64,
    /// So many of them without anything new, up to now.
    quiet: u64,
}

impl Learning {
    /// Begins anew; nothing if no code has hooks.
    pub(crate) fn begin() -> Option<Self> {
        fine::forget();
        fine::anticipate();
        LEARNED.store(0, Ordering::Relaxed);
        fine::is_present().then(|| Self {
            schedule: Schedule::new(Mixed::new(SEED), 0),
            executions: 0,
            quiet: 0,
        })
    }

    /// The schedule of the next execution; nothing if there need be none.
    pub(crate) fn next(&mut self) -> Option<Schedule> {
        let is_quiet = self.quiet >= QUIET && self.quiet * 2 >= self.executions;
        if is_quiet || self.executions >= MOST {
            return None;
        }
        self.schedule.begin(self.executions);
        Some(self.schedule.clone())
    }

    /// To be called after an execution that has passed. One that has failed is
    /// the last: with what is known up to then, it can be had again.
    pub(crate) fn has_passed(&mut self) {
        self.executions += 1;
        LEARNED.store(self.executions, Ordering::Relaxed);
        self.quiet = if fine::adopt() > 0 { 0 } else { self.quiet + 1 };
    }
}

/// Learns again what was learned before a search of the same program.
pub(crate) fn learn<F>(program: &dyn Program<Failure = F>) {
    learn_from(program, u64::MAX);
}

/// Learns where threads meet, from at most this number of executions: the number
/// that another process has [learned](learned) from.
pub fn learn_from<F>(program: &dyn Program<Failure = F>, executions: u64) {
    let Some(mut learning) = Learning::begin() else {
        return;
    };
    while learning.executions < executions
        && let Some(schedule) = learning.next()
    {
        match program.execute(schedule).outcome {
            Outcome::Passed => learning.has_passed(),
            Outcome::Failed(_) | Outcome::Impossible(_) | Outcome::Refused => return,
        }
    }
}
