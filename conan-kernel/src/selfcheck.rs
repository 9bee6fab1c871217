//! Proves that the interposed functions are in place, rather than trusting it.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::interpose;

pub(crate) static SEEN_SYSCALL: AtomicBool = AtomicBool::new(false);
pub(crate) static SEEN_YIELD: AtomicBool = AtomicBool::new(false);
pub(crate) static SEEN_CLOCK: AtomicBool = AtomicBool::new(false);
pub(crate) static SEEN_CREATE: AtomicBool = AtomicBool::new(false);

/// Why worlds cannot be had in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavailable {
    missing: &'static str,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "calls of `{}` do not reach the engine in this executable",
            self.missing
        )
    }
}

impl std::error::Error for Unavailable {}

/// Checks once that std's calls reach the engine.
pub fn available() -> Result<(), Unavailable> {
    static CHECKED: OnceLock<Result<(), Unavailable>> = OnceLock::new();
    *CHECKED.get_or_init(check)
}

fn check() -> Result<(), Unavailable> {
    interpose::anchor();
    let started = Instant::now();
    thread::yield_now();
    let other = thread::spawn(|| thread::park_timeout(Duration::from_millis(1)));
    other.thread().unpark();
    let _ = other.join();
    // A wait with a time-out that nobody ends always makes the call.
    thread::park_timeout(Duration::from_micros(1).max(started.elapsed() / 1_000_000));
    let seen = [
        (&SEEN_SYSCALL, "syscall"),
        (&SEEN_YIELD, "sched_yield"),
        (&SEEN_CLOCK, "clock_gettime"),
        (&SEEN_CREATE, "pthread_create"),
    ];
    match seen.iter().find(|(seen, _)| !seen.load(Ordering::Relaxed)) {
        Some((_, missing)) => Err(Unavailable { missing }),
        None => Ok(()),
    }
}
