//! Probabilistic concurrency testing.

use std::collections::{BTreeMap, VecDeque};

use conan_kernel::{Kind, Point};

use super::random::draw;
use super::{Progress, Search};
use crate::prng::Prng;
use crate::trace::Trace;

/// Executions from which the length of the next one is guessed.
const LAST: usize = 16;

/// The guess for the first.
const LENGTH: usize = 50;

/// Random priorities, which change at few random moments.
///
/// Whoever is ready and has the highest priority runs. At *d* − 1 moments of
/// an execution the one who would run falls below all others. A bug that needs
/// *d* steps in a certain order is met with a probability of at least
/// 1/(*n* *k*^(*d*−1)), for *n* threads and *k* decisions (Burckhardt, Kothari,
/// Musuvathi and Nagarakatte, 2010). *k* is taken from the last executions.
#[derive(Debug, Clone)]
pub struct Pct {
    seed: u64,
    depth: usize,
    prng: Prng,
    priorities: BTreeMap<usize, u64>,
    /// When priorities change, in decisions about who runs next.
    changes: Vec<usize>,
    decisions: usize,
    lengths: VecDeque<usize>,
}

impl Pct {
    /// For bugs of this depth, at least 1.
    pub fn new(seed: u64, depth: usize) -> Self {
        Self {
            seed,
            depth: depth.max(1),
            prng: Prng::new(seed),
            priorities: BTreeMap::new(),
            changes: Vec::new(),
            decisions: 0,
            lengths: VecDeque::new(),
        }
    }

    /// For a program whose executions have about so many decisions about who
    /// runs next; where nothing is said, the last executions tell.
    #[must_use]
    pub fn length(mut self, decisions: usize) -> Self {
        self.lengths.push_back(decisions.max(1));
        self
    }

    fn highest(&mut self, point: &Point<'_>) -> usize {
        let mut best = (0, 0);
        for (index, option) in point.options.iter().enumerate() {
            // Above all that changes can give.
            let fresh = || self.prng.number() | 1 << 63;
            let priority = *self.priorities.entry(option.thread).or_insert_with(fresh);
            if index == 0 || priority > best.1 {
                best = (index, priority);
            }
        }
        best.0
    }
}

impl Search for Pct {
    fn begin(&mut self, execution: u64) {
        self.prng = Prng::of_execution(self.seed, execution);
        self.priorities.clear();
        self.decisions = 0;
        let length = self.lengths.iter().copied().max().unwrap_or(LENGTH);
        self.changes.clear();
        for _ in 1..self.depth {
            let moment = self.prng.below(length);
            self.changes.push(moment);
        }
    }

    fn decide(&mut self, point: &Point<'_>) -> usize {
        if point.kind != Kind::Next {
            return draw(&mut self.prng, point).0;
        }
        for change in 0..self.changes.len() {
            if self.changes[change] == self.decisions {
                let index = self.highest(point);
                let lowest = (self.changes.len() - change) as u64;
                self.priorities.insert(point.options[index].thread, lowest);
            }
        }
        self.decisions += 1;
        self.highest(point)
    }

    fn end(&mut self, _: &Trace) -> Progress {
        if self.lengths.len() == LAST {
            self.lengths.pop_front();
        }
        self.lengths.push_back(self.decisions.max(1));
        Progress::Open
    }
}
