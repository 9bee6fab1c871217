//! Which threads wait for which: what blocked threads want, and which threads
//! have it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use conan_kernel::{Cause, ThreadId, ThreadInfo, World};

use crate::failure::Waits;
use crate::waits::{StdLock, Waiting, initialisations, waiting};

/// Threads beyond this number are not asked what they hold: each is asked for
/// each lock.
const MANY: usize = 256;

/// The blocked threads of a world that has come to rest: what each waits for,
/// and which threads would have to go on first.
///
/// Which thread holds a lock of std's is known for certain only if the lock was
/// handed to it by a wake. Otherwise it is read from the stacks: the thread that
/// holds a lock has a guard on its stack, most often. Where that leaves several
/// threads, all of them are named; where only pointers are left that need not
/// be guards, the holder is not known.
#[derive(Debug, Clone, Default)]
pub struct WaitFor {
    blocked: BTreeMap<ThreadId, Blocked>,
}

#[derive(Debug, Clone)]
struct Blocked {
    /// The word that it waits at.
    word: Option<usize>,
    waiting: Waiting,
    backtrace: Option<String>,
    holders: Holders,
    /// Threads with a pointer to the lock that need not be a guard.
    pointing: Vec<ThreadId>,
    /// The threads that would have to go on first: holders of the lock, or the
    /// thread that it joins.
    on: Vec<ThreadId>,
}

/// The threads that may hold a lock: it is one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holders {
    /// The threads. The one that waits may be among them.
    pub threads: Vec<ThreadId>,
    /// True if that is known for certain.
    pub is_certain: bool,
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
            let (holders, pointing) = match info.blocked.map(|blocked| blocked.cause) {
                Some(Cause::Join(other)) => {
                    if let Some(blocked) = blocked.get_mut(&info.id) {
                        blocked.on = vec![other];
                    }
                    continue;
                }
                Some(Cause::Futex(word)) => match blocked[&info.id].waiting.lock {
                    Some(lock) => holders(world, info.id, word, lock, &blocked),
                    None => continue,
                },
                _ => continue,
            };
            if let Some(blocked) = blocked.get_mut(&info.id) {
                let others = holders.threads.iter().copied();
                blocked.on = others.filter(|&other| other != info.id).collect();
                blocked.holders = holders;
                blocked.pointing = pointing;
            }
        }
        let mut wait_for = Self { blocked };
        wait_for.prefer_cycles();
        wait_for
    }

    /// A pointer to a lock can be there by chance. Threads that wait for each
    /// other in a cycle are not there by chance.
    fn prefer_cycles(&mut self) {
        let threads: Vec<_> = self.blocked.keys().copied().collect();
        for &thread in &threads {
            self.keep_to_cycle(thread);
        }
        // Pointers that need not be guards count if they close a cycle.
        for &thread in &threads {
            let Some(blocked) = self.blocked.get_mut(&thread) else {
                continue;
            };
            if blocked.on.is_empty() {
                blocked.on.clone_from(&blocked.pointing);
            }
        }
        for &thread in &threads {
            self.keep_to_cycle(thread);
        }
        for &thread in &threads {
            let is_in_cycle = self.cycle(thread).is_some();
            let Some(blocked) = self.blocked.get_mut(&thread) else {
                continue;
            };
            if !is_in_cycle && blocked.holders.threads.is_empty() && !blocked.pointing.is_empty() {
                blocked.on.clear();
            }
        }
    }

    /// If a thread is in a cycle, it waits for the next one in that.
    fn keep_to_cycle(&mut self, thread: ThreadId) {
        let Some(cycle) = self.cycle(thread) else {
            return;
        };
        let next = *cycle.get(1).unwrap_or(&thread);
        if let Some(blocked) = self.blocked.get_mut(&thread) {
            blocked.on = vec![next];
            if blocked.waiting.waits == Waits::Lock {
                blocked.holders.threads = vec![next];
            }
        }
    }

    /// What a thread waits for.
    pub fn waits(&self, thread: ThreadId) -> Waits {
        let blocked = self.blocked.get(&thread);
        blocked.map_or(Waits::Unknown, |blocked| blocked.waiting.waits)
    }

    /// The stack of a thread that waits for others.
    pub fn backtrace(&self, thread: ThreadId) -> Option<&str> {
        self.blocked.get(&thread)?.backtrace.as_deref()
    }

    /// The threads that hold the lock that a thread waits for, as far as that is
    /// known; nothing if it is not, or if it does not wait for a lock.
    pub fn holders(&self, thread: ThreadId) -> Option<&Holders> {
        let holders = &self.blocked.get(&thread)?.holders;
        (!holders.threads.is_empty()).then_some(holders)
    }

    /// The other threads that may have what a thread waits for: it is one of
    /// them, as far as that is known.
    fn on(&self, thread: ThreadId) -> &[ThreadId] {
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
    /// The address of the lock of std's that it waits for.
    fn lock(&self) -> Option<usize> {
        Some(self.waiting.lock?.address(self.word?))
    }

    fn new(world: &World, info: &ThreadInfo, threads: &[ThreadInfo]) -> Self {
        let cause = info.blocked.map(|blocked| blocked.cause);
        let backtrace = match cause {
            Some(Cause::Futex(_) | Cause::Join(_)) => world.backtrace(info.id),
            _ => None,
        };
        let nothing = Waiting {
            waits: Waits::Unknown,
            lock: None,
            has_released: false,
        };
        let waiting = match cause {
            Some(Cause::Join(other)) => {
                let other = threads.iter().find(|info| info.id == other);
                Waiting {
                    waits: Waits::Join(other.map(|info| info.number)),
                    ..nothing
                }
            }
            Some(Cause::Futex(_)) => backtrace.as_deref().map_or(nothing, waiting),
            _ => nothing,
        };
        Self {
            word: match cause {
                Some(Cause::Futex(word)) => Some(word),
                _ => None,
            },
            waiting,
            backtrace,
            holders: Holders::default(),
            pointing: Vec::new(),
            on: Vec::new(),
        }
    }
}

/// The threads that hold a lock, as far as that is known, and those that have
/// nothing but a pointer to it.
fn holders(
    world: &World,
    thread: ThreadId,
    word: usize,
    lock: StdLock,
    blocked: &BTreeMap<ThreadId, Blocked>,
) -> (Holders, Vec<ThreadId>) {
    if let Some(holder) = was_handed_to(world, word, lock) {
        let holders = Holders {
            threads: vec![holder],
            is_certain: true,
        };
        return (holders, Vec::new());
    }
    let mut holders = Holders::default();
    let mut pointing = Vec::new();
    let address = lock.address(word);
    for (other, evidence) in world.lock_evidence(address) {
        let Some(stuck) = blocked.get(&other) else {
            continue;
        };
        if evidence.in_call && stuck.waiting.has_released {
            continue;
        }
        let is_holder = match lock {
            StdLock::Once => {
                // The wait itself is in such a function, too.
                let own = usize::from(stuck.waiting.lock == Some(StdLock::Once));
                let backtrace = stuck.backtrace.as_deref().unwrap_or_default();
                evidence.pointer && initialisations(backtrace) > own
            }
            // A thread that waits for the lock keeps it in registers for that,
            // and has guards left from the last time, if it locks in a loop.
            StdLock::Mutex | StdLock::RwLock { .. } if waits_for(stuck, address) => {
                evidence.returned_guard && !evidence.is_repeated
            }
            StdLock::Mutex | StdLock::RwLock { .. } => evidence.guard || evidence.register,
        };
        if is_holder {
            holders.threads.push(other);
        } else if evidence.pointer && !waits_for(stuck, address) {
            pointing.push(other);
        }
    }
    // The others first.
    holders.threads.sort_by_key(|&other| other == thread);
    (holders, pointing)
}

/// True if a thread waits for the lock at this address.
fn waits_for(stuck: &Blocked, address: usize) -> bool {
    stuck.lock() == Some(address)
}

/// The thread that the last wake at a mutex has woken, if it does not wait there
/// any more: it has locked the mutex, and to unlock it, it would have had to
/// make another wake.
fn was_handed_to(world: &World, word: usize, lock: StdLock) -> Option<ThreadId> {
    if lock != StdLock::Mutex {
        return None;
    }
    let woken = world.last_wake_call(word)?.woke?;
    let threads = world.threads();
    let info = threads.iter().find(|info| info.id == woken)?;
    let cause = info.blocked.map(|blocked| blocked.cause);
    (cause.is_some() && cause != Some(Cause::Futex(word))).then_some(woken)
}
