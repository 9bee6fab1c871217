//! A managed thread has the turn, gives it away and gets it back.

use crate::decide::Doing;
use crate::handover::{Go, Next, Slot, handover};
use crate::lock::Guard;
use crate::me;
use crate::raw;
use crate::signals;
use crate::state::{State, lock, ring};
use crate::thread::{Cause, Phase, Wake};

/// Waits until it is the thread's turn again. The state's lock is given up.
pub(crate) fn wait_for_turn(state: Guard<'static, State>, slot: &'static Slot) -> Go {
    drop(state);
    gone_on(handover().wait(slot))
}

/// Passes the turn on and waits for it to come back.
#[inline]
fn pass_on(mut state: Guard<'static, State>, slot: &'static Slot) -> Go {
    let next = state.choose();
    hand_over(state, slot, next)
}

/// Passes the turn on to `next` and waits for it to come back.
#[inline]
pub(crate) fn hand_over(state: Guard<'static, State>, slot: &'static Slot, next: Next) -> Go {
    gone_on(handover().pass(state, slot, next))
}

#[inline]
fn gone_on(go: Go) -> Go {
    if go == Go::Released {
        me::become_free();
    }
    go
}

/// How a wait came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Somebody has ended it.
    Woken,
    /// The time was up.
    TimedOut,
    /// There is a signal to take, which the thread does when it leaves the
    /// engine. True if the call goes on after that.
    Interrupted(bool),
    /// The thread is not managed any longer.
    Released,
}

/// Blocks the calling managed thread.
pub(crate) fn block(
    mut state: Guard<'static, State>,
    slot: &'static Slot,
    cause: Cause,
    deadline: Option<u64>,
) -> Ended {
    if let Some(restarts) = signals::interrupts(slot) {
        if matches!(cause, Cause::Io(_)) {
            state.leave_descriptors(slot.id);
        }
        return Ended::Interrupted(restarts);
    }
    state.begin_wait(slot.id, cause, deadline);
    if pass_on(state, slot) == Go::Released {
        return Ended::Released;
    }
    let mut state = lock();
    let thread = state.thread(slot.id);
    let (wake, number) = (thread.last_wake, thread.course.number);
    let interrupted = thread.interrupted.take();
    if let Cause::Futex(address) = cause {
        state.fine.takes(number, address);
    }
    match (interrupted, wake) {
        (Some(restarts), _) => Ended::Interrupted(restarts),
        (
            None,
            Some(Wake {
                timed_out: true, ..
            }),
        ) => Ended::TimedOut,
        (None, _) => Ended::Woken,
    }
}

/// Locks the state on behalf of a managed thread. One that had left the
/// engine's hands waits for its turn first.
#[inline]
pub(crate) fn enter(slot: &'static Slot) -> Guard<'static, State> {
    come_in(lock(), slot)
}

/// The same with the state locked already. Whoever has the turn keeps it for as
/// long as the lock is held: before, the watchdog may have taken it once more.
#[inline]
pub(crate) fn come_in(
    mut state: Guard<'static, State>,
    slot: &'static Slot,
) -> Guard<'static, State> {
    loop {
        let phase = state.thread(slot.id).phase;
        match phase {
            Phase::Outside => {
                state.outside -= 1;
                state.thread(slot.id).needs_turn = true;
                state.make_ready(slot.id);
                // Whoever has the turn passes it on, or the owner finds it ready.
                ring();
            }
            Phase::Abandoned => {}
            _ => return state,
        }
        let go = wait_for_turn(state, slot);
        state = lock();
        if go == Go::Released || phase == Phase::Abandoned {
            return state;
        }
    }
}

/// The same for what a thread does without blocking. In a process that runs
/// as one world a thread that has left the engine's hands, a loop that polls,
/// need not come back for that: it would only have to leave again.
#[inline]
pub(crate) fn enter_briefly(slot: &'static Slot) -> Guard<'static, State> {
    let mut state = lock();
    if state.stays_outside(slot.id) {
        return state;
    }
    come_in(state, slot)
}

/// Lets the other threads go first.
pub(crate) fn yield_turn(slot: &'static Slot) {
    let mut state = enter_briefly(slot);
    if state.stays_outside(slot.id) {
        drop(state);
        raw::yield_now();
        return;
    }
    let thread = state.thread(slot.id);
    thread.phase = Phase::Ready;
    thread.course.comes_to(Doing::Yield);
    state.step_aside(slot.id);
    pass_on(state, slot);
}

/// The calling managed thread is ready again at once, though nobody woke it.
pub(crate) fn wake_for_nothing(mut state: Guard<'static, State>, slot: &'static Slot) {
    let wake = Wake {
        by: None,
        tag: 0,
        timed_out: false,
        at: state.now,
    };
    state.thread(slot.id).last_wake = Some(wake);
    state.make_ready(slot.id);
    pass_on(state, slot);
}

/// The calling managed thread has come to its end.
pub(crate) fn finish(slot: &'static Slot) {
    let mut state = enter(slot);
    state.end(slot.id);
    let has_turn = state.current == Some(slot.id);
    let next = has_turn.then(|| state.choose());
    handover().leave(state, slot, next);
}

/// The calling managed thread has come to the end of its job, and waits for
/// the next one.
pub(crate) fn rest(slot: &'static Slot) -> Go {
    let mut state = enter(slot);
    state.end(slot.id);
    if slot.berth.is_detached() {
        state.detach(slot.id);
    }
    let next = state.choose();
    handover().pass(state, slot, next)
}
