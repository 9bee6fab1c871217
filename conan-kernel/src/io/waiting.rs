//! Threads that wait for descriptors, and asking the system again.

use std::ffi::c_int;

use super::descriptor::{self, Limit, PollFd};
use super::{Call, loopback};
use crate::decide;
use crate::handover::Slot;
use crate::me::Inside;
use crate::state::{self, State};
use crate::thread::{Cause, ThreadId, Wake};
use crate::turn::{self, Ended};

/// Turns after which the system is asked though threads are still ready:
/// those may wait for what one does who waits here.
const LONG_ENOUGH: u32 = 100;

/// After so many calls that found nothing a thread is taken to poll.
const MANY_IN_VAIN: u32 = 1000;

/// How long a call takes that finds nothing, in nanoseconds; longer the more of
/// them there are in a row, with what is done between them.
const MOMENT_NS: u64 = 1000;

/// A thread that waits, in the order of the list.
pub(super) struct Waiter {
    pub(super) thread: ThreadId,
    pub(super) asks: Vec<PollFd>,
}

/// When a wait gives up, in virtual nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    Ever,
    /// So long after it has begun.
    After(u64),
    At(u64),
}

impl Until {
    pub(super) fn after(length_ns: Option<u64>) -> Self {
        length_ns.map_or(Self::Ever, Self::After)
    }

    /// What the socket's owner has set.
    pub(super) fn of(descriptor: c_int, limit: Limit) -> Self {
        Self::after(descriptor::limit_ns(descriptor, limit))
    }
}

/// How a wait came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    /// A descriptor may be ready.
    Perhaps,
    TimedOut,
    /// A signal has been handled; true if the call goes on.
    Interrupted(bool),
    /// It is not for the engine to wait: the system does.
    Natively,
}

/// The calling managed thread waits for one of the descriptors.
pub(super) fn wait(slot: &'static Slot, call: Call, asks: &[PollFd], until: &mut Until) -> Waited {
    let _inside = Inside::enter();
    let mut state = turn::enter(slot);
    if !state.is_process && !state.is_all_inside(asks) {
        return Waited::Natively;
    }
    if let Until::After(length) = *until {
        *until = Until::At(state.now.saturating_add(length));
    }
    let deadline = match *until {
        Until::At(time) => Some(time),
        Until::After(_) | Until::Ever => None,
    };
    state.io.waiters.push(Waiter {
        thread: slot.id,
        asks: asks.to_vec(),
    });
    match turn::block(state, slot, Cause::Io(call), deadline) {
        Ended::TimedOut => Waited::TimedOut,
        Ended::Woken => Waited::Perhaps,
        // With a time-out of its own no call goes on.
        Ended::Interrupted(restarts) => Waited::Interrupted(restarts && deadline.is_none()),
        Ended::Released => Waited::Natively,
    }
}

/// A call of the calling managed thread would have had to wait, and was not
/// to. It takes a moment, or a loop that polls would see no time pass; and
/// whoever does nothing else for long lets the others go first.
pub(super) fn in_vain(slot: &'static Slot) {
    let _inside = Inside::enter();
    let mut state = turn::enter_briefly(slot);
    if state.stays_outside(slot.id) {
        return;
    }
    let thread = state.thread(slot.id);
    thread.reads += 1;
    let calls = thread.reads;
    let moment = MOMENT_NS * u64::from(calls / 4).clamp(1, 100);
    let deadline = state.next_deadline().unwrap_or(u64::MAX);
    let limit = deadline.min(state.horizon);
    state.now = state.now.max(limit.min(state.now.saturating_add(moment)));
    let is_due = state.is_process && state.fire_one();
    if is_due || calls > MANY_IN_VAIN {
        drop(state);
        turn::yield_turn(slot);
    }
}

/// What passes through a descriptor orders what threads do, whichever it is.
static PASSED: u8 = 0;

/// The calling thread has let something out, or is about to.
pub(super) fn gives(slot: &'static Slot) {
    if decide::is_preempting() {
        let _inside = Inside::enter();
        let mut state = state::lock();
        let number = state.thread(slot.id).course.number;
        state.fine.gives(number, &raw const PASSED as usize);
    }
}

/// Something has come in.
pub(super) fn takes(slot: &'static Slot) {
    if decide::is_preempting() {
        let _inside = Inside::enter();
        let mut state = state::lock();
        let number = state.thread(slot.id).course.number;
        state.fine.takes(number, &raw const PASSED as usize);
    }
}

impl State {
    /// Asks the system about the descriptors of all who wait, and makes those
    /// ready for whom there is something. True if there are any.
    pub(crate) fn ask_descriptors(&mut self) -> bool {
        if self.io.waiters.is_empty() {
            return false;
        }
        self.io.turns = 0;
        loopback::arrive();
        let mut rounds = 0;
        loop {
            let mut asks = self.asks();
            descriptor::ask(&mut asks, 0);
            if self.wake_those(&asks) {
                return true;
            }
            rounds += 1;
            if !loopback::flush(rounds) {
                return false;
            }
        }
    }

    /// The same from time to time, though there is somebody who could go on.
    pub(crate) fn ask_descriptors_at_times(&mut self) {
        if self.io.waiters.is_empty() {
            return;
        }
        self.io.turns += 1;
        if self.io.turns > LONG_ENOUGH {
            self.ask_descriptors();
        }
    }

    /// What all who wait ask for, one after the other.
    pub(crate) fn asks(&self) -> Vec<PollFd> {
        let asks = self.io.waiters.iter().flat_map(|waiter| &waiter.asks);
        asks.copied().collect()
    }

    /// Ends the waits for which the system has found something. One whose
    /// descriptor was closed meanwhile waits on, as in the system itself.
    fn wake_those(&mut self, answers: &[PollFd]) -> bool {
        let mut rest = answers;
        let mut found = Vec::new();
        for waiter in &self.io.waiters {
            let (own, others) = rest.split_at(waiter.asks.len());
            rest = others;
            if own.iter().any(|one| one.found & !PollFd::INVALID != 0) {
                found.push(waiter.thread);
            }
        }
        let wake = Wake {
            by: None,
            tag: 0,
            timed_out: false,
            at: self.now,
        };
        for &thread in &found {
            self.end_wait(thread, wake);
        }
        !found.is_empty()
    }

    /// A thread waits for descriptors no more.
    pub(crate) fn leave_descriptors(&mut self, id: ThreadId) {
        self.io.waiters.retain(|waiter| waiter.thread != id);
    }
}

/// Waits in real time until the system has something for one who waits, or
/// for so long. The threads for whom it has.
pub(crate) fn wait_really(length_ns: u64) -> Vec<ThreadId> {
    let waiters: Vec<_> = {
        let state = state::lock();
        let waiters = state.io.waiters.iter();
        waiters
            .flat_map(|waiter| waiter.asks.iter().map(|&ask| (waiter.thread, ask)))
            .collect()
    };
    let mut asks: Vec<_> = waiters.iter().map(|&(_, ask)| ask).collect();
    // What was closed would be answered at once, again and again.
    let closed = |ask: &PollFd| descriptor::look(ask.descriptor).is_none();
    for ask in asks.iter_mut().filter(|ask| closed(ask)) {
        ask.descriptor = -1;
    }
    descriptor::ask(&mut asks, length_ns);
    let answered = waiters.iter().zip(&asks).filter(|(_, ask)| ask.found != 0);
    answered.map(|(&(thread, _), _)| thread).collect()
}
