//! What comes before what: vector clocks.
//!
//! A thread's clock says how far it knows each thread to have come. It learns
//! from atomic operations that acquire what another one has released, and from
//! what the engine sees: threads that start, wake and await each other.
//!
//! What code without hooks does is not known. A condition variable of the
//! standard library, for one, gives a lock back and takes it again. So a thread
//! that waits or wakes others is taken to release that word and the locks that
//! it holds, and one that has waited, to acquire them. Where that is not
//! enough, there are more scheduling points than needed. Nothing is reported
//! on the strength of a clock.

use super::Effect;

/// Threads beyond this number have no clock: nothing comes before theirs.
const THREADS: usize = 64;

/// Room for so many words at which threads synchronise; a power of two.
const WORDS: usize = 1 << 12;

/// So many locks of a thread are remembered.
const HELD: usize = 8;

type Clock = [u32; THREADS];

#[derive(Clone, Copy)]
struct Strand {
    knows: Clock,
    /// What an acquire fence would add.
    has_seen: Clock,
    /// What a relaxed store gives away: as of the last release fence.
    has_fenced: Clock,
    /// Locks that it holds, as far as can be seen: words that it has changed
    /// and acquired, and not released. The latest is first.
    holds: [usize; HELD],
}

const NEW: Strand = Strand {
    knows: [0; THREADS],
    has_seen: [0; THREADS],
    has_fenced: [0; THREADS],
    holds: [0; HELD],
};

const HIDDEN_RELEASE: Effect = Effect {
    reads: true,
    writes: true,
    acquires: false,
    releases: true,
};

const HIDDEN_ACQUIRE: Effect = Effect {
    reads: true,
    writes: false,
    acquires: true,
    releases: false,
};

#[derive(Clone, Copy)]
struct Word {
    address: usize,
    world: u32,
    gives: Clock,
}

pub(super) struct Clocks {
    strands: Vec<Strand>,
    /// How many of them are of this world: beyond that, all clocks are at 0.
    begun: usize,
    words: Words,
}

/// The words at which threads synchronise.
struct Words {
    table: Vec<Word>,
    /// How many of them are of this world.
    used: usize,
    world: u32,
}

impl Clocks {
    pub(super) const fn new() -> Self {
        Self {
            strands: Vec::new(),
            begun: 0,
            words: Words {
                table: Vec::new(),
                used: 0,
                world: 0,
            },
        }
    }

    pub(super) fn begin(&mut self) {
        self.strands.resize(THREADS, NEW);
        self.begun = 0;
        self.words.begin();
    }

    /// The thread's own time.
    pub(super) fn now(&mut self, thread: usize) -> u32 {
        self.strand(thread).map_or(0, |strand| strand.knows[thread])
    }

    /// True if the thread knows that another one has come past this time.
    pub(super) fn knows(&mut self, thread: usize, other: usize, time: u32) -> bool {
        let strand = self.strand(thread);
        other < THREADS && strand.is_some_and(|strand| strand.knows[other] >= time)
    }

    pub(super) fn order(&mut self, before: usize, after: usize) {
        let Some(strand) = self.strand(before) else {
            return;
        };
        let knows = strand.knows;
        strand.knows[before] += 1;
        if let Some(strand) = self.strand(after) {
            join(&mut strand.knows, &knows);
        }
    }

    pub(super) fn give(&mut self, thread: usize, address: usize) {
        for address in self.held(thread).into_iter().chain([address]) {
            self.synchronize(thread, address, HIDDEN_RELEASE);
        }
    }

    pub(super) fn take(&mut self, thread: usize, address: usize) {
        for address in self.held(thread).into_iter().chain([address]) {
            self.synchronize(thread, address, HIDDEN_ACQUIRE);
        }
        self.hold(thread, address);
    }

    fn held(&mut self, thread: usize) -> [usize; HELD] {
        self.strand(thread).map_or([0; HELD], |strand| strand.holds)
    }

    /// A thread holds a lock now, if the word is one. The oldest is forgotten
    /// if there are too many.
    fn hold(&mut self, thread: usize, address: usize) {
        self.let_go(thread, address);
        if let Some(strand) = self.strand(thread) {
            strand.holds.rotate_right(1);
            strand.holds[0] = address;
        }
    }

    fn let_go(&mut self, thread: usize, address: usize) {
        if let Some(strand) = self.strand(thread) {
            let held = strand.holds.iter().position(|&held| held == address);
            if let Some(place) = held {
                strand.holds[place..].rotate_left(1);
                strand.holds[HELD - 1] = 0;
            }
        }
    }

    /// A thread makes an atomic operation.
    pub(super) fn operate(&mut self, thread: usize, address: usize, effect: Effect) {
        self.synchronize(thread, address, effect);
        if effect.writes && effect.releases {
            self.let_go(thread, address);
        } else if effect.writes && effect.reads && effect.acquires {
            self.hold(thread, address);
        }
    }

    fn synchronize(&mut self, thread: usize, address: usize, effect: Effect) {
        if address == 0 || self.strand(thread).is_none() {
            return;
        }
        let begun = self.begun;
        let strand = &mut self.strands[thread];
        let Some(word) = self.words.at(address) else {
            return;
        };
        // As it was before this operation.
        let gives = word.gives;
        let adds = if effect.releases {
            &strand.knows[..begun]
        } else {
            &strand.has_fenced[..begun]
        };
        match effect {
            Effect {
                writes: true,
                reads: true,
                ..
            } => join(&mut word.gives[..begun], adds),
            Effect { writes: true, .. } => word.gives[..begun].copy_from_slice(adds),
            _ => {}
        }
        let gives = &gives[..begun];
        if effect.reads {
            join(&mut strand.has_seen[..begun], gives);
            if effect.acquires {
                join(&mut strand.knows[..begun], gives);
            }
        }
        if effect.releases && effect.writes {
            strand.knows[thread] += 1;
        }
    }

    pub(super) fn fence(&mut self, thread: usize, acquires: bool, releases: bool) {
        let Some(strand) = self.strand(thread) else {
            return;
        };
        if acquires {
            join(&mut strand.knows, &strand.has_seen);
        }
        if releases {
            strand.has_fenced = strand.knows;
            strand.knows[thread] += 1;
        }
    }

    fn strand(&mut self, thread: usize) -> Option<&mut Strand> {
        while self.begun <= thread && self.begun < self.strands.len() {
            self.strands[self.begun] = NEW;
            self.strands[self.begun].knows[self.begun] = 1;
            self.begun += 1;
        }
        self.strands.get_mut(thread)
    }
}

impl Words {
    fn begin(&mut self) {
        let none = Word {
            address: 0,
            world: 0,
            gives: [0; THREADS],
        };
        self.table.resize(WORDS, none);
        self.used = 0;
        self.world = self.world.wrapping_add(1);
        if self.world == 0 {
            self.table.fill(none);
            self.world = 1;
        }
    }

    fn at(&mut self, address: usize) -> Option<&mut Word> {
        let start = super::scatter(address);
        let index = (0..self.table.len())
            .map(|step| start.wrapping_add(step) % WORDS)
            .find(|&index| {
                let word = &self.table[index];
                word.world != self.world || word.address == address
            })?;
        let word = &mut self.table[index];
        if word.world != self.world {
            if self.used > WORDS * 3 / 4 {
                return None;
            }
            self.used += 1;
            *word = Word {
                address,
                world: self.world,
                gives: [0; THREADS],
            };
        }
        Some(word)
    }
}

fn join(clock: &mut [u32], other: &[u32]) {
    for (time, other) in clock.iter_mut().zip(other) {
        *time = (*time).max(*other);
    }
}

#[cfg(test)]
mod tests {
    use super::{Clocks, Effect};

    const STORE: Effect = Effect {
        reads: false,
        writes: true,
        acquires: false,
        releases: false,
    };
    const LOAD: Effect = Effect {
        reads: true,
        writes: false,
        acquires: false,
        releases: false,
    };

    fn clocks() -> Clocks {
        let mut clocks = Clocks::new();
        clocks.begin();
        clocks
    }

    fn released() -> Effect {
        Effect {
            releases: true,
            ..STORE
        }
    }

    fn acquired() -> Effect {
        Effect {
            acquires: true,
            ..LOAD
        }
    }

    #[test]
    fn whoever_acquires_knows_what_was_before_the_release() {
        let mut clocks = clocks();
        let before = clocks.now(0);
        clocks.synchronize(0, 64, released());
        let after = clocks.now(0);
        clocks.synchronize(1, 64, acquired());
        assert!(clocks.knows(1, 0, before));
        assert!(!clocks.knows(1, 0, after), "that came after the release");
        assert!(!clocks.knows(0, 1, clocks_now(&clocks, 1)));
    }

    fn clocks_now(clocks: &Clocks, thread: usize) -> u32 {
        clocks.strands[thread].knows[thread]
    }

    #[test]
    fn relaxed_operations_order_nothing_without_fences() {
        for fences in [false, true] {
            let mut clocks = clocks();
            let before = clocks.now(0);
            if fences {
                clocks.fence(0, false, true);
            }
            clocks.synchronize(0, 64, STORE);
            clocks.synchronize(1, 64, LOAD);
            if fences {
                clocks.fence(1, true, false);
            }
            assert_eq!(clocks.knows(1, 0, before), fences);
        }
    }

    #[test]
    fn a_store_ends_what_others_gave_away_and_an_exchange_does_not() {
        for exchanges in [false, true] {
            let mut clocks = clocks();
            let before = clocks.now(0);
            clocks.synchronize(0, 64, released());
            let effect = Effect {
                reads: exchanges,
                ..STORE
            };
            clocks.synchronize(1, 64, effect);
            clocks.synchronize(2, 64, acquired());
            assert_eq!(clocks.knows(2, 0, before), exchanges);
        }
    }

    #[test]
    fn whoever_waits_gives_its_locks_back_and_takes_them_again() {
        let lock = Effect {
            reads: true,
            writes: true,
            ..acquired()
        };
        let unlock = Effect {
            reads: true,
            ..released()
        };
        for keeps in [false, true] {
            let mut clocks = clocks();
            clocks.operate(0, 64, lock);
            if !keeps {
                clocks.operate(0, 64, unlock);
            }
            let before = clocks.now(0);
            clocks.give(0, 72);
            let after = clocks.now(0);
            clocks.operate(1, 64, lock);
            assert_eq!(clocks.knows(1, 0, before), keeps);
            assert!(!clocks.knows(1, 0, after));
            let before = clocks.now(1);
            clocks.operate(1, 64, unlock);
            clocks.take(0, 72);
            assert_eq!(clocks.knows(0, 1, before), keeps);
        }
    }

    #[test]
    fn whoever_has_waited_at_a_lock_holds_it() {
        let mut clocks = clocks();
        clocks.take(0, 64);
        let before = clocks.now(0);
        clocks.give(0, 72);
        clocks.synchronize(1, 64, acquired());
        assert!(clocks.knows(1, 0, before));
    }

    #[test]
    fn the_oldest_locks_are_forgotten() {
        let mut clocks = clocks();
        for lock in 1..=super::HELD + 2 {
            clocks.hold(0, lock * 64);
        }
        clocks.let_go(0, 64 * super::HELD);
        let held = clocks.held(0);
        assert_eq!(held[..2], [64 * (super::HELD + 2), 64 * (super::HELD + 1)]);
        assert_eq!(held[super::HELD - 2..], [64 * 3, 0]);
    }

    #[test]
    fn another_word_tells_nothing() {
        let mut clocks = clocks();
        let before = clocks.now(0);
        clocks.synchronize(0, 64, released());
        clocks.synchronize(1, 72, acquired());
        assert!(!clocks.knows(1, 0, before));
    }

    #[test]
    fn a_new_world_knows_nothing_of_the_last() {
        let mut clocks = clocks();
        let before = clocks.now(0);
        clocks.synchronize(0, 64, released());
        clocks.begin();
        clocks.synchronize(1, 64, acquired());
        assert!(!clocks.knows(1, 0, before));
    }

    #[test]
    fn threads_without_a_clock_are_after_nobody() {
        let mut clocks = clocks();
        let before = clocks.now(0);
        clocks.order(0, 1000);
        assert!(!clocks.knows(1000, 0, before));
        assert!(!clocks.knows(0, 1000, 0));
    }
}
