//! Proves that the interposed functions are in place, rather than trusting it.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::interpose;
use crate::real;

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

static CHECKED: OnceLock<Result<(), Unavailable>> = OnceLock::new();

/// Checks once that std's calls reach the engine.
pub fn available() -> Result<(), Unavailable> {
    *CHECKED.get_or_init(check_by_calls)
}

/// The same where the engine is a library that was loaded first: there the
/// dynamic linker says where calls arrive, which is quicker than to make some.
pub(crate) fn available_as_library() -> Result<(), Unavailable> {
    *CHECKED.get_or_init(check_by_names)
}

fn check_by_names() -> Result<(), Unavailable> {
    interpose::anchor();
    match interpose::CALLED
        .iter()
        .find(|name| !real::arrives_here(name))
    {
        Some(name) => Err(Unavailable {
            missing: name.to_str().unwrap_or("libc"),
        }),
        None => Ok(()),
    }
}

fn check_by_calls() -> Result<(), Unavailable> {
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
