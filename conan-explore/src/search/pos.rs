//! Partial order sampling.

use std::collections::BTreeMap;

use conan_kernel::{Kind, Point, Step};

use super::Search;
use super::random::draw;
use crate::prng::Prng;

/// A random priority for each step, drawn anew when another one interferes.
///
/// The step with the highest priority is taken. Those at the same place, one
/// of the two changing it, get new priorities then. So orders of steps that
/// have to do with each other are drawn more evenly than by a random walk,
/// which prefers those where threads take turns (Yuan, Yang and Gu, 2018).
#[derive(Debug, Clone)]
pub struct Pos {
    seed: u64,
    prng: Prng,
    /// The priority of each thread's next step, and where that is.
    priorities: BTreeMap<usize, (u64, u64)>,
}

impl Pos {
    /// With this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            prng: Prng::new(seed),
            priorities: BTreeMap::new(),
        }
    }
}

impl Search for Pos {
    fn begin(&mut self, execution: u64) {
        self.prng = Prng::of_execution(self.seed, execution);
        self.priorities.clear();
    }

    fn decide(&mut self, point: &Point<'_>) -> usize {
        if point.kind != Kind::Next {
            return draw(&mut self.prng, point).0;
        }
        let mut best = (0, 0);
        for (index, option) in point.options.iter().enumerate() {
            let known = self.priorities.get(&option.thread);
            let priority = match known {
                Some(&(position, priority)) if position == option.position => priority,
                _ => self.prng.number(),
            };
            self.priorities
                .insert(option.thread, (option.position, priority));
            if index == 0 || priority > best.1 {
                best = (index, priority);
            }
        }
        let chosen = &point.options[best.0];
        self.priorities.remove(&chosen.thread);
        for option in point.options {
            if interfere(chosen.step, option.step) {
                self.priorities.remove(&option.thread);
            }
        }
        best.0
    }
}

/// True if the order of two steps is known to matter.
fn interfere(one: Step, other: Step) -> bool {
    let changes = |step| matches!(step, Step::Wake(_) | Step::Store(_));
    one.place().is_some() && one.place() == other.place() && (changes(one) || changes(other))
}
