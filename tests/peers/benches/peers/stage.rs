//! Where programs put their threads, for tools with a `spawn` like std's.

use super::tool::{JoinHandle, spawn};

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
