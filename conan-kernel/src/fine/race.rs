//! Data races.
//!
//! Two threads race where both are about to make their accesses at the same
//! time: they touch the same memory, one of them writes, and not both are
//! atomic. That is looked for as it stands. A thread that has come to an
//! access, and was preempted there, makes it next; if another one comes to
//! its access meanwhile, nothing orders the two, whatever the program uses to
//! order things. So what is reported is a race, always; what is not may be one
//! under another schedule.

use std::sync::Arc;

use crate::handover::Slot;
use crate::point::Access;
use crate::stack::Stack;
use crate::state::State;
use crate::thread::{Phase, ThreadId};

use super::Touch;

/// Two accesses to the same memory that nothing orders. One of them writes,
/// and not both are atomic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Race {
    /// The one that was about to be made first.
    pub first: Racing,
    /// The one that another thread came to meanwhile.
    pub second: Racing,
}

/// One of the accesses of a race.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Racing {
    /// The thread.
    pub thread: ThreadId,
    /// Its number in its world.
    pub number: usize,
    /// The name that the owner of the world gave it.
    pub name: Option<String>,
    /// What it had said of itself.
    pub tag: u64,
    /// What it was about to do.
    pub access: Access,
    /// True if it was an atomic operation.
    pub is_atomic: bool,
    /// Where: the thread's stack, from the access outwards.
    pub backtrace: Option<String>,
}

/// The races of a world, each pair of places in the code once.
pub(crate) struct Races {
    found: Vec<Found>,
}

struct Found {
    sides: [Side; 2],
}

struct Side {
    thread: ThreadId,
    tag: u64,
    touch: Touch,
    backtrace: Option<Arc<Stack>>,
}

impl Races {
    pub(crate) const fn new() -> Self {
        Self { found: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.found.clear();
    }

    fn has(&self, one: &Touch, other: &Touch) -> bool {
        let sites = [one.site, other.site];
        self.found.iter().any(|found| {
            let [first, second] = found.sides.each_ref().map(|side| side.touch.site);
            [first, second] == sites || [second, first] == sites
        })
    }
}

impl State {
    /// Looks for threads that are about to make an access which races with
    /// this one of the calling thread.
    pub(super) fn find_races(&mut self, slot: &'static Slot, touch: &Touch) {
        for place in 0..self.members.len() {
            let id = self.members[place];
            let thread = &self.threads[id.0];
            let Some(other) = thread.course.touching else {
                continue;
            };
            let races = id != slot.id && thread.phase == Phase::Ready && other.races_with(touch);
            if !races || self.races.has(&other, touch) {
                continue;
            }
            let first = Side {
                thread: id,
                tag: thread.tag,
                touch: other,
                backtrace: None,
            };
            let second = Side {
                thread: slot.id,
                tag: self.threads[slot.id.0].tag,
                touch: *touch,
                backtrace: Some(here(slot)),
            };
            self.races.found.push(Found {
                sides: [first, second],
            });
        }
    }

    /// A thread goes on with an access that has raced: it says where that is.
    pub(super) fn tell_race(&mut self, slot: &'static Slot) {
        let mut sides = self.races.found.iter_mut().flat_map(|race| &mut race.sides);
        while let Some(side) = sides.find(|side| side.thread == slot.id && side.backtrace.is_none())
        {
            side.backtrace = Some(here(slot));
        }
    }

    /// All races so far; the names of the functions are looked up by whoever
    /// asks for them, outside the engine's lock.
    pub(crate) fn races(&self) -> Vec<impl FnOnce() -> Race + use<>> {
        let told = self.races.found.iter().map(|race| {
            let racing = race.sides.each_ref().map(|side| self.racing(side));
            let backtraces = race.sides.each_ref().map(|side| side.backtrace.clone());
            || {
                let mut racing = racing;
                for (racing, backtrace) in racing.iter_mut().zip(backtraces) {
                    racing.backtrace = backtrace.map(|stack| stack.text());
                }
                let [first, second] = racing;
                Race { first, second }
            }
        });
        told.collect()
    }

    fn racing(&self, side: &Side) -> Racing {
        let thread = &self.threads[side.thread.0];
        Racing {
            thread: side.thread,
            number: thread.course.number,
            name: thread.name.clone(),
            tag: side.tag,
            access: side.touch.access,
            is_atomic: side.touch.is_atomic,
            backtrace: None,
        }
    }
}

fn here(slot: &Slot) -> Arc<Stack> {
    Arc::new(Stack::here(&slot.bottom))
}

impl Touch {
    /// True if two accesses of different threads, about to be made at the same
    /// time, are a race. An exchange that may not take place counts as a read.
    fn races_with(&self, other: &Self) -> bool {
        let surely_writes = |touch: &Self| touch.access == Access::Store && !touch.is_conditional;
        self.meets(other)
            && !(self.is_atomic && other.is_atomic)
            && (surely_writes(self) || surely_writes(other))
    }
}
