//! A random walk.

#![allow(clippy::cast_precision_loss, reason = "an estimate")]

use conan_kernel::{Kind, Point};

use super::{Progress, Search};
use crate::prng::Prng;
use crate::trace::Trace;

/// One of so many waits ends for no reason, where that may happen.
const SPURIOUS: usize = 4;

/// Chooses each option with the same probability.
///
/// Of the number of schedules it gives Knuth's estimate (1975): the mean, over
/// the executions, of one over the probability of what was chosen.
#[derive(Debug, Clone)]
pub struct Random {
    seed: u64,
    prng: Prng,
    /// One over the probability of the present execution.
    weight: f64,
    sum: f64,
    executions: u64,
}

impl Random {
    /// A random walk with this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            prng: Prng::new(seed),
            weight: 1.0,
            sum: 0.0,
            executions: 0,
        }
    }
}

/// Draws an option; also the reciprocal of its probability.
pub(super) fn draw(prng: &mut Prng, point: &Point<'_>) -> (usize, f64) {
    if point.kind == Kind::Spurious {
        let number = prng.below(SPURIOUS);
        let all = SPURIOUS as f64;
        return if number == 0 {
            (1, all)
        } else {
            (0, all / (all - 1.0))
        };
    }
    let options = point.options.len();
    (prng.below(options), options as f64)
}

impl Search for Random {
    fn begin(&mut self, execution: u64) {
        self.prng = Prng::of_execution(self.seed, execution);
        self.weight = 1.0;
    }

    fn decide(&mut self, point: &Point<'_>) -> usize {
        let (index, weight) = draw(&mut self.prng, point);
        self.weight *= weight;
        index
    }

    fn end(&mut self, _: &Trace) -> Progress {
        self.sum += self.weight;
        self.executions += 1;
        Progress::Open
    }

    fn estimate(&self) -> Option<f64> {
        (self.executions > 0).then(|| self.sum / self.executions as f64)
    }
}
