//! What came of a sequence.

mod json;
mod text;
#[cfg(conan_kernel)]
mod transfer;

use std::ops::AddAssign;

use crate::event::Failure;
use crate::script::{Script, Sequence};
use crate::timeline::Timeline;

/// The paper's summary: test cases that ran, and errors of each kind; and data
/// races.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Templates that began to run.
    pub test_cases: u64,
    /// Checks that found another value or time.
    pub value_errors: u64,
    /// Exceptions that were not expected, or did not come.
    pub exception_errors: u64,
    /// Threads suspended for good, or not when they should be.
    pub liveness_errors: u64,
    /// Data races.
    pub data_races: u64,
}

impl Totals {
    /// All errors.
    pub fn errors(self) -> u64 {
        self.value_errors + self.exception_errors + self.liveness_errors + self.data_races
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.test_cases += other.test_cases;
        self.value_errors += other.value_errors;
        self.exception_errors += other.exception_errors;
        self.liveness_errors += other.liveness_errors;
        self.data_races += other.data_races;
    }
}

/// Passed or failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No error of any kind.
    Passed,
    /// At least one error.
    Failed,
}

/// What came of one run of a sequence.
#[derive(Debug)]
pub struct Report {
    /// The script.
    pub script: &'static Script,
    /// The sequence.
    pub sequence: &'static Sequence,
    /// The engine that ran it.
    pub clock: &'static str,
    /// The counts.
    pub totals: Totals,
    /// True if the sequence has checks besides its test cases: outside any
    /// thread, of hot spots, of wake-up times or of threads that stay.
    pub has_other_checks: bool,
    /// Every error, in the order of tick and line.
    pub failures: Vec<Failure>,
    /// Why the run was not exact, where the engine promises that it is.
    pub inexact: Vec<String>,
    /// What there is to say about how it was run.
    pub notes: Vec<String>,
    /// True if the system has refused to start a thread.
    pub was_refused: bool,
    /// The hot spots of `#sometimes` that were reached.
    pub reached: Vec<&'static str>,
    /// Threads that were still suspended when all was over: they stay.
    pub abandoned: u64,
    /// What happened, tick by tick.
    pub timeline: Timeline,
}

impl Report {
    /// True if anything was checked, besides that no thread panics or hangs.
    pub fn has_checked(&self) -> bool {
        self.totals.test_cases > 0 || self.has_other_checks
    }

    /// Passed or failed.
    pub fn verdict(&self) -> Verdict {
        if self.totals.errors() == 0 {
            Verdict::Passed
        } else {
            Verdict::Failed
        }
    }
}
