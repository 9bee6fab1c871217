//! What the threads of a sequence tell the collector.

use std::backtrace::Backtrace;
use std::sync::Arc;

/// A place in the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// The paper's three kinds of error, and data races.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// A check found another value or another time than was expected.
    Value,
    /// An exception that was not expected, or one that did not come.
    Exception,
    /// A thread that is suspended for good, or that is not and should be.
    Liveness,
    /// A data race, in code with hooks.
    Race,
}

impl ErrorKind {
    /// `value`, `exception`, `liveness` or `race`, as in data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Exception => "exception",
            Self::Liveness => "liveness",
            Self::Race => "race",
        }
    }

    /// The heading of such an error, such as `value error`.
    pub fn title(self) -> &'static str {
        match self {
            Self::Value => "value error",
            Self::Exception => "exception error",
            Self::Liveness => "liveness error",
            Self::Race => "data race",
        }
    }
}

/// One error of a sequence.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Which of the kinds.
    pub kind: ErrorKind,
    /// The thread, where the error belongs to one.
    pub thread: Option<String>,
    /// The time at which it happened; for a suspended thread, since when.
    pub tick: u64,
    /// The place in the script.
    pub place: Place,
    /// One line: what happened.
    pub message: String,
    /// What the script expects.
    pub expected: Option<String>,
    /// What was found instead.
    pub actual: Option<String>,
    /// Further facts, such as where a panic came from.
    pub notes: Vec<String>,
    /// Where a panic came from, if backtraces are asked for.
    pub backtrace: Option<Stack>,
}

/// The stack of a thread that has panicked.
#[derive(Debug, Clone)]
pub enum Stack {
    /// Not named yet: that takes longer than a tick may.
    Captured(Arc<Backtrace>),
    /// As people read it, from another process.
    Shown(String),
}

/// What happens while a sequence runs.
#[derive(Debug, Clone)]
pub enum Event {
    /// The clock has reached a time.
    Ticked(u64),
    /// A thread begins to run a template: a test case.
    Template {
        /// The thread's number.
        thread: usize,
        /// The clock's time.
        tick: u64,
        /// The template.
        place: Place,
    },
    /// The tick is over, and a thread is still in a call.
    Suspended {
        /// The thread's number.
        thread: usize,
        /// The clock's time.
        tick: u64,
        /// The call.
        place: Place,
        /// Who woke it in this tick, only for it to wait again.
        woken: Option<String>,
    },
    /// The tick is over, and a thread still runs in a call: it is not suspended.
    Running {
        /// The thread's number.
        thread: usize,
        /// The clock's time.
        tick: u64,
        /// The call.
        place: Place,
    },
    /// A thread that was suspended has come out of its call.
    Woken {
        /// The thread's number.
        thread: usize,
        /// The clock's time.
        tick: u64,
        /// Who woke it, as far as that is known.
        by: Option<String>,
    },
    /// A check failed.
    Failed(Box<Failure>),
    /// A thread has come to its end.
    Ended {
        /// The thread's number.
        thread: usize,
        /// The clock's time.
        tick: u64,
    },
}
