//! Failures that come of nothing but the order of the threads inside a tick,
//! which a script does not fix.

use std::fmt;

use serde_json::{Value, json};

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
    pub(crate) fn between(failing: &Course, default: &Course) -> Option<Self> {
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Course {
    /// What the threads have come to, in that order.
    pub(super) comings: Vec<Coming>,
    /// The blocks that were begun.
    pub(super) blocks: Vec<(u64, String)>,
}

impl Course {
    /// For another process.
    pub(crate) fn to_json(&self) -> Value {
        let comings = self.comings.iter();
        let comings =
            comings.map(|(tick, name, place)| json!([tick, name, place.line, place.column]));
        json!({ "comings": comings.collect::<Vec<_>>(), "blocks": self.blocks })
    }

    /// From another process; nothing if it is not what `to_json` writes.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let coming = |coming: &Value| {
            let place = Place {
                line: u32::try_from(coming[2].as_u64()?).ok()?,
                column: u32::try_from(coming[3].as_u64()?).ok()?,
            };
            Some((coming[0].as_u64()?, coming[1].as_str()?.to_owned(), place))
        };
        let comings = value["comings"].as_array()?.iter().map(coming);
        Some(Self {
            comings: comings.collect::<Option<_>>()?,
            blocks: serde_json::from_value(value["blocks"].clone()).ok()?,
        })
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
