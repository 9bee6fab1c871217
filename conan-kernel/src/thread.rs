//! Threads that are managed, and what is known of them.

use crate::decide::Course;
use crate::handover::Slot;
use crate::io::Call;
use crate::running::Running;
use crate::signals::Given;

/// A managed thread, for the life of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub(crate) usize);

impl ThreadId {
    /// A number that tells threads apart.
    pub fn number(self) -> usize {
        self.0
    }
}

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A wake at this address: a lock, a condition variable, a channel.
    Futex(usize),
    /// Time.
    Sleep,
    /// The end of another thread.
    Join(ThreadId),
    /// The owner of the world, by [`park`](crate::park).
    Park,
    /// A descriptor: a pipe, a socket, or one of many.
    Io(Call),
    /// A signal.
    Signal,
}

/// A blocked thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocked {
    /// What it waits for.
    pub cause: Cause,
    /// Virtual nanoseconds at which it began to wait.
    pub since: u64,
    /// Virtual nanoseconds at which it gives up.
    pub deadline: Option<u64>,
}

/// How a wait came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// The thread that woke it; nothing for time, or a thread outside.
    pub by: Option<ThreadId>,
    /// What the waker had said of itself by [`set_tag`](crate::set_tag).
    pub tag: u64,
    /// True if the time was up.
    pub timed_out: bool,
    /// Virtual nanoseconds of the wake.
    pub at: u64,
}

/// The last wake at an address, whether anybody waited there or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WakeCall {
    /// The thread that made it; nothing for a thread outside.
    pub by: Option<ThreadId>,
    /// What that one had said of itself.
    pub tag: u64,
    /// Virtual nanoseconds.
    pub at: u64,
    /// The thread that it woke last; nothing if nobody waited.
    pub woke: Option<ThreadId>,
}

/// Why a run was not exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inexact {
    /// The thread that left the engine's hands, or that woke one outside.
    pub thread: ThreadId,
    /// What happened.
    pub reason: Reason,
    /// What it had said of itself.
    pub tag: u64,
}

/// What made a run inexact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A thread computed or polled for long without a scheduling point.
    Running,
    /// A thread was blocked in something that the engine does not see.
    Blocked,
    /// A thread woke one that is not managed, and others had to wait for it.
    WokeOutside,
    /// A thread was woken by one that is not managed: virtual time may have
    /// moved on meanwhile.
    WokenFromOutside,
    /// A thread waited for a descriptor with somebody else behind it, in real
    /// time, or got something from there.
    Io,
    /// Somebody outside sent a signal.
    Signal,
    /// The process started another one, which keeps real time.
    Process,
    /// A thread sent as much as the buffers of a connection take, which is the
    /// system's affair.
    Room,
    /// Somebody drew the system's random numbers.
    Random,
}

/// What is known of a managed thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadInfo {
    /// The thread.
    pub id: ThreadId,
    /// The name that the owner of the world gave it.
    pub name: Option<String>,
    /// True if a managed thread started it, not the owner of the world.
    pub is_component: bool,
    /// True if it has ended.
    pub is_finished: bool,
    /// What it waits for, if it is blocked.
    pub blocked: Option<Blocked>,
    /// What it does, if it is neither blocked nor at its end.
    pub running: Option<Running>,
    /// How its last wait came to an end.
    pub last_wake: Option<Wake>,
    /// What it said of itself last.
    pub tag: u64,
    /// Its number in its world: 0 is the first that was started.
    pub number: usize,
    /// If it waits for a wake: the last one where it waits, if that came too
    /// early and woke nobody.
    pub missed: Option<Wake>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Ready,
    Running,
    Blocked(Blocked),
    /// Out of the engine's hands for a while.
    Outside,
    Finished,
    Abandoned,
}

pub(crate) struct Thread {
    pub(crate) slot: &'static Slot,
    pub(crate) is_member: bool,
    pub(crate) name: Option<String>,
    pub(crate) is_component: bool,
    pub(crate) phase: Phase,
    pub(crate) bitset: u32,
    pub(crate) timer: Option<(u64, u64)>,
    pub(crate) last_wake: Option<Wake>,
    pub(crate) tag: u64,
    pub(crate) reads: u32,
    /// How often the watchdog has taken its turn because it kept it too long.
    pub(crate) kept_turn: u32,
    /// True if it waits for its turn to do something in the engine.
    pub(crate) needs_turn: bool,
    /// The threads that wait for its end.
    pub(crate) joiners: Vec<ThreadId>,
    /// Its wait has come to its end because of a signal; true if the call goes
    /// on after that.
    pub(crate) interrupted: Option<bool>,
    pub(crate) given: Given,
    pub(crate) course: Course,
}

impl Thread {
    /// A thread that has not begun. The one with a number is so many threads
    /// after the first of its world; a component's has no name.
    pub(crate) fn new(slot: &'static Slot, name: Option<String>, number: usize) -> Self {
        Self {
            slot,
            is_member: true,
            is_component: name.is_none(),
            name,
            phase: Phase::Ready,
            bitset: u32::MAX,
            timer: None,
            last_wake: None,
            tag: 0,
            reads: 0,
            kept_turn: 0,
            needs_turn: false,
            joiners: Vec::new(),
            interrupted: None,
            given: Given::default(),
            course: Course::new(number),
        }
    }
}
