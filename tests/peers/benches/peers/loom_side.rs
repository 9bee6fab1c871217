//! The programs over loom.

#[allow(dead_code, reason = "the tables ask shuttle's")]
#[path = "../../programs/mod.rs"]
mod programs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use loom::model::Builder;

use crate::asked::{Answer, Asked};

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
    let (set, count) = (program.set, asked.threads);
    let mut builder = Builder::new();
    builder.max_permutations = usize::try_from(asked.executions).ok();
    builder.max_duration = Some(asked.limit);
    let executions = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&executions);
    let begun = Instant::now();
    let ran = catch_unwind(AssertUnwindSafe(|| {
        builder.check(move || {
            counts.fetch_add(1, Ordering::Relaxed);
            let mut stage = tool::Stage::default();
            set(&mut stage, count);
            stage.end();
        });
    }));
    Answer {
        is_found: ran.is_err(),
        executions: executions.load(Ordering::Relaxed),
        seconds: begun.elapsed().as_secs_f64(),
    }
}
