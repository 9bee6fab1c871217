//! Threads that go in line.

use std::collections::BTreeMap;

use conan_kernel::{Kind, Point};

use super::random::draw;
use super::{Progress, Search};
use crate::prng::Prng;
use crate::trace::Trace;

/// Stops of an execution, at most.
const STOPS: usize = 3;

/// How far threads come, as long as nobody knows.
const LENGTH: u64 = 20;

/// All threads stop at the same few of their steps, until all have come there.
///
/// A stop is a number of steps, the same for every thread. Nobody goes beyond
/// it as long as one is ready that has not come so far; between two stops each
/// thread runs as long as it can, in a random order. In the first execution
/// every step is a stop. Where many threads run the same code, all of them come
/// to the same place in it, which a random walk brings about by luck only:
/// philosophers with a fork each, permits that are all given back before
/// anybody looks. How many threads there are makes no difference.
#[derive(Debug, Clone)]
pub struct Abreast {
    seed: u64,
    prng: Prng,
    /// Where all stop; at each step if there is nothing.
    stops: Vec<u64>,
    /// Who goes first within a stage.
    priorities: BTreeMap<usize, u64>,
    /// The farthest that any thread has come in this execution.
    farthest: u64,
    /// The same in the one in which that was least: threads that do not get in
    /// each other's way have fewer steps.
    length: Option<u64>,
}

impl Abreast {
    /// With this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            prng: Prng::new(seed),
            stops: Vec::new(),
            priorities: BTreeMap::new(),
            farthest: 0,
            length: None,
        }
    }

    /// How many stops a thread is beyond.
    fn stage(&self, position: u64) -> u64 {
        if self.stops.is_empty() {
            return position;
        }
        let passed = self.stops.iter().filter(|stop| **stop <= position);
        passed.count() as u64
    }
}

impl Search for Abreast {
    fn begin(&mut self, execution: u64) {
        self.prng = Prng::of_execution(self.seed, execution);
        self.priorities.clear();
        self.farthest = 0;
        self.stops.clear();
        if execution > 0 {
            let length = self.length.unwrap_or(LENGTH);
            for _ in 0..=self.prng.below(STOPS) {
                let stop = 1 + self.prng.below(length as usize) as u64;
                self.stops.push(stop);
            }
        }
    }

    fn decide(&mut self, point: &Point<'_>) -> usize {
        let positions = point.options.iter().map(|option| option.position);
        self.farthest = positions.fold(self.farthest, u64::max);
        if point.kind == Kind::Spurious {
            return draw(&mut self.prng, point).0;
        }
        let mut first = (0, (u64::MAX, u64::MAX));
        for (index, option) in point.options.iter().enumerate() {
            let is_even = self.stops.is_empty();
            let priority = match self.priorities.get(&option.thread) {
                Some(priority) => *priority,
                None if is_even => option.thread as u64,
                None => self.prng.number(),
            };
            self.priorities.insert(option.thread, priority);
            // Within a stage, who runs goes on.
            let runs = point.interrupts && index == 0;
            let priority = if runs { 0 } else { priority };
            let rank = (self.stage(option.position), priority);
            if index == 0 || rank < first.1 {
                first = (index, rank);
            }
        }
        first.0
    }

    fn end(&mut self, _: &Trace) -> Progress {
        // Where there was nothing to decide, nothing was seen.
        if self.farthest > 0 {
            let least = self.length.unwrap_or(u64::MAX);
            self.length = Some(least.min(self.farthest));
        }
        Progress::Open
    }
}
