//! Calls that wait for a signal.

use std::ffi::c_int;
use std::mem;
use std::ptr;

use super::info::Info;
use super::masks::{self, Mask};
use super::pending;
use crate::handover::Slot;
use crate::interpose::libc_result;
use crate::me::{self, Inside};
use crate::process;
use crate::raw::{self, EAGAIN, EINTR, EINVAL, Timespec};
use crate::real::{Real, anchored};
use crate::state::State;
use crate::thread::{Blocked, Cause, Phase, ThreadId, Wake};
use crate::turn::{self, Ended};

static REAL_PAUSE: Real = Real::new(c"pause");
static REAL_SUSPEND: Real = Real::new(c"sigsuspend");
static REAL_WAIT: Real = Real::new(c"sigwait");
static REAL_WAIT_INFO: Real = Real::new(c"sigwaitinfo");
static REAL_TIMED_WAIT: Real = Real::new(c"sigtimedwait");

type Pause = unsafe extern "C" fn() -> c_int;
type Suspend = unsafe extern "C" fn(*const Mask) -> c_int;
type Wait = unsafe extern "C" fn(*const Mask, *mut c_int) -> c_int;
type WaitInfo = unsafe extern "C" fn(*const Mask, *mut Info) -> c_int;
type TimedWait = unsafe extern "C" fn(*const Mask, *mut Info, *const Timespec) -> c_int;

/// What a thread waits for that takes signals itself, and what it was given.
#[derive(Debug, Default)]
pub(crate) struct Given {
    awaits: u64,
    info: Option<Info>,
}

impl State {
    /// The signals that a thread waits for.
    pub(super) fn awaited_by(&self, id: ThreadId) -> u64 {
        let thread = &self.threads[id.0];
        match thread.phase {
            Phase::Blocked(Blocked {
                cause: Cause::Signal,
                ..
            }) => thread.given.awaits,
            _ => 0,
        }
    }

    /// A thread has got what it waits for.
    pub(super) fn give(&mut self, id: ThreadId, info: Info) {
        let at = self.now;
        self.thread(id).given.info = Some(info);
        let wake = Wake {
            by: None,
            tag: 0,
            timed_out: false,
            at,
        };
        self.end_wait(id, wake);
    }

    /// Gives away what has come, or was there, for those who wait for it. True
    /// if there was anything.
    pub(super) fn give_to_those_who_wait(&mut self) -> bool {
        if self.awaiting == 0 {
            return false;
        }
        for place in 0..self.members.len() {
            let id = self.members[place];
            let wanted = self.awaited_by(id);
            if wanted != 0
                && let Some(info) = pending::take_arrived(wanted).or_else(|| kept_by_system(wanted))
            {
                if !info.is_own() {
                    pending::has_come_from_outside();
                }
                self.give(id, info);
                return true;
            }
        }
        false
    }

    /// Threads that wait for signals, whom somebody outside may send one.
    pub(crate) fn wait_for_signals(&self) -> Vec<ThreadId> {
        if self.awaiting == 0 || !raw::has_children() {
            return Vec::new();
        }
        let waits = |id: &&ThreadId| {
            matches!(
                self.threads[id.0].phase,
                Phase::Blocked(Blocked {
                    cause: Cause::Signal,
                    ..
                })
            )
        };
        self.members.iter().filter(waits).copied().collect()
    }
}

/// A signal of these that the system has kept, because everybody blocks it.
fn kept_by_system(wanted: u64) -> Option<Info> {
    let mut info = mem::MaybeUninit::<Info>::zeroed();
    let found = raw::take_signal(wanted, info.as_mut_ptr().cast());
    // SAFETY: the system has written it; and it is numbers only.
    found.then(|| unsafe { info.assume_init() })
}

/// Waits for one of these signals, or for any other to be handled.
fn wait(slot: &'static Slot, wanted: u64, length: Option<u64>) -> Result<Info, isize> {
    // On the way out of the engine handlers are called.
    let _inside = Inside::enter();
    let mut state = turn::enter(slot);
    if wanted != 0
        && let Some(info) = slot
            .signals
            .take(wanted)
            .or_else(|| pending::take_arrived(wanted))
            .or_else(|| kept_by_system(wanted))
    {
        return Ok(info);
    }
    if length == Some(0) {
        return Err(EAGAIN);
    }
    let deadline = length.map(|length| state.now.saturating_add(length));
    state.thread(slot.id).given = Given {
        awaits: wanted,
        info: None,
    };
    let ended = turn::block(state, slot, Cause::Signal, deadline);
    let mut state = turn::enter(slot);
    match state.thread(slot.id).given.info.take() {
        Some(info) => Ok(info),
        None if ended == Ended::TimedOut => Err(EAGAIN),
        None => Err(EINTR),
    }
}

/// The calling thread, if the engine waits on its behalf: in a managed process. A
/// world does not know who sends signals to its process, so that its threads wait
/// in the system, and the watchdog sees to it. The system gets what has been kept
/// for the thread, of these signals.
fn managed(awaited: u64) -> Option<&'static Slot> {
    let slot = me::managed()?;
    if process::is_managed() {
        return Some(slot);
    }
    while let Some(info) = slot.signals.take(awaited) {
        raw::send_to_self(info.signal, (&raw const info).cast());
    }
    None
}

/// # Safety
///
/// The mask must be one that a caller of these functions gives.
unsafe fn managed_for(mask: *const Mask) -> Option<&'static Slot> {
    // SAFETY: the caller vouches for it.
    managed(unsafe { (*mask)[0] })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn pause() -> c_int {
    let Some(slot) = managed(0) else {
        // SAFETY: libc's function of this name and type.
        let real: Pause = unsafe { mem::transmute(REAL_PAUSE.get()) };
        // SAFETY: has no arguments.
        return unsafe { real() };
    };
    // Nothing comes of it but a handler's call.
    let _ = wait(slot, 0, None);
    libc_result(EINTR) as c_int
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sigsuspend(mask: *const Mask) -> c_int {
    // SAFETY: the caller's own mask, of what it does not wait for.
    let Some(slot) = managed(unsafe { !(*mask)[0] }) else {
        // SAFETY: libc's function of this name and type.
        let real: Suspend = unsafe { mem::transmute(REAL_SUSPEND.get()) };
        // SAFETY: the caller's own call.
        return unsafe { real(mask) };
    };
    let before = slot.signals.blocked();
    let handled = slot.signals.handled();
    // SAFETY: the caller's own mask. What the system has kept comes now.
    masks::set(slot, unsafe { (*mask)[0] });
    if slot.signals.handled() == handled {
        let _ = wait(slot, 0, None);
    }
    masks::set(slot, before);
    libc_result(EINTR) as c_int
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sigwait(mask: *const Mask, signal: *mut c_int) -> c_int {
    // SAFETY: the caller's own mask.
    let Some(slot) = (unsafe { managed_for(mask) }) else {
        // SAFETY: libc's function of this name and type.
        let real: Wait = unsafe { mem::transmute(REAL_WAIT.get()) };
        // SAFETY: the caller's own call.
        return unsafe { real(mask, signal) };
    };
    // SAFETY: the caller's own mask.
    let wanted = unsafe { (*mask)[0] };
    loop {
        // Handlers of others do not end it.
        if let Ok(info) = wait(slot, wanted, None) {
            // SAFETY: the caller wants the number there.
            unsafe { *signal = info.signal };
            return 0;
        }
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sigwaitinfo(mask: *const Mask, info: *mut Info) -> c_int {
    // SAFETY: the caller's own mask.
    if unsafe { managed_for(mask) }.is_none() {
        // SAFETY: libc's function of this name and type.
        let real: WaitInfo = unsafe { mem::transmute(REAL_WAIT_INFO.get()) };
        // SAFETY: the caller's own call.
        return unsafe { real(mask, info) };
    }
    // SAFETY: the caller's own call, which is this special case of the other.
    unsafe { sigtimedwait(mask, info, ptr::null()) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sigtimedwait(
    mask: *const Mask,
    info: *mut Info,
    timeout: *const Timespec,
) -> c_int {
    // SAFETY: the caller's own mask.
    let Some(slot) = (unsafe { managed_for(mask) }) else {
        // SAFETY: libc's function of this name and type.
        let real: TimedWait = unsafe { mem::transmute(REAL_TIMED_WAIT.get()) };
        // SAFETY: the caller's own call.
        return unsafe { real(mask, info, timeout) };
    };
    // SAFETY: the caller gives a time or none.
    let length = match unsafe { timeout.as_ref() }.map(|timeout| timeout.to_ns()) {
        Some(None) => return libc_result(EINVAL) as c_int,
        Some(length) => length,
        None => None,
    };
    // SAFETY: the caller's own mask.
    match wait(slot, unsafe { (*mask)[0] }, length) {
        Ok(found) => {
            if !info.is_null() {
                // SAFETY: the caller gives room for it.
                unsafe { info.write(found) };
            }
            found.signal
        }
        Err(error) => libc_result(error) as c_int,
    }
}

pub(super) fn anchor() -> usize {
    anchored(&[
        pause as *const () as usize,
        sigsuspend as *const () as usize,
        sigwait as *const () as usize,
        sigwaitinfo as *const () as usize,
        sigtimedwait as *const () as usize,
    ])
}
