//! Places in the code that access memory, by the address to which their hook
//! returns.

use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Touch;
use super::frames::{Frame, innermost};

/// Room for so many; a power of two.
const ROOM: usize = 1 << 13;

/// So many atomic operations of a world are points before anything is known.
const ANTICIPATED: u32 = 2000;

/// A place in the code.
#[derive(Debug)]
struct Site {
    /// 0 where there is none.
    address: usize,
    standing: Standing,
}

impl Site {
    fn none() -> Self {
        Self {
            address: 0,
            standing: Standing::Alone,
        }
    }
}

#[derive(Debug, Default)]
enum Standing {
    /// It has met no other.
    #[default]
    Alone,
    /// It has met another one. The next thread that comes along tells, by its
    /// stack, what it is.
    Met(Option<Told>),
    /// It is a scheduling point.
    Adopted,
    /// It is none, whomever it meets.
    Passed,
}

/// What a site is.
#[derive(Debug)]
enum Told {
    /// The stack of a thread that was there.
    Stack(Arc<Backtrace>),
    /// Whether it can be a scheduling point, as it was found out before.
    Known(bool),
}

/// All that have been seen.
pub(super) struct Sites {
    table: Vec<Site>,
    /// Where in the table they are. There is room for all.
    known: Vec<u32>,
    waiting: usize,
    adopted: usize,
    /// Points that may be made of what is not adopted, in each world and in
    /// this one.
    anticipated: u32,
    left: u32,
    /// Which sites can be scheduling points, by their addresses. That never
    /// changes, and takes its time to find out.
    judged: BTreeMap<usize, bool>,
    /// The stacks of those that wait for that, kept for the next exploration:
    /// one that has failed judges nobody.
    stacks: BTreeMap<usize, Arc<Backtrace>>,
}

/// A site that may be adopted.
#[derive(Debug)]
pub(super) struct Candidate {
    place: usize,
    told: Told,
}

impl Candidate {
    /// True if it can be a scheduling point.
    fn is_fit(&self) -> bool {
        match &self.told {
            Told::Stack(backtrace) => !is_housekeeping(&backtrace.to_string()),
            Told::Known(is_fit) => *is_fit,
        }
    }
}

impl Sites {
    pub(super) const fn new() -> Self {
        Self {
            table: Vec::new(),
            known: Vec::new(),
            waiting: 0,
            adopted: 0,
            anticipated: 0,
            left: 0,
            judged: BTreeMap::new(),
            stacks: BTreeMap::new(),
        }
    }

    pub(super) fn begin(&mut self) {
        self.left = self.anticipated;
        if self.table.is_empty() {
            self.table.resize_with(ROOM, Site::none);
            self.known.reserve(ROOM);
        }
    }

    pub(super) fn forget(&mut self) {
        // To make a new table takes longer than many an exploration.
        for place in self.known.drain(..) {
            self.table[place as usize] = Site::none();
        }
        *self = Self {
            table: std::mem::take(&mut self.table),
            known: std::mem::take(&mut self.known),
            judged: std::mem::take(&mut self.judged),
            stacks: std::mem::take(&mut self.stacks),
            ..Self::new()
        };
    }

    pub(super) fn anticipate(&mut self) {
        self.anticipated = ANTICIPATED;
    }

    /// The sites that have met and have told what they are.
    pub(super) fn candidates(&mut self) -> Vec<Candidate> {
        self.anticipated = 0;
        let mut candidates = Vec::new();
        for &place in &self.known {
            let place = place as usize;
            if let Standing::Met(told) = &mut self.table[place].standing
                && let Some(told) = told.take()
            {
                candidates.push(Candidate { place, told });
            }
        }
        candidates
    }

    /// Settles what becomes of a candidate.
    pub(super) fn settle(&mut self, candidate: &Candidate, is_fit: bool) {
        self.waiting -= 1;
        self.adopted += usize::from(is_fit);
        let site = &mut self.table[candidate.place];
        self.judged.insert(site.address, is_fit);
        self.stacks.remove(&site.address);
        site.standing = if is_fit {
            Standing::Adopted
        } else {
            Standing::Passed
        };
    }

    pub(super) fn adopted(&self) -> usize {
        self.adopted
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// True if a thread that has come here may be preempted.
    pub(super) fn is_point(&mut self, touch: &Touch) -> bool {
        if touch.is_atomic && self.left > 0 {
            self.left -= 1;
            return true;
        }
        self.is_adopted(touch.site)
    }

    pub(super) fn is_adopted(&self, address: usize) -> bool {
        let known = self.place_of(address).map(|place| &self.table[place]);
        known.is_some_and(|site| matches!(site.standing, Standing::Adopted))
    }

    /// A thread is at a site: if that has met another one and nobody has told
    /// what it is, this one does.
    pub(super) fn visit(&mut self, address: usize, tell: impl FnOnce() -> Backtrace) {
        let Some(place) = self.place_of(address) else {
            return;
        };
        if let Standing::Met(told @ None) = &mut self.table[place].standing {
            // No function of the library's may come between this one and its
            // caller: the stack has to begin with the engine's own.
            *told = Some(match self.judged.get(&address) {
                Some(is_fit) => Told::Known(*is_fit),
                None if self.stacks.contains_key(&address) => {
                    Told::Stack(Arc::clone(&self.stacks[&address]))
                }
                None => {
                    let stack = Arc::new(tell());
                    self.stacks.insert(address, Arc::clone(&stack));
                    Told::Stack(stack)
                }
            });
        }
    }

    /// The number of a site. Nothing if there is no room for another one.
    pub(super) fn number(&mut self, address: usize) -> Option<u32> {
        let place = self.place_of(address)?;
        if self.table[place].address == 0 {
            // A table that is nearly full is slow.
            if self.known.len() > ROOM * 3 / 4 {
                return None;
            }
            self.known.push(place as u32);
            self.table[place].address = address;
        }
        Some(place as u32)
    }

    /// A site has met another one.
    pub(super) fn meets(&mut self, number: u32) {
        if let Some(site) = self.table.get_mut(number as usize)
            && let Standing::Alone = site.standing
        {
            site.standing = Standing::Met(None);
            self.waiting += 1;
        }
    }

    /// Where a site is, or would be.
    fn place_of(&self, address: usize) -> Option<usize> {
        let start = super::scatter(address);
        (0..self.table.len())
            .map(|step| start.wrapping_add(step) % ROOM)
            .find(|&place| [0, address].contains(&self.table[place].address))
    }
}

/// Which of the candidates can be scheduling points. Looks up the names of
/// functions, which takes its time.
pub(super) fn fit(candidates: Vec<Candidate>) -> Vec<(Candidate, bool)> {
    let judged = candidates.into_iter().map(|candidate| {
        let is_fit = candidate.is_fit();
        (candidate, is_fit)
    });
    judged.collect()
}

/// True for code of this project's own; and for the counting of references,
/// which all threads that share something do, in whatever order.
fn is_housekeeping(backtrace: &str) -> bool {
    let functions = innermost(backtrace);
    functions.last().is_some_and(Frame::is_ours) || functions.iter().any(Frame::counts_references)
}
