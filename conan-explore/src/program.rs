//! What is executed again and again.

use crate::schedule::Schedule;
use crate::token::Token;

/// Something that can be executed any number of times, in the same way as long
/// as the same is decided.
pub trait Program {
    /// What an execution can show to be wrong.
    type Failure;

    /// Executes it once, in a world of its own, with this strategy.
    fn execute(&self, schedule: Schedule) -> Verdict<Self::Failure>;

    /// An execution has failed. What comes next, to make its schedule simpler,
    /// may take long.
    fn has_failed(&self, failure: &Self::Failure, execution: u64, token: &Token) {
        let _ = (failure, execution, token);
    }

    /// True if two failures are the same, as far as anybody can tell. A
    /// schedule is only made simpler as long as it still fails alike.
    fn are_alike(&self, one: &Self::Failure, other: &Self::Failure) -> bool;
}

/// What came of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict<F> {
    /// How it ended.
    pub outcome: Outcome<F>,
    /// False if threads did what the engine does not see: the next execution
    /// may be another one, though the same is decided.
    pub is_exact: bool,
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome<F> {
    /// Nothing was wrong.
    Passed,
    /// This was.
    Failed(F),
    /// There was none, for this reason.
    Impossible(String),
    /// The system refused to start one of its threads, which says nothing
    /// about the program.
    Refused,
}
