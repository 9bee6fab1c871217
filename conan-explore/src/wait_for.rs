//! Who waits for whom: what blocked threads want, and who has it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use conan_kernel::{Cause, ThreadId, ThreadInfo, World};

use crate::failure::Waits;
use crate::waits::waits;

/// Threads beyond this number are not asked what they hold: each is asked for
/// each lock.
const MANY: usize = 256;

/// The blocked threads of a world that has come to rest: what each waits for,
/// and which threads would have to go on first.
///
/// Who holds a lock is read from the stacks, which point to it. That can be
/// wrong where a pointer was left behind, or is to something that begins with
/// the lock; and there may be none, as with locks that park their threads
/// elsewhere.
#[derive(Debug, Clone, Default)]
pub struct WaitFor {
    blocked: BTreeMap<ThreadId, Blocked>,
}

#[derive(Debug, Clone)]
struct Blocked {
    waits: Waits,
    backtrace: Option<String>,
    on: Vec<ThreadId>,
}

impl WaitFor {
    /// Asks all blocked threads.
    pub fn new(world: &World) -> Self {
        let threads = world.threads();
        let mut blocked: BTreeMap<_, _> = threads
            .iter()
            .filter(|info| info.blocked.is_some())
            .map(|info| (info.id, Blocked::new(world, info, &threads)))
            .collect();
        if blocked.len() > MANY {
            return Self { blocked };
        }
        for info in &threads {
            let on = match info.blocked.map(|blocked| blocked.cause) {
                Some(Cause::Join(other)) => vec![other],
                Some(Cause::Futex(word)) if blocked[&info.id].waits == Waits::Lock => {
                    likely(&world.may_hold(word), &blocked)
                }
                _ => continue,
            };
            if let Some(blocked) = blocked.get_mut(&info.id) {
                blocked.on = on;
            }
        }
        let mut wait_for = Self { blocked };
        wait_for.prefer_cycles();
        wait_for
    }

    /// Others point to a lock by chance; nobody is in a cycle by chance.
    fn prefer_cycles(&mut self) {
        let threads: Vec<_> = self.blocked.keys().copied().collect();
        for thread in threads {
            if let Some(cycle) = self.cycle(thread)
                && let Some(blocked) = self.blocked.get_mut(&thread)
            {
                blocked.on = vec![*cycle.get(1).unwrap_or(&thread)];
            }
        }
    }

    /// What a thread waits for.
    pub fn waits(&self, thread: ThreadId) -> Waits {
        let blocked = self.blocked.get(&thread);
        blocked.map_or(Waits::Unknown, |blocked| blocked.waits)
    }

    /// The stack of a thread that waits for others.
    pub fn backtrace(&self, thread: ThreadId) -> Option<&str> {
        self.blocked.get(&thread)?.backtrace.as_deref()
    }

    /// The threads that may have what a thread waits for: it is one of them, as
    /// far as that is known.
    pub fn on(&self, thread: ThreadId) -> &[ThreadId] {
        let blocked = self.blocked.get(&thread);
        blocked.map_or(&[], |blocked| &blocked.on)
    }

    /// The shortest way from a thread over those that it waits for back to
    /// itself; it begins with that thread.
    pub fn cycle(&self, thread: ThreadId) -> Option<Vec<ThreadId>> {
        let mut came_from = BTreeMap::new();
        let mut reached = VecDeque::from([thread]);
        while let Some(one) = reached.pop_front() {
            for &next in self.on(one) {
                if next == thread {
                    let mut way = vec![one];
                    while let Some(&before) = came_from.get(way.last()?) {
                        way.push(before);
                    }
                    way.reverse();
                    return Some(way);
                }
                if let Entry::Vacant(entry) = came_from.entry(next) {
                    entry.insert(one);
                    reached.push_back(next);
                }
            }
        }
        None
    }
}

impl Blocked {
    fn new(world: &World, info: &ThreadInfo, threads: &[ThreadInfo]) -> Self {
        let cause = info.blocked.map(|blocked| blocked.cause);
        let backtrace = match cause {
            Some(Cause::Futex(_) | Cause::Join(_)) => world.backtrace(info.id),
            _ => None,
        };
        let waits = match cause {
            Some(Cause::Join(other)) => {
                let other = threads.iter().find(|info| info.id == other);
                Waits::Join(other.map(|info| info.number))
            }
            Some(Cause::Futex(_)) => backtrace.as_deref().map_or(Waits::Unknown, waits),
            _ => Waits::Unknown,
        };
        Self {
            waits,
            backtrace,
            on: Vec::new(),
        }
    }
}

/// Of the threads that point to a lock those that hold it: one that waits for a
/// signal may have given the lock back for that time, and is taken only if
/// there is nobody else.
fn likely(candidates: &[ThreadId], blocked: &BTreeMap<ThreadId, Blocked>) -> Vec<ThreadId> {
    let is_sure = |thread: &&ThreadId| blocked[thread].waits != Waits::Signal;
    let sure: Vec<_> = candidates.iter().filter(is_sure).copied().collect();
    if sure.is_empty() {
        candidates.to_vec()
    } else {
        sure
    }
}
