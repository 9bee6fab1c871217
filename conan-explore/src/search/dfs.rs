//! Every schedule, one after the other.

#![allow(clippy::cast_precision_loss, reason = "an estimate")]

use conan_kernel::{Choice, Kind, Point, Step};

use super::{Bounds, Progress, Search};
use crate::explorer::Shard;
use crate::trace::{Hash, Trace};

/// So many decisions say to which part of the space a schedule belongs.
const PREFIX: usize = 8;

/// Tries every schedule, depth first.
///
/// An execution repeats the decisions of the one before it up to the last at
/// which something is left to try, decides differently there, and takes the
/// default after that. When nothing is left, the space is exhausted: within the
/// bounds, and as far as the engine sees what threads do.
#[derive(Debug, Clone, Default)]
pub struct Dfs {
    bounds: Bounds,
    uses_sleep_sets: bool,
    path: Vec<Node>,
    depth: usize,
    preemptions: usize,
    deviations: usize,
    /// Threads that need not go first, and where they are: that was tried,
    /// and makes no difference.
    asleep: Vec<(usize, u64)>,
    is_redundant: bool,
    has_diverged: bool,
    shard: Option<Shard>,
    /// Schedules that were tried to their end.
    leaves: f64,
    /// The probability of a random walk to have come to one of them.
    explored: f64,
}

/// A point on the way of the present execution.
#[derive(Debug, Clone)]
struct Node {
    fingerprint: u64,
    kind: Kind,
    options: Vec<Choice>,
    /// Only the default is within the bounds.
    is_bounded: bool,
    chosen: usize,
    /// Those that were asleep when the search came here.
    asleep: Vec<(usize, u64)>,
}

impl Dfs {
    /// Without bounds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only schedules with so many preemptions at most. Most bugs need no more
    /// than two.
    #[must_use]
    pub fn preemptions(mut self, bound: usize) -> Self {
        self.bounds.preemptions = Some(bound);
        self
    }

    /// Only schedules with so many decisions at most that are not the default.
    /// (Emmi, Qadeer and Rakamarić, 2011, count much the same as *delays*.)
    #[must_use]
    pub fn deviations(mut self, bound: usize) -> Self {
        self.bounds.deviations = Some(bound);
        self
    }

    /// Leaves out schedules that differ from another one only in the order of
    /// accesses to different places, or of readings of the same.
    ///
    /// Only for programs that say *all* they do to shared memory by
    /// [`access`](conan_kernel::access), and without other bounds: of two
    /// such schedules they may forbid the one that is kept.
    #[must_use]
    pub fn sleep_sets(mut self) -> Self {
        self.uses_sleep_sets = true;
        self
    }

    fn uses_sleep_sets(&self) -> bool {
        self.uses_sleep_sets && self.bounds == Bounds::default()
    }

    /// True if the schedules that begin like the present one are of another
    /// part. The first decisions tell.
    fn is_anothers(&self) -> bool {
        let Some(shard) = self.shard else {
            return false;
        };
        let first = self.path.iter().take(PREFIX);
        let hash = first.fold(Hash::default(), |hash, node| {
            hash.number(node.chosen as u64)
        });
        (hash.0 >> 32) % shard.count != shard.index
    }

    /// Goes past a point for the first time, or again.
    fn arrive(&mut self, point: &Point<'_>) {
        let fingerprint = Hash::default().point(point).0;
        if let Some(node) = self.path.get_mut(self.depth) {
            if node.fingerprint == fingerprint {
                // Places may have other numbers than the last time.
                node.options.clear();
                node.options.extend_from_slice(point.options);
                return;
            }
            self.has_diverged = true;
            self.path.truncate(self.depth);
        }
        let bounds = self.bounds;
        let spent = |bound: Option<usize>, count| bound.is_some_and(|bound| count >= bound);
        let mut node = Node {
            fingerprint,
            kind: point.kind,
            options: point.options.to_vec(),
            is_bounded: spent(bounds.deviations, self.deviations)
                || point.interrupts && spent(bounds.preemptions, self.preemptions),
            chosen: 0,
            asleep: self.asleep.clone(),
        };
        match (0..node.options.len()).find(|&index| node.is_open(index)) {
            Some(first) if node.still_sleep() => {
                node.chosen = first;
                self.path.push(node);
            }
            // Another schedule does the same. This one comes to its end, but
            // nothing on the way is worth trying.
            _ => self.is_redundant = true,
        }
    }

    /// Who is asleep after the decision at this node.
    fn fall_asleep(&mut self) {
        let node = &self.path[self.depth];
        self.asleep.clear();
        if node.kind != Kind::Next {
            return;
        }
        let chosen = node.options[node.chosen];
        for (index, option) in node.options.iter().enumerate() {
            let was_tried = index < node.chosen || node.asleep.contains(&place_of(option));
            if was_tried && index != node.chosen && are_independent(option.step, chosen.step) {
                self.asleep.push(place_of(option));
            }
        }
    }

    /// Moves on to the next schedule. False if there is none.
    fn advance(&mut self) -> bool {
        while let Some(node) = self.path.last_mut() {
            let mut rest = node.chosen + 1..node.options.len();
            if let Some(next) = rest.find(|&index| node.is_open(index)) {
                node.chosen = next;
                return true;
            }
            self.path.pop();
        }
        false
    }

    fn count(&mut self) {
        if self.is_redundant {
            return;
        }
        let ways = self.path.iter().map(|node| {
            let indices = 0..node.options.len();
            indices.filter(|&index| node.is_open(index)).count()
        });
        self.leaves += 1.0;
        self.explored += ways.fold(1.0, |share, ways| share / ways.max(1) as f64);
    }
}

impl Node {
    /// True if an option is to be tried, sooner or later.
    fn is_open(&self, index: usize) -> bool {
        let is_asleep = self.asleep.contains(&place_of(&self.options[index]));
        (index == 0 || !self.is_bounded) && !(self.kind == Kind::Next && is_asleep)
    }

    /// False if one that was asleep has gone on meanwhile: where it was the
    /// only one left, nobody asked.
    fn still_sleep(&self) -> bool {
        let mut asleep = self.asleep.iter();
        asleep.all(|place| self.options.iter().any(|option| place_of(option) == *place))
    }
}

fn place_of(option: &Choice) -> (usize, u64) {
    (option.thread, option.position)
}

/// True if two steps of different threads can change places, and nobody could
/// tell. Of most steps it is not known what comes after them.
fn are_independent(one: Step, other: Step) -> bool {
    match (one, other) {
        (Step::Load(_), Step::Load(_)) => true,
        (Step::Load(one) | Step::Store(one), Step::Load(other) | Step::Store(other)) => {
            one != other
        }
        _ => false,
    }
}

impl Search for Dfs {
    fn begin(&mut self, _: u64) {
        self.depth = 0;
        self.preemptions = 0;
        self.deviations = 0;
        self.asleep.clear();
        self.is_redundant = false;
        self.has_diverged = false;
    }

    fn share(&mut self, shard: Shard) {
        self.shard = (shard.count > 1).then_some(shard);
    }

    fn decide(&mut self, point: &Point<'_>) -> usize {
        if !self.is_redundant {
            self.arrive(point);
        }
        if self.is_redundant {
            return 0;
        }
        let chosen = self.path[self.depth].chosen;
        self.preemptions += usize::from(point.is_preemption(chosen));
        self.deviations += usize::from(chosen > 0);
        if self.uses_sleep_sets() {
            self.fall_asleep();
        }
        self.depth += 1;
        chosen
    }

    fn end(&mut self, _: &Trace) -> Progress {
        if self.depth < self.path.len() {
            // It ended before the decisions did.
            self.has_diverged = true;
            self.path.truncate(self.depth);
        }
        // They have gone on after the last decision.
        self.is_redundant |= !self.asleep.is_empty();
        if self.is_anothers() {
            self.is_redundant = true;
            self.path.truncate(PREFIX);
        }
        self.count();
        if self.advance() {
            Progress::Open
        } else {
            Progress::Exhausted
        }
    }

    fn has_diverged(&self) -> bool {
        self.has_diverged
    }

    fn was_redundant(&self) -> bool {
        self.is_redundant
    }

    /// By the share of a random walk that was explored.
    fn estimate(&self) -> Option<f64> {
        (self.explored > 0.0).then(|| self.leaves / self.explored)
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }
}
