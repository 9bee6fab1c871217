//! What was not tried before.

use conan_kernel::Point;

use super::Search;
use super::random::draw;
use crate::digests::Digests;
use crate::prng::Prng;
use crate::trace::Hash;

/// Prefers decisions that were never taken in the same state.
///
/// A state is what there is to choose from: which threads, how far each has
/// come, and what it does next. An option that was not taken in it before goes
/// first, a random one of them; if there is none, a random one of all. After
/// Cooperari (Simões, 2014). It ignores the values of data, and so never
/// claims that everything has been tried.
#[derive(Debug, Clone)]
pub struct History {
    seed: u64,
    prng: Prng,
    taken: Digests,
}

impl History {
    /// With this seed, and nothing tried.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            prng: Prng::new(seed),
            taken: Digests::default(),
        }
    }

    /// It has tried what another one has, as its [memory](Search::memory) says.
    #[must_use]
    pub fn after(mut self, memory: impl IntoIterator<Item = u64>) -> Self {
        self.taken.extend(memory);
        self
    }
}

impl Search for History {
    fn begin(&mut self, execution: u64) {
        self.prng = Prng::of_execution(self.seed, execution);
    }

    fn decide(&mut self, point: &Point<'_>) -> usize {
        let state = Hash::default().point(point);
        let (first, _) = draw(&mut self.prng, point);
        let options = point.options.len();
        let turned = (0..options).map(|turn| (first + turn) % options);
        for index in turned {
            if self.taken.insert(state.number(index as u64).0) {
                return index;
            }
        }
        first
    }

    fn memory(&self) -> Vec<u64> {
        let mut taken: Vec<_> = self.taken.iter().copied().collect();
        taken.sort_unstable();
        taken
    }
}
