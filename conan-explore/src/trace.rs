//! What was decided in an execution.

use conan_kernel::{Choice, Kind, Point};

/// A decision, as far as it is needed after the execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// What it was about.
    pub kind: Kind,
    /// What was chosen, as an index; 0 is the default.
    pub chosen: usize,
    /// How many options there were.
    pub options: usize,
    /// The thread that was chosen.
    pub thread: usize,
    /// The thread that had run until there.
    pub previous: Option<usize>,
    /// True if that thread could have gone on, and another one was chosen.
    pub is_preemption: bool,
    /// True if the thread that had run could have gone on.
    interrupts: bool,
}

/// The decisions of an execution, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    taken: Vec<Taken>,
    /// What there was to choose from, at all of them, one after the other.
    offered: Vec<Offered>,
    digest: u64,
}

/// An option, as far as it is the same in every process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Offered {
    position: u64,
    thread: u32,
    sort: u8,
}

impl From<&Choice> for Offered {
    fn from(option: &Choice) -> Self {
        Self {
            position: option.position,
            thread: option.thread as u32,
            sort: option.step.sort(),
        }
    }
}

impl Trace {
    /// Adds what was decided at a point.
    pub(crate) fn push(&mut self, point: &Point<'_>, chosen: usize) {
        let option = &point.options[chosen];
        let mut digest = chosen as u64;
        let mut odd = 1;
        self.offered.extend(point.options.iter().map(|other| {
            let number = other.position << 16 ^ other.thread as u64;
            // None of these has to wait for the one before it.
            odd += 2;
            digest = digest.wrapping_add(mix(number, odd));
            Offered::from(other)
        }));
        self.digest = mix(self.digest, digest);
        self.taken.push(Taken {
            kind: point.kind,
            chosen,
            options: point.options.len(),
            thread: option.thread,
            previous: point.previous,
            is_preemption: point.is_preemption(chosen),
            interrupts: point.interrupts,
        });
    }

    pub(crate) fn clear(&mut self) {
        self.taken.clear();
        self.offered.clear();
        self.digest = 0;
    }

    /// Tells executions apart within a process: it is there already, where
    /// [`hash`](Self::hash) has to be worked out.
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    /// All decisions.
    pub fn taken(&self) -> &[Taken] {
        &self.taken
    }

    /// For each decision, how many scheduling points the thread that had run
    /// had come to, if it was among the options and another one was chosen.
    pub(crate) fn left_at(&self) -> impl Iterator<Item = Option<u64>> {
        let mut offered = &self.offered[..];
        self.taken.iter().map(move |taken| {
            let (these, rest) = offered.split_at(taken.options);
            offered = rest;
            let previous = taken.previous.filter(|&thread| thread != taken.thread)?;
            let left = these.iter().find(|it| it.thread as usize == previous)?;
            Some(left.position)
        })
    }

    /// What was chosen, as indices, up to the last that is not the default.
    pub fn choices(&self) -> Vec<usize> {
        let mut choices: Vec<_> = self.taken.iter().map(|taken| taken.chosen).collect();
        while choices.last() == Some(&0) {
            choices.pop();
        }
        choices
    }

    /// How often a thread lost its turn that could have gone on.
    pub fn preemptions(&self) -> usize {
        let preemptions = self.taken.iter().filter(|taken| taken.is_preemption);
        preemptions.count()
    }

    /// How many decisions were not the default.
    pub fn deviations(&self) -> usize {
        self.taken.iter().filter(|taken| taken.chosen != 0).count()
    }

    /// Stands for the whole execution: the same for the same points and
    /// decisions, in every process.
    pub fn hash(&self) -> u64 {
        self.hash_after(self.taken.len())
    }

    /// The same for the first decisions only.
    pub(crate) fn hash_after(&self, decisions: usize) -> u64 {
        let mut offered = &self.offered[..];
        let mut hash = Hash::default();
        for taken in self.taken.iter().take(decisions) {
            let (these, rest) = offered.split_at(taken.options);
            let head = (taken.kind, taken.interrupts, taken.previous);
            hash = hash.options(head, these.iter().copied());
            hash = hash.number(taken.chosen as u64);
            offered = rest;
        }
        hash.0
    }
}

/// Makes one number of two.
fn mix(digest: u64, number: u64) -> u64 {
    let mixed = (digest ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

/// FNV-1a, 64 bits: simple, and the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hash(pub(crate) u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    pub(crate) fn byte(self, byte: u8) -> Self {
        Self((self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    pub(crate) fn number(self, number: u64) -> Self {
        number.to_le_bytes().into_iter().fold(self, Self::byte)
    }

    /// Adds everything about a point that is the same in every process. The
    /// numbers of places are not: memory is used again in other ways.
    pub(crate) fn point(self, point: &Point<'_>) -> Self {
        let head = (point.kind, point.interrupts, point.previous);
        self.options(head, point.options.iter().map(Offered::from))
    }

    fn options(
        self,
        (kind, interrupts, previous): (Kind, bool, Option<usize>),
        options: impl ExactSizeIterator<Item = Offered>,
    ) -> Self {
        let kind = match kind {
            Kind::Next => 0,
            Kind::Wake => 1,
            Kind::Due => 2,
            Kind::Spurious => 3,
        };
        let previous = previous.map_or(0, |thread| thread as u64 + 1);
        let head = self
            .byte(kind)
            .byte(u8::from(interrupts))
            .number(previous)
            .number(options.len() as u64);
        options.fold(head, |hash, option| {
            hash.number(u64::from(option.thread))
                .number(option.position)
                .byte(option.sort)
        })
    }
}
