//! The programs over shuttle.

#[path = "../../programs/mod.rs"]
pub mod programs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use shuttle::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, Scheduler, UrwRandomScheduler,
};
use shuttle::{Config, FailurePersistence, Runner};

use crate::asked::{Answer, Asked, StopWatch};
use crate::gave_up::end_of;

#[path = "stage.rs"]
mod stage;

/// What the programs use.
pub mod tool {
    pub use super::stage::Stage;
    pub use shuttle::sync::atomic::{AtomicI64, Ordering};
    pub use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub use shuttle::thread::{JoinHandle, spawn};
}

/// Explores a program.
pub fn run(asked: &Asked, seed: u64) -> Answer {
    let program = programs::named(&asked.program).expect("a program");
    explore(asked, seed, program.set)
}

/// Explores what this puts on the stage.
pub fn explore(asked: &Asked, seed: u64, set: fn(&mut tool::Stage, usize)) -> Answer {
    let most = usize::try_from(asked.executions).expect("a number of executions");
    match asked.strategy.as_str() {
        "random" => run_by(asked, set, RandomScheduler::new_from_seed(seed, most)),
        "pct" => run_by(asked, set, PctScheduler::new_from_seed(seed, 3, most)),
        "urw" => run_by(asked, set, UrwRandomScheduler::new_from_seed(seed, most)),
        "dfs" => run_by(asked, set, DfsScheduler::new(Some(most), false)),
        other => panic!("shuttle has no strategy {other}"),
    }
}

fn run_by(
    asked: &Asked,
    set: fn(&mut tool::Stage, usize),
    scheduler: impl Scheduler + 'static,
) -> Answer {
    let count = asked.threads;
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    config.max_time = Some(asked.limit);
    config.silence_warnings = true;
    let executions = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&executions);
    let watch = StopWatch::start();
    let ran = catch_unwind(AssertUnwindSafe(|| {
        Runner::new(scheduler, config).run(move || {
            counts.fetch_add(1, Ordering::Relaxed);
            let mut stage = tool::Stage::default();
            set(&mut stage, count);
            stage.end();
        });
    }));
    watch.answer(end_of(ran), executions.load(Ordering::Relaxed))
}
