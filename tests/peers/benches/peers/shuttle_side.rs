//! The programs over shuttle.

#[path = "../../programs/mod.rs"]
pub mod programs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use shuttle::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, Scheduler, UrwRandomScheduler,
};
use shuttle::{Config, FailurePersistence, Runner};

use crate::asked::{Answer, Asked};

/// What the programs use.
pub mod tool {
    pub use shuttle::sync::atomic::{AtomicI64, Ordering};
    pub use shuttle::sync::{Condvar, Mutex, MutexGuard};
    use shuttle::thread::{JoinHandle, spawn};

    /// Where a program puts its threads: the main thread of an execution
    /// starts them, waits for them, and checks.
    #[derive(Default)]
    pub struct Stage {
        threads: Vec<JoinHandle<()>>,
        checks: Vec<Box<dyn FnOnce()>>,
    }

    impl Stage {
        /// Starts a thread.
        pub fn spawn(&mut self, _: &str, job: impl FnOnce() + Send + 'static) {
            self.threads.push(spawn(job));
        }

        /// Looks at what has come of it, at the end.
        pub fn check(&mut self, check: impl FnOnce() + Send + 'static) {
            self.checks.push(Box::new(check));
        }

        /// Waits, and checks.
        pub fn end(self) {
            for thread in self.threads {
                thread.join().unwrap();
            }
            for check in self.checks {
                check();
            }
        }
    }
}

/// Explores a program.
pub fn run(asked: &Asked, seed: u64) -> Answer {
    let most = usize::try_from(asked.executions).expect("a number of executions");
    match asked.strategy.as_str() {
        "random" => run_by(asked, RandomScheduler::new_from_seed(seed, most)),
        "pct" => run_by(asked, PctScheduler::new_from_seed(seed, 3, most)),
        "urw" => run_by(asked, UrwRandomScheduler::new_from_seed(seed, most)),
        "dfs" => run_by(asked, DfsScheduler::new(Some(most), false)),
        other => panic!("shuttle has no strategy {other}"),
    }
}

fn run_by(asked: &Asked, scheduler: impl Scheduler + 'static) -> Answer {
    let program = programs::named(&asked.program).expect("a program");
    let (set, count) = (program.set, asked.threads);
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    config.max_time = Some(asked.limit);
    config.silence_warnings = true;
    let executions = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&executions);
    let begun = Instant::now();
    let ran = catch_unwind(AssertUnwindSafe(|| {
        Runner::new(scheduler, config).run(move || {
            counts.fetch_add(1, Ordering::Relaxed);
            let mut stage = tool::Stage::default();
            set(&mut stage, count);
            stage.end();
        })
    }));
    Answer {
        is_found: ran.is_err(),
        executions: executions.load(Ordering::Relaxed),
        seconds: begun.elapsed().as_secs_f64(),
    }
}
