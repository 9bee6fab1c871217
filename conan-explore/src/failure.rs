//! What can be wrong with an execution.

use std::collections::BTreeSet;
use std::fmt;

use crate::race::Raced;
use crate::waits;

/// What was wrong with an execution of [`Threads`](crate::Threads).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Two threads raced for memory. Whatever happens after that means nothing.
    Raced(Raced),
    /// A thread panicked.
    Panicked(Panic),
    /// The program's own check says this.
    Wrong(String),
    /// Threads are suspended for good.
    Suspended(Suspended),
    /// It did not come to its end within so many steps.
    Endless(u64),
}

/// A panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panic {
    /// The thread's name, or nothing if the component started it.
    pub thread: Option<String>,
    /// The message.
    pub message: String,
    /// File, line and column, if known.
    pub location: Option<String>,
}

/// Threads that nobody will wake any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspended {
    /// Why, as far as that can be known.
    pub why: Why,
    /// All of them.
    pub threads: Vec<Stuck>,
    /// Threads each of which waits for the next, and the last one for the
    /// first; none if no such cycle is known.
    pub cycle: Vec<Holder>,
    /// True if others went on all the time, by what time brings; nobody can
    /// be sure then that they would never have woken these.
    pub others_go_on: bool,
}

/// Why threads are suspended for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Each waits for a lock, or for the end of another one: they hold what
    /// the others wait for, or a lock was never given back.
    Cycle,
    /// One waits for a wake that came when nobody waited there.
    LostWake,
    /// One waits for a wake, and nobody is left to give it.
    NeverWoken,
    /// What they wait for is not known.
    Unknown,
}

/// A thread that is suspended for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// Its number in its world.
    pub number: usize,
    /// Its name, or nothing if the component started it.
    pub name: Option<String>,
    /// What it waits for.
    pub waits: Waits,
    /// The threads of which one holds the lock that it waits for. It may be
    /// among them.
    pub held_by: Vec<Holder>,
    /// True if that is known for certain; otherwise it is read from the stacks.
    pub is_certain: bool,
    /// True if the last wake where it waits came before it waited, and woke
    /// nobody.
    pub has_missed: bool,
    /// Its stack, if it could be had.
    pub backtrace: Option<String>,
}

/// A thread that another one waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its number in its world.
    pub number: usize,
    /// Its name, or nothing if the component started it.
    pub name: Option<String>,
}

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// A lock: another thread has it.
    Lock,
    /// A signal: a condition variable, a channel, a barrier, an `unpark`.
    Signal,
    /// The end of the thread with this number in its world, if it is known.
    Join(Option<usize>),
    /// Something else, or nothing that its stack tells.
    Unknown,
}

impl Suspended {
    pub(crate) fn new(threads: Vec<Stuck>, cycle: Vec<Holder>, others_go_on: bool) -> Self {
        Self {
            why: if cycle.is_empty() {
                why(&threads)
            } else {
                Why::Cycle
            },
            threads,
            cycle,
            others_go_on,
        }
    }
}

impl Suspended {
    fn is_like(&self, other: &Self) -> bool {
        self.why == other.why && self.lines() == other.lines()
    }

    /// The lines of the program in which the threads are.
    fn lines(&self) -> BTreeSet<Vec<&str>> {
        let backtraces = self.threads.iter().map(|stuck| stuck.backtrace.as_deref());
        backtraces
            .map(|backtrace| waits::lines(backtrace.unwrap_or_default()))
            .collect()
    }
}

fn why(threads: &[Stuck]) -> Why {
    let mut waits = threads.iter().map(|stuck| stuck.waits);
    let missed = |stuck: &Stuck| stuck.waits == Waits::Signal && stuck.has_missed;
    if threads.iter().any(missed) {
        Why::LostWake
    } else if waits.clone().any(|waits| waits == Waits::Signal) {
        Why::NeverWoken
    } else if waits.all(|waits| matches!(waits, Waits::Lock | Waits::Join(_))) {
        Why::Cycle
    } else {
        Why::Unknown
    }
}

impl Failure {
    /// True if two executions have failed in the same way: at the same panic,
    /// or by threads suspended for the same reason in the same lines.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Panicked(one), Self::Panicked(other)) => {
                match (&one.location, &other.location) {
                    (None, None) => one.message == other.message,
                    (one, other) => one == other,
                }
            }
            (Self::Suspended(one), Self::Suspended(other)) => one.is_like(other),
            (Self::Raced(one), Self::Raced(other)) => one.is_like(other),
            (Self::Wrong(_), Self::Wrong(_)) | (Self::Endless(_), Self::Endless(_)) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Raced(raced) => raced.fmt(f),
            Self::Panicked(panic) => panic.fmt(f),
            Self::Wrong(what) => f.write_str(what),
            Self::Suspended(suspended) => suspended.fmt(f),
            Self::Endless(steps) => write!(f, "no end after {steps} steps"),
        }
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thread = shown(self.thread.as_deref());
        write!(f, "{thread} panicked: {}", self.message)?;
        match &self.location {
            Some(location) => write!(f, ", at {location}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Suspended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads: Vec<_> = self.threads.iter().map(Stuck::to_string).collect();
        let why = match self.why {
            Why::Cycle if !self.cycle.is_empty() => "they wait for each other",
            Why::Cycle => "they wait for each other, or a lock was never given back",
            Why::LostWake => "a wake came when nobody waited for it",
            Why::NeverWoken => "nobody is left to wake them",
            Why::Unknown => "nobody wakes them",
        };
        write!(f, "suspended for good, {why}: {}", threads.join("; "))
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thread = numbered(self.name.as_deref(), self.number);
        match self.waits {
            Waits::Lock => {
                write!(f, "{thread} waits for a lock")?;
                let probably = if self.is_certain { "" } else { "probably " };
                let others = self.held_by.iter().filter(|it| it.number != self.number);
                let others: Vec<_> = others.map(Holder::to_string).collect();
                let or = others.join(" or ");
                match (others.len(), self.held_by.len() - others.len()) {
                    (0, 0) => Ok(()),
                    (0, _) => write!(f, " that it {probably}holds itself"),
                    (_, 0) => write!(f, " that {or} {probably}holds"),
                    _ => write!(f, " that {or} {probably}holds, or it holds it itself"),
                }
            }
            Waits::Signal if self.has_missed => {
                write!(f, "{thread} waits for a signal that came too early")
            }
            Waits::Signal => write!(f, "{thread} waits for a signal"),
            Waits::Join(_) => write!(f, "{thread} waits for the end of a thread"),
            Waits::Unknown => write!(f, "{thread} waits"),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&numbered(self.name.as_deref(), self.number))
    }
}

/// A thread in a sentence. One without a name has its number in its world.
fn numbered(name: Option<&str>, number: usize) -> String {
    match name {
        Some(name) => format!("thread {name}"),
        None => format!("the component's thread {number}"),
    }
}

pub(crate) fn shown(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("thread {name}"),
        None => "a thread of the component".to_owned(),
    }
}
