//! What the programs use: std.

pub use std::sync::atomic::{AtomicI64, Ordering};
pub use std::sync::{Condvar, Mutex, MutexGuard};

/// Where a program puts its threads.
pub struct Stage<'s>(pub &'s mut conan_explore::Stage);

impl Stage<'_> {
    /// Starts a thread.
    pub fn spawn(&mut self, name: &str, job: impl FnOnce() + Send + 'static) {
        self.0.spawn(name, job);
    }

    /// Looks at what has come of it, at the end.
    pub fn check(&mut self, check: impl FnOnce() + Send + 'static) {
        self.0.check(move || {
            check();
            Ok(())
        });
    }
}
