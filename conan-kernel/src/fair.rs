//! Threads that yield, in a world with preemptions.
//!
//! There a thread that yields stays ready, so that a strategy can let it go
//! on at once. But a loop that yields until something happens must let it
//! happen, whatever the strategy: a thread that yields for the second time
//! goes behind those that were ready all the time and had no turn, until each
//! of them has had one. (The rule is that of the model checker CHESS.) A thread
//! that has come to very many points is taken to yield, too: it may spin. And
//! when threads do nothing but yield, time has to creep, as it does elsewhere.

use crate::state::State;
use crate::thread::ThreadId;

/// Yields of each ready thread, without one that waits, wakes or ends, after
/// which time creeps though some of them may be busy.
const MANY_YIELDS: u64 = 64;

/// Points of a thread after which it is taken to spin.
const MANY_POINTS: u32 = 1000;

/// Why a thread that has yielded does not go on yet.
#[derive(Debug, Default)]
pub(crate) enum Aside {
    /// It does.
    #[default]
    No,
    /// These go first.
    Behind(Vec<ThreadId>),
    /// All ready threads yield; this was the count of events.
    Idle(u64),
    /// Time may not creep any further.
    Late,
}

impl State {
    /// A thread that yields takes its place among the others.
    pub(crate) fn step_aside(&mut self, id: ThreadId) {
        if !self.deciding.preempts {
            self.yielded.push_back(id);
            return;
        }
        self.revive();
        self.deciding.yields += 1;
        let aside = self.aside(id);
        let now = (self.deciding.steps, self.deciding.events);
        let course = &mut self.thread(id).course;
        course.points = 0;
        course.last_yield = Some(now);
        course.aside = aside;
        match course.aside {
            Aside::No => self.ready.push_back(id),
            _ => self.yielded.push_back(id),
        }
    }

    /// A thread has come to a point. True if it is to yield there.
    pub(crate) fn has_gone_on_for_long(&mut self, id: ThreadId) -> bool {
        let course = &mut self.thread(id).course;
        course.points += 1;
        course.points > MANY_POINTS
    }

    fn aside(&mut self, id: ThreadId) -> Aside {
        let events = self.deciding.events;
        if self.is_late() {
            return Aside::Late;
        }
        let is_idle = |id: ThreadId| {
            let last = self.threads[id.0].course.last_yield;
            last.is_some_and(|(_, before)| before == events)
        };
        if self.ready.is_empty() || (is_idle(id) && self.ready.iter().all(|&id| is_idle(id))) {
            return Aside::Idle(events);
        }
        let Some((last, _)) = self.threads[id.0].course.last_yield else {
            return Aside::No;
        };
        let is_neglected = |id: &&ThreadId| {
            let course = &self.threads[id.0].course;
            course.ready_since < last && course.last_turn < last
        };
        let neglected: Vec<_> = self.ready.iter().filter(is_neglected).copied().collect();
        if neglected.is_empty() {
            Aside::No
        } else {
            Aside::Behind(neglected)
        }
    }

    /// Where threads yield and yield, though they do something else as well,
    /// time creeps, and what falls due does not wait until the strategy wants
    /// it. True if time may not.
    fn is_late(&mut self) -> bool {
        let threads = 1 + self.ready.len() + self.yielded.len();
        if self.deciding.yields <= MANY_YIELDS * threads as u64 {
            return false;
        }
        self.creep();
        !self.fire_one() && self.now >= self.horizon
    }

    /// Those that have yielded are ready again when nothing is in their way.
    #[inline]
    pub(crate) fn revive(&mut self) {
        for _ in 0..self.yielded.len() {
            let Some(id) = self.yielded.pop_front() else {
                return;
            };
            let waits = match &self.threads[id.0].course.aside {
                Aside::No => false,
                Aside::Behind(first) => first.iter().any(|first| self.ready.contains(first)),
                Aside::Idle(events) => *events == self.deciding.events,
                Aside::Late => true,
            };
            if waits {
                self.yielded.push_back(id);
            } else {
                self.ready.push_back(id);
            }
        }
    }

    /// A thread has the turn: nobody is behind it any more.
    #[inline]
    pub(crate) fn has_had_a_turn(&mut self, id: ThreadId) {
        for yielded in &self.yielded {
            if let Aside::Behind(first) = &mut self.threads[yielded.0].course.aside {
                first.retain(|&first| first != id);
            }
        }
    }
}
