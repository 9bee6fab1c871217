//! The signals that a thread does not take for now.
//!
//! The system keeps them for its own threads, of which one runs many of the
//! program's. Each of those has its own here; the hand-over sees to it that the
//! system has the mask of the one that runs.

use std::ffi::c_int;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use super::pending;
use crate::aboard;
use crate::handover::{Slot, handover};
use crate::me;
use crate::process;
use crate::raw::SignalMask;
use crate::real::{Real, anchored};
use crate::trap;

/// libc's `sigset_t`; Linux has 64 signals.
pub(super) type Mask = [u64; 16];

type SetMask = unsafe extern "C" fn(c_int, *const Mask, *mut Mask) -> c_int;
type GetPending = unsafe extern "C" fn(*mut Mask) -> c_int;

static REAL_THREAD_MASK: Real = Real::new(c"pthread_sigmask");
static REAL_PROCESS_MASK: Real = Real::new(c"sigprocmask");
static REAL_PENDING: Real = Real::new(c"sigpending");

/// What the owner of the open world blocks.
static BLOCKED_BY_OWNER: AtomicU64 = AtomicU64::new(0);

/// The calling thread is about to become the owner of a world.
pub(crate) fn note_owner() {
    BLOCKED_BY_OWNER.store(SignalMask::present(), Ordering::Relaxed);
}

/// What the owner of the open world blocks.
pub(crate) fn blocked_by_owner() -> u64 {
    BLOCKED_BY_OWNER.load(Ordering::Relaxed)
}

/// A managed thread begins with what its own thread of the system's has.
pub(crate) fn inherit(slot: &'static Slot) {
    slot.signals.begin(SignalMask::present());
    handover().blocks(slot, slot.signals.blocked());
}

/// The calling managed thread blocks these from now on, as the system knows
/// already.
fn note(slot: &'static Slot, blocked: u64) {
    slot.signals.blocked.store(blocked, Ordering::Relaxed);
    handover().blocks(slot, blocked);
}

/// The calling managed thread blocks just these from now on.
pub(super) fn set(slot: &'static Slot, blocked: u64) {
    let blocked = trap::without_ours(blocked);
    note(slot, blocked);
    SignalMask::of(blocked).restore();
}

/// The calling managed thread, which has come to the end of a job, begins the
/// next one with the mask that it had at first, and without signals.
pub(crate) fn begin_again(slot: &'static Slot, blocked: u64) {
    if slot.signals.blocked() != blocked {
        set(slot, blocked);
    }
    if pending::are_any() {
        slot.signals.begin(blocked);
    }
}

/// While this lives, the calling managed thread, whose handler runs, blocks
/// more, as the system knows.
pub(super) struct While {
    slot: &'static Slot,
    before: u64,
}

impl While {
    pub(super) fn blocked(slot: &'static Slot, more: u64) -> Self {
        let before = slot.signals.blocked();
        note(slot, before | more);
        Self { slot, before }
    }
}

impl Drop for While {
    fn drop(&mut self) {
        note(self.slot, self.before);
    }
}

/// Changes what the calling thread blocks, by a function that has the system do
/// so.
pub(crate) fn change<R>(call: impl FnOnce() -> R) -> R {
    let result = call();
    if let Some(slot) = me::managed() {
        note(slot, SignalMask::present());
    } else if !process::is_managed() && aboard::is_owner() {
        let blocked = SignalMask::present();
        BLOCKED_BY_OWNER.store(blocked, Ordering::Relaxed);
        handover().owner_blocks(blocked);
    }
    if !me::is_inside() && pending::are_any() {
        pending::take_own();
    }
    result
}

/// # Safety
///
/// As for the two functions below.
unsafe fn set_mask(real: &Real, how: c_int, new: *const Mask, old: *mut Mask) -> c_int {
    const UNBLOCK: c_int = 1;
    // SAFETY: libc's functions of these names and types.
    let real: SetMask = unsafe { mem::transmute(real.get()) };
    // SAFETY: the caller's own mask, or none. Linux has no more than these.
    let first = unsafe { new.cast::<u64>().as_ref() };
    let mask = first.filter(|_| how != UNBLOCK).map(|&first| {
        let mut mask = [0; 16];
        mask[0] = trap::without_ours(first);
        mask
    });
    let new = mask.as_ref().map_or(new, |mask| &raw const *mask);
    // SAFETY: the caller's own call.
    change(|| unsafe { real(how, new, old) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(how: c_int, new: *const Mask, old: *mut Mask) -> c_int {
    // SAFETY: the caller's own call.
    unsafe { set_mask(&REAL_THREAD_MASK, how, new, old) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(how: c_int, new: *const Mask, old: *mut Mask) -> c_int {
    // SAFETY: the caller's own call.
    unsafe { set_mask(&REAL_PROCESS_MASK, how, new, old) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigpending(mask: *mut Mask) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: GetPending = unsafe { mem::transmute(REAL_PENDING.get()) };
    // SAFETY: the caller's own call.
    let result = unsafe { real(mask) };
    if result == 0
        && let Some(slot) = me::managed()
    {
        // SAFETY: libc has filled it.
        unsafe { (*mask)[0] |= slot.signals.bits() | pending::arrived() };
    }
    result
}

pub(super) fn anchor() -> usize {
    anchored(&[
        pthread_sigmask as *const () as usize,
        sigprocmask as *const () as usize,
        sigpending as *const () as usize,
    ])
}
