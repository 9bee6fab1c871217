//! Virtual time, as managed threads see it.

use std::sync::OnceLock;

use crate::clocks::real_clock;
use crate::handover::Slot;
use crate::me::Inside;
use crate::random;
use crate::raw::Timespec;
use crate::state::{self, State};
use crate::thread::Cause;
use crate::turn::{self, Ended};

pub(crate) const CLOCK_REALTIME: i32 = 0;
pub(crate) const CLOCK_MONOTONIC: i32 = 1;

/// After so many readings without anything else happening a thread is taken
/// to wait for the clock.
const MANY_READINGS: u32 = 1000;

/// In a process that knows nothing of us no sleep is shorter: Linux lets its
/// timers be late by so much. A loop of tiny sleeps would run far more often in
/// a second than it ever does.
const SHORTEST_SLEEP_NS: u64 = 50_000;

/// So often may the turn go on before that takes time. Most tests have long come
/// to a wait by then.
const FREE_TURNS: u32 = 10_000;

/// What it takes afterwards. No thread of the system's wakes another one, and
/// waits, in less time.
const TURN_NS: u64 = 5000;

/// The same while threads are outside, where time is real: so quick are we.
const TURN_BESIDE_REAL_TIME_NS: u64 = 100;

/// The system clock minus the monotonic one, in nanoseconds, the same for the
/// life of the process.
static OFFSET: OnceLock<u64> = OnceLock::new();

pub(crate) fn realtime_offset() -> u64 {
    *OFFSET.get_or_init(|| real_clock(CLOCK_REALTIME).saturating_sub(real_clock(CLOCK_MONOTONIC)))
}

/// The monotonic clock of a process that begins now; the system clock says what
/// it says to everybody.
pub(crate) fn of_process() -> u64 {
    let start = random::start_of_time().unwrap_or_else(|| real_clock(CLOCK_MONOTONIC));
    OFFSET.get_or_init(|| real_clock(CLOCK_REALTIME).saturating_sub(start));
    start
}

/// A reading of the clock. Two readings differ. It is not a scheduling point:
/// which of two threads reads first shows in a nanosecond only.
pub(crate) fn read(slot: &'static Slot) -> u64 {
    let _inside = Inside::enter();
    let mut state = turn::enter_briefly(slot);
    state.now += 1;
    let thread = state.thread(slot.id);
    thread.reads += 1;
    if thread.reads > MANY_READINGS {
        drop(state);
        turn::yield_turn(slot);
        state = state::lock();
        // Others may have read the clock meanwhile.
        state.now += 1;
    }
    state.now
}

impl State {
    /// Threads that always have something to do for each other never let time
    /// move on, though they may do it for as long as a clock says, or until one
    /// that sleeps tells them to stop.
    pub(crate) fn take_time(&mut self) {
        self.turns = self.turns.saturating_add(1);
        if self.turns <= FREE_TURNS {
            return;
        }
        let length = match (self.is_process, self.outside) {
            (_, 1..) => TURN_BESIDE_REAL_TIME_NS,
            (true, 0) => TURN_NS,
            // More, the longer they go on: a tick may be long.
            (false, 0) => TURN_NS << (self.turns / FREE_TURNS - 1).min(20),
        };
        self.creep_by(length);
        if !self.fire_one() && self.now >= self.horizon {
            self.hold_the_busy();
        }
    }

    /// Nobody has anything to do before this time.
    pub(crate) fn jump_to(&mut self, time: u64) {
        self.now = self.now.max(time);
        self.turns = 0;
        self.fire_one();
    }
}

/// Sleeps until a point of virtual time. How much is left of it, if a signal
/// has ended it.
pub(crate) fn sleep(slot: &'static Slot, length: impl FnOnce(u64) -> u64) -> Option<u64> {
    let _inside = Inside::enter();
    let state = turn::enter(slot);
    let mut deadline = length(state.now);
    if state.is_process && deadline > state.now {
        deadline = deadline.max(state.now.saturating_add(SHORTEST_SLEEP_NS));
    }
    match turn::block(state, slot, Cause::Sleep, Some(deadline)) {
        Ended::Interrupted(_) => Some(deadline.saturating_sub(state::lock().now)),
        Ended::TimedOut | Ended::Woken | Ended::Released => None,
    }
}

/// A point of virtual time as `clock_gettime` gives it.
pub(crate) fn as_clock(now: u64, clock: i32) -> Timespec {
    match clock {
        CLOCK_REALTIME => Timespec::from_ns(now.saturating_add(realtime_offset())),
        _ => Timespec::from_ns(now),
    }
}
