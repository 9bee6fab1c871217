//! The programs over loom.

#[allow(dead_code, reason = "the tables ask shuttle's")]
#[path = "../../programs/mod.rs"]
mod programs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loom::model::Builder;

use crate::asked::{Answer, Asked, StopWatch};
use crate::gave_up::end_of;

#[path = "stage.rs"]
mod stage;

/// What the programs use.
pub mod tool {
    pub use super::stage::Stage;
    pub use loom::sync::atomic::{AtomicI64, Ordering};
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
    pub use loom::thread::{JoinHandle, spawn};
}

/// Explores a program: there is one way to do so, and no seed.
pub fn run(asked: &Asked, _: u64) -> Answer {
    let program = programs::named(&asked.program).expect("a program");
    explore(asked, program.set)
}

/// Explores what this puts on the stage.
pub fn explore(asked: &Asked, set: fn(&mut tool::Stage, usize)) -> Answer {
    let count = asked.threads;
    let most = usize::try_from(asked.executions).expect("a number of executions");
    let mut builder = Builder::new();
    // loom looks at its limits before every execution whose number can be
    // divided by this, and ends before the one with the number of the limit.
    builder.checkpoint_interval = 1;
    builder.max_permutations = Some(most + 1);
    builder.max_duration = Some(asked.limit);
    let executions = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&executions);
    let watch = StopWatch::start();
    let ran = catch_unwind(AssertUnwindSafe(|| {
        builder.check(move || {
            counts.fetch_add(1, Ordering::Relaxed);
            let mut stage = tool::Stage::default();
            set(&mut stage, count);
            stage.end();
        });
    }));
    watch.answer(end_of(ran), executions.load(Ordering::Relaxed))
}
