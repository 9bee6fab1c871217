//! Who sends a signal, and who takes it.

use std::ffi::{c_int, c_void};
use std::mem;
use std::process;
use std::sync::atomic::Ordering;

use super::info::{Code, Info};
use super::{actions, bit};
use crate::handover::{Slot, handover};
use crate::interpose::libc_result;
use crate::lock::Guard;
use crate::me::{self, Inside};
use crate::raw;
use crate::real::{Real, anchored};
use crate::state::{self, ANY_MANAGED, State};
use crate::thread::{Blocked, Cause, Phase, Reason, ThreadId, Wake};
use crate::turn;

static REAL_KILL: Real = Real::new(c"kill");
static REAL_RAISE: Real = Real::new(c"raise");
static REAL_THREAD_KILL: Real = Real::new(c"pthread_kill");
static REAL_QUEUE: Real = Real::new(c"sigqueue");
static REAL_THREAD_QUEUE: Real = Real::new(c"pthread_sigqueue");

type Kill = unsafe extern "C" fn(c_int, c_int) -> c_int;
type Raise = unsafe extern "C" fn(c_int) -> c_int;
type ThreadKill = unsafe extern "C" fn(usize, c_int) -> c_int;
type Queue = unsafe extern "C" fn(c_int, c_int, usize) -> c_int;
type ThreadQueue = unsafe extern "C" fn(usize, c_int, usize) -> c_int;

/// There is no such thread.
const NONE: c_int = 3;

unsafe extern "C" {
    fn pthread_self() -> usize;
}

impl State {
    /// Sends a signal to the process. `sender` is the thread of it that does.
    pub(super) fn send_to_process(&mut self, sender: Option<&'static Slot>, info: Info) {
        let wanted = bit(info.signal);
        if let Some(sender) = sender
            && sender.signals.blocked() & wanted == 0
        {
            self.send_to(sender.id, info);
            return;
        }
        let waits = |id: &&ThreadId| self.awaited_by(**id) & wanted != 0;
        let takes = |id: &&ThreadId| {
            let thread = &self.threads[id.0];
            thread.phase != Phase::Finished && thread.slot.signals.blocked() & wanted == 0
        };
        let members = &self.members;
        let taker = members.iter().find(waits);
        match taker.or_else(|| members.iter().find(takes)).copied() {
            Some(taker) => self.send_to(taker, info),
            // Nobody takes it: the system keeps it.
            None => raw::send_to_process(info.signal, (&raw const info).cast()),
        }
    }

    /// Sends a signal to a thread.
    fn send_to(&mut self, id: ThreadId, info: Info) {
        let wanted = bit(info.signal);
        if self.awaited_by(id) & wanted != 0 {
            self.give(id, info);
            return;
        }
        let thread = self.thread(id);
        let (slot, phase) = (thread.slot, thread.phase);
        let is_blocked = slot.signals.blocked() & wanted != 0;
        if !is_blocked && actions::is_ignored(info.signal) {
            return;
        }
        slot.signals.keep(info);
        // Outside of a managed process, one that waits for signals does so in the
        // system.
        let waits_really = phase == Phase::Outside && !self.is_process;
        if is_blocked && !waits_really {
            return;
        }
        if phase == Phase::Outside {
            // It runs elsewhere, and may not come here for long.
            if let Some(number) = handover().number(slot)
                && let Some(info) = slot.signals.take(wanted)
            {
                raw::send_to_thread(number, info.signal, (&raw const info).cast());
            }
            return;
        }
        self.interrupt(id, actions::restarts(wanted));
    }

    /// A thread that waits goes on, to take a signal.
    pub(super) fn interrupt(&mut self, id: ThreadId, restarts: bool) {
        let at = self.now;
        let thread = self.thread(id);
        let Phase::Blocked(Blocked { cause, .. }) = thread.phase else {
            return;
        };
        if cause == Cause::Park {
            return;
        }
        thread.interrupted = Some(restarts);
        let wake = Wake {
            by: None,
            tag: 0,
            timed_out: false,
            at,
        };
        self.end_wait(id, wake);
    }
}

/// The calling thread sends something; nothing if the engine has no part in that.
/// A thread that is not managed may send something to one that is.
fn sends(
    signal: c_int,
    code: Code,
    value: usize,
    send: impl FnOnce(&mut State, Option<&'static Slot>, Info) -> Option<c_int>,
) -> Option<c_int> {
    let is_sender_known = me::managed().is_some() || me::is_bystander();
    if !is_sender_known || !ANY_MANAGED.load(Ordering::Relaxed) {
        return None;
    }
    let info = Info::new(signal, code, value)?;
    let sender = me::managed();
    // It takes its own when it leaves.
    let _inside = Inside::enter();
    let mut state: Guard<'static, State> = match sender {
        Some(sender) => turn::enter_briefly(sender),
        None => state::lock(),
    };
    send(&mut state, sender, info)
}

fn to_process(signal: c_int, code: Code, value: usize) -> Option<c_int> {
    sends(signal, code, value, |state, sender, info| {
        state.send_to_process(Some(sender?), info);
        Some(0)
    })
}

fn to_thread(thread: usize, signal: c_int, code: Code, value: usize) -> Option<c_int> {
    sends(signal, code, value, |state, sender, info| {
        // SAFETY: has no arguments.
        let is_self = thread == unsafe { pthread_self() };
        let id = match sender {
            Some(sender) if is_self => Some(sender.id),
            _ => state.by_handle(thread),
        };
        state.send_to_member(sender, id, info)
    })
}

/// The same by the system's number of the thread.
fn to_number(number: u32, signal: c_int) -> Option<c_int> {
    sends(signal, Code::Thread, 0, |state, sender, info| {
        let id = state.by_thread_number(number);
        state.send_to_member(sender, id, info)
    })
}

impl State {
    /// Sends a signal to a managed thread, if it is one; a managed process has no
    /// others.
    fn send_to_member(
        &mut self,
        sender: Option<&'static Slot>,
        id: Option<ThreadId>,
        info: Info,
    ) -> Option<c_int> {
        let Some(id) = id else {
            return self.is_process.then_some(NONE);
        };
        self.send_to(id, info);
        if sender.is_none() {
            // What the owner of a world does is part of the run.
            if !me::is_owner() {
                self.note_inexact_once(id, Reason::Signal);
            }
            state::ring();
        }
        Some(0)
    }

    fn by_handle(&self, handle: usize) -> Option<ThreadId> {
        let is_it = |id: &&ThreadId| {
            let thread = &self.threads[id.0];
            thread.slot.berth.handle.load(Ordering::Relaxed) == handle
                && thread.phase != Phase::Finished
        };
        self.members.iter().find(is_it).copied()
    }

    fn by_thread_number(&self, number: u32) -> Option<ThreadId> {
        let is_it = |id: &&ThreadId| {
            let thread = &self.threads[id.0];
            thread.slot.number.load(Ordering::Relaxed) == number && thread.phase != Phase::Finished
        };
        self.members.iter().find(is_it).copied()
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn kill(process: c_int, signal: c_int) -> c_int {
    if process == process::id() as c_int
        && let Some(result) = to_process(signal, Code::User, 0)
    {
        return result;
    }
    // SAFETY: libc's function of this name and type.
    let real: Kill = unsafe { mem::transmute(REAL_KILL.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(process, signal) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn raise(signal: c_int) -> c_int {
    // SAFETY: has no arguments.
    let own = unsafe { pthread_self() };
    if let Some(result) = to_thread(own, signal, Code::Thread, 0) {
        return result;
    }
    // SAFETY: libc's function of this name and type.
    let real: Raise = unsafe { mem::transmute(REAL_RAISE.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(signal) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_kill(thread: usize, signal: c_int) -> c_int {
    if let Some(result) = to_thread(thread, signal, Code::Thread, 0) {
        return result;
    }
    // SAFETY: libc's function of this name and type.
    let real: ThreadKill = unsafe { mem::transmute(REAL_THREAD_KILL.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(thread, signal) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sigqueue(process: c_int, signal: c_int, value: usize) -> c_int {
    if process == process::id() as c_int
        && let Some(result) = to_process(signal, Code::Queue, value)
    {
        return result;
    }
    // SAFETY: libc's function of this name and type.
    let real: Queue = unsafe { mem::transmute(REAL_QUEUE.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(process, signal, value) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_sigqueue(
    thread: usize,
    signal: c_int,
    value: usize,
) -> c_int {
    if let Some(result) = to_thread(thread, signal, Code::Queue, value) {
        return result;
    }
    // SAFETY: libc's function of this name and type.
    let real: ThreadQueue = unsafe { mem::transmute(REAL_THREAD_QUEUE.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(thread, signal, value) }
}

/// The system's number of a thread is that of its own thread of the system's,
/// whichever it runs on.
#[unsafe(no_mangle)]
pub(super) extern "C" fn gettid() -> c_int {
    let own = me::managed().map(|slot| slot.number.load(Ordering::Relaxed));
    own.unwrap_or_else(raw::thread_number) as c_int
}

/// The calls of this file that have a number and no function in older libcs:
/// their result, as libc gives it.
pub(crate) fn by_number(number: isize, args: [usize; 6]) -> Option<isize> {
    let [a0, a1, a2, ..] = args;
    let (thread, signal) = match number {
        raw::GETTID => return me::managed().map(|_| gettid() as isize),
        raw::KILL if a0 == process::id() as usize => {
            return to_process(a1 as c_int, Code::User, 0).map(|result| result as isize);
        }
        raw::TKILL => (a0, a1),
        raw::TGKILL if a0 == process::id() as usize => (a1, a2),
        _ => return None,
    };
    let error = to_number(thread as u32, signal as c_int)?;
    Some(libc_result(-(error as isize)) as isize)
}

pub(super) fn anchor() -> usize {
    anchored(&[
        kill as *const () as usize,
        raise as *const () as usize,
        pthread_kill as *const () as usize,
        sigqueue as *const () as usize,
        pthread_sigqueue as *const () as usize,
        gettid as *const () as usize,
    ])
}

// Handles are addresses to libc.
const _: () = assert!(size_of::<usize>() == size_of::<*const c_void>());
