//! What came of a sequence, however it was run.

use std::fmt::{self, Display};

use serde_json::Value;

#[cfg(conan_kernel)]
use crate::explore::{Explored, Replayed};
use crate::report::{Report, Totals, Verdict};

/// What came of a sequence.
#[derive(Debug)]
pub(crate) enum Ran {
    /// It ran once.
    Once(Box<Report>),
    /// It was explored.
    #[cfg(conan_kernel)]
    Explored(Box<Explored>),
    /// One schedule of it was run again.
    #[cfg(conan_kernel)]
    Replayed(Box<Replayed>),
}

impl Ran {
    pub(crate) fn has_failed(&self) -> bool {
        match self {
            Self::Once(report) => report.verdict() == Verdict::Failed,
            #[cfg(conan_kernel)]
            Self::Explored(explored) => explored.has_failed(),
            #[cfg(conan_kernel)]
            Self::Replayed(replayed) => replayed.report.verdict() == Verdict::Failed,
        }
    }

    /// The counts; of an exploration those of the execution that failed, or of
    /// the first one.
    pub(crate) fn totals(&self) -> Totals {
        match self {
            Self::Once(report) => report.totals,
            #[cfg(conan_kernel)]
            Self::Explored(explored) => explored.totals(),
            #[cfg(conan_kernel)]
            Self::Replayed(replayed) => replayed.report.totals,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Once(report) => report.to_json(),
            #[cfg(conan_kernel)]
            Self::Explored(explored) => explored.to_json(),
            #[cfg(conan_kernel)]
            Self::Replayed(replayed) => replayed.to_json(),
        }
    }
}

impl Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once(report) => report.fmt(f),
            #[cfg(conan_kernel)]
            Self::Explored(explored) => explored.fmt(f),
            #[cfg(conan_kernel)]
            Self::Replayed(replayed) => replayed.fmt(f),
        }
    }
}
