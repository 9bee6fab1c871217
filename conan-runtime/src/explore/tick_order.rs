//! Failures that come of nothing but the order of the threads inside a tick,
//! which a script does not fix.

use std::fmt;

use super::steps::Steps;
use crate::event::Place;

/// Two threads that both begin a block in a tick, in the order in which the
/// execution fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickOrder {
    /// The tick.
    pub tick: u64,
    /// The thread that is first in the execution that fails.
    pub first: String,
    /// The thread that is first in the default order, which passes.
    pub second: String,
}

/// What a thread comes to: a tick, the thread's name, a place of the script.
pub(super) type Coming = (u64, String, Place);

impl TickOrder {
    /// The order that the failing steps differ in from those of the default
    /// order first, if it is that of two blocks of a tick.
    pub(crate) fn between(failing: &Steps, default: &Steps) -> Option<Self> {
        let (failing, default) = (Course::of(failing), Course::of(default));
        let pairs = failing.comings.iter().zip(&default.comings);
        let (first, second) = pairs.into_iter().find(|(one, other)| one != other)?;
        let tick = first.0;
        let begin = |coming: &Coming| {
            let block = (tick, coming.1.clone());
            coming.0 == tick && failing.begins(&block) && default.begins(&block)
        };
        let are_blocks = first.1 != second.1
            && begin(first)
            && begin(second)
            && failing.is_first(first)
            && default.is_first(second);
        are_blocks.then(|| Self {
            tick,
            first: first.1.clone(),
            second: second.1.clone(),
        })
    }
}

/// The parts of an execution's steps that count here.
struct Course {
    comings: Vec<Coming>,
    /// The blocks that were begun.
    blocks: Vec<(u64, String)>,
}

impl Course {
    fn of(steps: &Steps) -> Self {
        let (comings, blocks) = steps.course();
        Self { comings, blocks }
    }

    fn begins(&self, block: &(u64, String)) -> bool {
        self.blocks.contains(block)
    }

    /// True if the thread comes to nothing else in this tick before that.
    fn is_first(&self, coming: &Coming) -> bool {
        let mut own = self
            .comings
            .iter()
            .filter(|other| (other.0, &other.1) == (coming.0, &coming.1));
        own.next() == Some(coming)
    }
}

impl fmt::Display for TickOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            tick,
            first,
            second,
        } = self;
        write!(
            f,
            "the threads {second} and {first} both act in tick {tick}, and the script does not \
             fix their order; the default order passes, and it fails if {first} goes first. \
             If the order is meant, put them in different ticks"
        )
    }
}
