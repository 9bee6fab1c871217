//! Signals that were sent and not yet taken.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::info::Info;
use super::{COUNT, actions, bit};
use crate::handover::Slot;
use crate::lock::Lock;
use crate::me;
use crate::process;
use crate::raw::{self, SignalMask};
use crate::real::{errno, set_errno};
use crate::state::{self, State};
use crate::thread::{Phase, ThreadId};

/// True once a signal has been kept for anybody.
static ARE_ANY: AtomicBool = AtomicBool::new(false);

/// True once a signal has come from outside, and a handler was called for it.
static FROM_OUTSIDE: AtomicBool = AtomicBool::new(false);

/// What a thread was sent, and what it does not take for now.
#[derive(Default)]
pub(crate) struct Pending {
    /// A bit for each signal that it does not take.
    pub(super) blocked: AtomicU64,
    bits: AtomicU64,
    signals: Lock<Vec<Info>>,
    /// How many handlers have been called.
    handled: AtomicU32,
}

impl Pending {
    pub(crate) fn blocked(&self) -> u64 {
        self.blocked.load(Ordering::Relaxed)
    }

    pub(super) fn bits(&self) -> u64 {
        self.bits.load(Ordering::Relaxed)
    }

    pub(super) fn handled(&self) -> u32 {
        self.handled.load(Ordering::Relaxed)
    }

    /// A handler is called.
    pub(super) fn handles(&self) {
        self.handled.fetch_add(1, Ordering::Relaxed);
    }

    /// Keeps a signal. One of which there is one already is the same, but for
    /// those that count.
    pub(super) fn keep(&self, info: Info) {
        const FIRST_THAT_COUNTS: c_int = 32;
        ARE_ANY.store(true, Ordering::Relaxed);
        let mut signals = self.signals.lock();
        let is_same = |known: &Info| known.signal == info.signal;
        if info.signal >= FIRST_THAT_COUNTS || !signals.iter().any(is_same) {
            signals.push(info);
        }
        self.bits.fetch_or(bit(info.signal), Ordering::Relaxed);
    }

    /// The first of a set of signals, which is its thread's now.
    pub(super) fn take(&self, wanted: u64) -> Option<Info> {
        if self.bits() & wanted == 0 {
            return None;
        }
        let mut signals = self.signals.lock();
        let is_wanted = |info: &Info| bit(info.signal) & wanted != 0;
        let place = signals.iter().position(is_wanted)?;
        let info = signals.remove(place);
        let bits = signals.iter().fold(0, |all, info| all | bit(info.signal));
        self.bits.store(bits, Ordering::Relaxed);
        Some(info)
    }

    /// Another thread is at this place.
    pub(crate) fn begin(&self, blocked: u64) {
        self.blocked.store(blocked, Ordering::Relaxed);
        self.signals.lock().clear();
        self.bits.store(0, Ordering::Relaxed);
    }
}

/// Room for one signal that came while the engine was at work. It may be a
/// handler that puts it there: nothing is allocated, and nobody waits.
struct Arrived {
    stage: AtomicU8,
    info: UnsafeCell<Option<Info>>,
}

const EMPTY: u8 = 0;
const BUSY: u8 = 1;
const FULL: u8 = 2;

// SAFETY: who has brought the stage to `BUSY` has the cell to himself.
unsafe impl Sync for Arrived {}

static ARRIVED: [Arrived; COUNT] = [const {
    Arrived {
        stage: AtomicU8::new(EMPTY),
        info: UnsafeCell::new(None),
    }
}; COUNT];

/// A bit for each that is full.
static ARRIVED_BITS: AtomicU64 = AtomicU64::new(0);

impl Arrived {
    fn goes(&self, from: u8) -> bool {
        let (there, here) = (Ordering::Acquire, Ordering::Relaxed);
        self.stage.compare_exchange(from, BUSY, there, here).is_ok()
    }
}

/// Keeps a signal for whoever leaves the engine next and takes it.
pub(super) fn keep_for_anybody(info: Info) {
    let room = &ARRIVED[info.signal as usize];
    if !room.goes(EMPTY) {
        return;
    }
    // SAFETY: it is ours alone, by its stage.
    unsafe { *room.info.get() = Some(info) };
    room.stage.store(FULL, Ordering::Release);
    ARE_ANY.store(true, Ordering::Relaxed);
    ARRIVED_BITS.fetch_or(bit(info.signal), Ordering::Release);
    state::ring();
}

pub(super) fn arrived() -> u64 {
    ARRIVED_BITS.load(Ordering::Acquire)
}

/// The first of a set of signals that came for anybody.
pub(super) fn take_arrived(wanted: u64) -> Option<Info> {
    let found = arrived() & wanted;
    if found == 0 {
        return None;
    }
    let signal = found.trailing_zeros() as c_int + 1;
    let room = &ARRIVED[signal as usize];
    if !room.goes(FULL) {
        return None;
    }
    ARRIVED_BITS.fetch_and(!bit(signal), Ordering::Relaxed);
    // SAFETY: it is ours alone, by its stage.
    let info = unsafe { (*room.info.get()).take() };
    room.stage.store(EMPTY, Ordering::Release);
    info
}

/// True if there may be something to take.
#[inline]
pub(crate) fn are_any() -> bool {
    ARE_ANY.load(Ordering::Relaxed)
}

/// The calling thread leaves the engine, and takes what it was sent.
#[cold]
pub(crate) fn take_own() {
    let before = errno();
    // A handler may change what is blocked, and may wait.
    while let Some(info) = next_of_caller() {
        raw::send_to_self(info.signal, (&raw const info).cast());
    }
    set_errno(before);
}

fn next_of_caller() -> Option<Info> {
    if let Some(slot) = me::slot() {
        return next_of(slot);
    }
    // The owner of a world, or a thread that is not managed, which was in the
    // engine when the signal came. In a managed process these are the engine's.
    if process::is_managed() || arrived() == 0 {
        return None;
    }
    take_arrived(!SignalMask::present())
}

fn next_of(slot: &Slot) -> Option<Info> {
    let wanted = !slot.signals.blocked();
    let own = slot.signals.take(wanted);
    own.or_else(|| take_arrived(wanted))
}

/// Whether a wait of a thread is over before it begins, because it has a
/// signal to take; and if so, whether the call goes on after that.
pub(crate) fn interrupts(slot: &Slot) -> Option<bool> {
    if !are_any() {
        return None;
    }
    let bits = (slot.signals.bits() | arrived()) & !slot.signals.blocked();
    (bits != 0).then(|| actions::restarts(bits))
}

/// A handler is called for a signal from outside.
pub(super) fn has_come_from_outside() {
    FROM_OUTSIDE.store(true, Ordering::Relaxed);
}

/// A world is opened: what came before is none of it.
pub(crate) fn forget_outside() {
    FROM_OUTSIDE.store(false, Ordering::Relaxed);
}

/// True if a handler was called for a signal from outside.
pub(crate) fn came_from_outside() -> bool {
    FROM_OUTSIDE.load(Ordering::Relaxed)
}

impl State {
    /// Nobody can go on: somebody who waits takes what has come from outside.
    /// True if there is one.
    pub(crate) fn take_signals(&mut self) -> bool {
        if !self.is_process {
            return false;
        }
        self.give_to_those_who_wait() || are_any() && self.interrupt_for_arrived()
    }

    fn interrupt_for_arrived(&mut self) -> bool {
        let arrived = arrived();
        if arrived == 0 {
            return false;
        }
        let takes = |&id: &ThreadId| {
            let thread = &self.threads[id.0];
            matches!(thread.phase, Phase::Blocked(_))
                && arrived & !thread.slot.signals.blocked() != 0
        };
        let Some(id) = self.members.iter().copied().find(takes) else {
            return false;
        };
        let bits = arrived & !self.thread(id).slot.signals.blocked();
        self.interrupt(id, actions::restarts(bits));
        true
    }
}
