//! What is left to decide, as a strategy sees it.

use std::fmt;

/// A place at which a world can go on in more than one way.
///
/// Everything in it is the same in every execution that has taken the same
/// decisions so far, in this process or another: threads are numbered as they
/// come to the world, places as they are first used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point<'p> {
    /// What is to be decided.
    pub kind: Kind,
    /// The thread that has run until here, if one has.
    pub previous: Option<usize>,
    /// True if that thread could go on. It is the first of the options then,
    /// and any other one is a preemption.
    pub interrupts: bool,
    /// What there is to choose from; at least two, unless the strategy
    /// watches. The first is what
    /// [`Fifo`](crate::Fifo) takes.
    pub options: &'p [Choice],
}

impl Point<'_> {
    /// True if the option at this index takes the turn from a thread that
    /// could go on.
    pub fn is_preemption(&self, index: usize) -> bool {
        self.interrupts && index > 0
    }
}

/// What a decision is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Who runs next.
    Next,
    /// Which of the waiting threads a wake wakes.
    Wake,
    /// Which of several waits that are due at the same time ends first.
    Due,
    /// Whether a thread that begins to wait is woken for no reason. The
    /// first option is that it is not.
    Spurious,
}

/// One of the options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Choice {
    /// The thread's number in its world: 0 is the first that was started.
    pub thread: usize,
    /// How many scheduling points it has come to.
    pub position: u64,
    /// What it does when it runs, as far as that is known.
    pub step: Step,
}

/// What a thread is about to do. Of the code that comes after it, up to the
/// thread's next scheduling point, nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Runs for the first time.
    Begin,
    /// Goes on: nothing more is known.
    Continue,
    /// Waits at a place, if what it finds there is what it expects.
    Wait(Place),
    /// Wakes threads that wait at a place.
    Wake(Place),
    /// Goes on after it was woken at a place.
    Woken(Place),
    /// Goes on because its time is up.
    TimeOut,
    /// Goes on after it has let others go first.
    Yield,
    /// Waits for the end of the thread with this number.
    Join(u32),
    /// Goes on from a [`point`](crate::point).
    Point,
    /// Reads a place, by [`access`](crate::access).
    Load(Place),
    /// Writes to a place, by [`access`](crate::access).
    Store(Place),
}

impl Step {
    /// A number for the sort of step, without its place.
    pub fn sort(self) -> u8 {
        match self {
            Self::Begin => 0,
            Self::Continue => 1,
            Self::Wait(_) => 2,
            Self::Wake(_) => 3,
            Self::Woken(_) => 4,
            Self::TimeOut => 5,
            Self::Yield => 6,
            Self::Join(_) => 7,
            Self::Point => 8,
            Self::Load(_) => 9,
            Self::Store(_) => 10,
        }
    }

    /// The place that it is about, if it is known.
    pub fn place(self) -> Option<Place> {
        match self {
            Self::Wait(place)
            | Self::Wake(place)
            | Self::Woken(place)
            | Self::Load(place)
            | Self::Store(place) => Some(place),
            _ => None,
        }
    }
}

/// A place in memory, numbered in the order in which a world's decisions came
/// to know of it.
///
/// Memory is used again after it was freed, and not always in the same way.
/// Within an execution two different live places have different numbers; but
/// do not hold the numbers of one execution against those of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(pub u32);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// What is done to a place in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// It is read.
    Load,
    /// It is written to, or read and written in one.
    Store,
}
