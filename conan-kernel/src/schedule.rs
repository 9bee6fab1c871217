//! Who runs next, whom a wake wakes, what falls due first: decided here and
//! nowhere else.

use std::sync::{Arc, Mutex, PoisonError};

use crate::point::{Choice, Kind, Point};

/// Takes the decisions of a world.
///
/// It is asked under the engine's lock, by whichever thread has the turn. It
/// must not panic, and must not wait for a managed thread.
pub trait Strategy: Send {
    /// Which of the options it shall be, as an index. One that is too large
    /// counts as the last. Where there is one option only, nobody asks, unless
    /// it [watches](Self::watches).
    fn decide(&mut self, point: &Point<'_>) -> usize;

    /// True if it wants to decide also where a thread could go on: before it
    /// wakes others or waits, after it has woken or created one, where it
    /// joins one, and at each [`point`](crate::point). Asked once, when the
    /// world is opened.
    fn preempts(&self) -> bool {
        false
    }

    /// True if threads that begin to wait may be woken for no reason. Asked
    /// each time that one does.
    fn is_spurious(&self) -> bool {
        false
    }

    /// True if it wants to see also where there is nothing to decide. Asked
    /// once, when the world is opened.
    fn watches(&self) -> bool {
        false
    }

    /// True if it knows already what to decide at the points that come next,
    /// and wants that to be done even if the execution has
    /// [failed](crate::has_failed).
    fn has_more(&self) -> bool {
        false
    }

    /// True if it takes the first option always: nobody asks it then, and no
    /// options are worked out. Asked once, when the world is opened.
    fn is_fixed(&self) -> bool {
        false
    }
}

/// The fixed default: first come, first served.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fifo;

impl Strategy for Fifo {
    fn decide(&mut self, _: &Point<'_>) -> usize {
        0
    }

    fn is_fixed(&self) -> bool {
        true
    }
}

/// A decision that a strategy took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What it was about.
    pub kind: Kind,
    /// What was decided, as an index into the options.
    pub chosen: usize,
    /// What there was to choose from.
    pub options: Vec<Choice>,
}

/// Writes down the decisions of another strategy.
#[derive(Debug)]
pub struct Recorded<S> {
    strategy: S,
    decisions: Arc<Mutex<Vec<Decision>>>,
}

impl<S> Recorded<S> {
    /// Records what `strategy` decides. The list can be read at any time at
    /// which no thread of the world runs.
    pub fn new(strategy: S) -> (Self, Arc<Mutex<Vec<Decision>>>) {
        let decisions = Arc::new(Mutex::new(Vec::new()));
        let recorded = Self {
            strategy,
            decisions: Arc::clone(&decisions),
        };
        (recorded, decisions)
    }
}

impl<S: Strategy> Strategy for Recorded<S> {
    fn decide(&mut self, point: &Point<'_>) -> usize {
        let chosen = self.strategy.decide(point).min(point.options.len() - 1);
        let decisions = self.decisions.lock();
        decisions
            .unwrap_or_else(PoisonError::into_inner)
            .push(Decision {
                kind: point.kind,
                chosen,
                options: point.options.to_vec(),
            });
        chosen
    }

    fn preempts(&self) -> bool {
        self.strategy.preempts()
    }

    fn is_spurious(&self) -> bool {
        self.strategy.is_spurious()
    }

    fn has_more(&self) -> bool {
        self.strategy.has_more()
    }
}
