//! Engines: how threads are started, and when a tick is over.
//!
//! Everything else is the same for all of them. An engine opens a session
//! for each sequence; the session starts the sequence's threads and says when
//! they have come to rest, so that the clock can tick.

mod patience;
#[cfg(conan_kernel)]
mod scheduled;
mod settle;
#[cfg(conan_kernel)]
mod suspended;
#[cfg(conan_kernel)]
mod r#virtual;
mod wall;

use std::sync::Arc;
use std::time::Duration;

pub use patience::Patience;
#[cfg(conan_kernel)]
pub(crate) use scheduled::Scheduled;
#[cfg(conan_kernel)]
pub use r#virtual::Virtual;
pub use wall::Wall;

use crate::clock::Clock;
use crate::event::{Failure, Place};

/// A way for time to pass.
pub trait Engine: Send + Sync {
    /// The name, as `--clock` and `CONAN_CLOCK` spell it.
    fn name(&self) -> &'static str;

    /// True if it makes one execution of many.
    fn is_exploring(&self) -> bool {
        false
    }

    /// Begins a sequence whose ticks have this length.
    fn open(&self, ticktime: Duration) -> Box<dyn Session>;
}

/// What a thread runs.
pub type Job = Box<dyn FnOnce() + Send>;

/// One sequence under an engine.
pub trait Session {
    /// A clock for the sequence's threads to wait for.
    fn clock(&self) -> Arc<dyn Clock>;

    /// What the threads of the sequence can ask.
    fn witness(&self) -> Arc<dyn Witness> {
        Arc::new(Blind)
    }

    /// Starts a thread of the sequence.
    fn spawn(&mut self, name: &str, job: Job) -> std::io::Result<()>;

    /// Lets the threads run until `done`, within the present tick if `limit`
    /// is zero, else for so long at the most.
    fn let_run(&mut self, done: &dyn Watch, limit: Duration);

    /// Returns when the present tick is over: its threads have come to rest,
    /// as far as the engine can tell. May return early once all
    /// threads have ended.
    fn come_to_rest(&mut self, sequence: &dyn Watch);

    /// Lets the threads run until one that has done its code has ended, for so
    /// long at the most: destructors run before that. The thread is told by the
    /// number of its [`spawn`], counted from 0. False if it has not ended.
    ///
    /// [`spawn`]: Session::spawn
    fn has_ended(&mut self, thread: usize, limit: Duration) -> bool {
        let _ = (thread, limit);
        true
    }

    /// Before threads count as suspended for good: lets those go on that have
    /// been woken meanwhile, by a thread that the engine does not manage, and
    /// waits for those that still run, until `done`.
    fn last_chance(&mut self, done: &dyn Watch, patience: Patience) {
        let _ = (done, patience);
    }

    /// True if a thread that has not come to its end still runs: the number of
    /// its spawn, counted from 0.
    fn is_running(&self, thread: usize) -> bool {
        let _ = thread;
        false
    }

    /// What is known of a suspended thread: the number of its [`spawn`],
    /// counted from 0.
    ///
    /// [`spawn`]: Session::spawn
    fn suspension(&mut self, thread: usize) -> Suspension {
        let _ = thread;
        Suspension::default()
    }

    /// Who woke a thread in the present tick that is suspended (again).
    fn woken_in_vain(&self, thread: usize) -> Option<Waker> {
        let _ = thread;
        None
    }

    /// Accesses to memory that nothing orders, in code with hooks.
    fn races(&self) -> Vec<Failure> {
        Vec::new()
    }

    /// After how many steps the engine has given up, because there was no end
    /// to them.
    fn endless(&self) -> Option<u64> {
        None
    }

    /// True if the engine has ended the execution, because a thread has ended by
    /// a panic and others would go on and on.
    fn is_cut_short(&self) -> bool {
        false
    }

    /// How many threads have not ended, the component's own among them, as far
    /// as the engine knows.
    fn unfinished(&self) -> usize {
        0
    }

    /// True if the system has refused to start a thread of the component.
    fn was_refused(&self) -> bool {
        false
    }

    /// Why the run was not exact, if the engine promises that it is.
    fn inexact(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What an engine may wait for, besides time.
pub trait Watch {
    /// Waits up to `limit` for it; true if it has come.
    fn wait(&self, limit: Duration) -> bool;
}

/// What the threads themselves can ask an engine.
pub trait Witness: std::fmt::Debug + Send + Sync {
    /// The calling thread is about to run the code at this place.
    fn at(&self, place: Place) {
        let _ = place;
    }

    /// The calling thread has ended by a panic that nothing has caught.
    fn has_panicked(&self) {}

    /// The calling thread begins a block of the script.
    fn begins_block(&self) {}

    /// Who ended the calling thread's last wait, if the engine knows.
    fn waker(&self) -> Option<Waker> {
        None
    }
}

/// Who woke a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waker {
    /// The thread; nothing if it is not one of the script's.
    pub thread: Option<String>,
    /// The place of the script that the waker was at.
    pub place: Option<Place>,
    /// True if nobody did: the time was up.
    pub time_out: bool,
}

/// A witness that has seen nothing.
#[derive(Debug)]
pub struct Blind;

impl Witness for Blind {}

/// What is known of a thread that is suspended at the end. Threads are named
/// as in a sentence: `thread first`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suspension {
    /// The place of the script that the thread has come to last.
    pub place: Option<Place>,
    /// If it is not suspended at all: what it does.
    pub running: Option<Running>,
    /// The component's own source line, as `file:line:column`.
    pub location: Option<String>,
    /// The tick at which it would give up.
    pub until: Option<u64>,
    /// The thread for whose end it waits.
    pub joins: Option<String>,
    /// The other threads of which one may hold the lock that it waits for.
    pub held_by: Vec<String>,
    /// True if it may hold that lock itself.
    pub holds_itself: bool,
    /// True if the holder is known for certain; otherwise it is read from the
    /// stacks.
    pub holder_is_certain: bool,
    /// Threads each of which waits for the next, this one first, and the last
    /// one for this one.
    pub cycle: Vec<String>,
    /// The threads that wait for the same.
    pub others: Vec<String>,
    /// When and by whom it was woken last, only to wait again.
    pub woken: Option<(u64, Waker)>,
    /// The last wake where it waits.
    pub last_wake: Option<LastWake>,
}

/// What a thread does that still runs at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Running {
    /// It computes.
    Computes,
    /// It is in a system call that the engine does not emulate.
    InCall,
    /// It yields or asks for the time, again and again.
    Yields,
}

/// A wake at a place where a thread waits, which it did not reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWake {
    /// The clock's time.
    pub tick: u64,
    /// Who it was.
    pub by: Waker,
    /// The thread that it woke; nothing if nobody waited then.
    pub woke: Option<String>,
}

/// Runs many sequences on the calling thread, with the same threads for their
/// threads where the engine can. What a component prints goes where it goes in
/// the first of them.
pub fn with_same_threads<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(conan_kernel)]
    return r#virtual::with_same_threads(run);
    #[cfg(not(conan_kernel))]
    run()
}

/// Every engine that can run here, the default first.
pub fn engines() -> &'static [&'static dyn Engine] {
    #[cfg(conan_kernel)]
    if conan_kernel::available().is_ok() {
        return &[&Virtual, &Wall];
    }
    &[&Wall]
}

/// The engine of this name.
pub fn engine(name: &str) -> Result<&'static dyn Engine, String> {
    let found = engines().iter().find(|engine| engine.name() == name);
    found.copied().ok_or_else(|| {
        if let (Some(reason), "virtual") = (unavailable(), name) {
            return format!("the clock `virtual` cannot run here: {reason}");
        }
        let names: Vec<&str> = engines().iter().map(|engine| engine.name()).collect();
        format!("there is no clock `{name}`; there is: {}", names.join(", "))
    })
}

/// Why the `virtual` engine cannot run here, if it cannot.
pub fn unavailable() -> Option<String> {
    #[cfg(conan_kernel)]
    return conan_kernel::available()
        .err()
        .map(|reason| reason.to_string());
    #[cfg(not(conan_kernel))]
    Some("it needs Linux with glibc, on x86-64 or aarch64".to_owned())
}
