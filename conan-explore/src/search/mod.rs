//! Searches: ways through the schedules of a program.

mod abreast;
mod dfs;
mod fixed;
mod history;
mod mixed;
mod pct;
mod pos;
mod random;
mod replay;
mod segments;

use conan_kernel::Point;

pub use abreast::Abreast;
pub use dfs::Dfs;
pub use fixed::Fixed;
pub use history::History;
pub use mixed::Mixed;
pub use pct::Pct;
pub use pos::Pos;
pub use random::Random;
pub(crate) use replay::Replay;
pub(crate) use segments::Segments;

use crate::explorer::Shard;
use crate::trace::Trace;

/// Decides, execution after execution.
///
/// It is asked by whichever thread has the turn, so it must not panic, and
/// must not wait for one of the program's threads.
pub trait Search: Send {
    /// An execution begins; they are counted from 0.
    fn begin(&mut self, execution: u64);

    /// Only one part of all executions is this one's. Called before the first
    /// of them. A search that begins each execution anew need not do anything:
    /// it is only told of its own.
    fn share(&mut self, shard: Shard) {
        let _ = shard;
    }

    /// Which of the options it shall be, as an index.
    fn decide(&mut self, point: &Point<'_>) -> usize;

    /// An execution has ended, after these decisions.
    fn end(&mut self, trace: &Trace) -> Progress {
        let _ = trace;
        Progress::Open
    }

    /// True if it knows already what to decide next: an execution that has failed
    /// goes on so far.
    fn has_more(&self) -> bool {
        false
    }

    /// True if the last execution went another way after the same decisions:
    /// something decides in the program that the engine does not see.
    fn has_diverged(&self) -> bool {
        false
    }

    /// True if the last execution did nothing new, and need not have been.
    fn was_redundant(&self) -> bool {
        false
    }

    /// What it has learned from its executions, as numbers: where each is in a
    /// process of its own, somebody has to carry that from one to the next.
    fn memory(&self) -> Vec<u64> {
        Vec::new()
    }

    /// How many schedules there are, as far as can be told from those that
    /// were tried.
    fn estimate(&self) -> Option<f64> {
        None
    }

    /// What it does not go beyond.
    fn bounds(&self) -> Bounds {
        Bounds::default()
    }
}

/// How far a search has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// There may be more to try.
    Open,
    /// Every schedule has been tried, within the search's own bounds.
    Exhausted,
}

/// What a schedule must not have more of, to be tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Preemptions.
    pub preemptions: Option<usize>,
    /// Decisions that are not the default.
    pub deviations: Option<usize>,
}
