//! Whether threads sleep or have work to do, where the system tells.
//!
//! On a busy machine a thread that has been woken may not get the processor
//! for longer than a tick. Linux says of every thread whether it is runnable;
//! the `wall` engine does not tick while one is. Elsewhere every thread is
//! taken to be asleep, and a tick must be long enough by itself.

/// A thread as the system knows it.
#[derive(Debug, Clone)]
pub(super) struct Thread {
    #[cfg(target_os = "linux")]
    status: Option<std::path::PathBuf>,
}

#[cfg(target_os = "linux")]
impl Thread {
    /// The calling thread.
    pub(super) fn current() -> Self {
        let path = std::fs::read_link("/proc/thread-self").ok();
        let status = path.map(|path| std::path::Path::new("/proc").join(path).join("status"));
        Self { status }
    }

    /// How often it has run so far, if it sleeps now; nothing if it runs.
    fn sleeping(&self) -> Option<Vec<String>> {
        let Some(path) = &self.status else {
            return Some(Vec::new());
        };
        // A thread that has ended has no status, and sleeps for good.
        let Ok(status) = std::fs::read_to_string(path) else {
            return Some(Vec::new());
        };
        let field = |name: &str| status.lines().find(|line| line.starts_with(name));
        let runs = field("State:").is_some_and(|state| state.contains("R ("));
        let switches = status.lines().filter(|line| line.contains("ctxt_switches"));
        (!runs).then(|| switches.map(str::to_owned).collect())
    }
}

/// True if all threads sleep, and none has run between two looks at them.
#[cfg(target_os = "linux")]
pub(super) fn settled(threads: &[Thread]) -> bool {
    let look = || -> Option<Vec<Vec<String>>> { threads.iter().map(Thread::sleeping).collect() };
    match look() {
        Some(first) => look() == Some(first),
        None => false,
    }
}

#[cfg(not(target_os = "linux"))]
impl Thread {
    /// The calling thread.
    pub(super) fn current() -> Self {
        Self {}
    }
}

/// Nobody can tell here.
#[cfg(not(target_os = "linux"))]
pub(super) fn settled(_: &[Thread]) -> bool {
    true
}
