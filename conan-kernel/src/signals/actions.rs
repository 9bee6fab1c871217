//! The handlers that the program sets up. One of ours calls them.
//!
//! A signal may come while the engine is at work, with its lock held, or on a
//! stack of the engine's own. A handler of the program's must not run there: the
//! signal is kept until a thread of the program leaves the engine.
//!
//! The same holds in an executable that has worlds, for a thread that is in the
//! engine at that moment. On a thread that has nothing to do with a world the
//! handler is called at once.

use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use super::handlers::{self, Action, NOT_BLOCKED, ON_ITS_STACK, ONCE, RESTART, WITH_CONTEXT};
use super::info::Info;
use super::{COUNT, bit, masks, pending};
use crate::crash;
use crate::me;
use crate::preload;
use crate::process;
use crate::real::anchored;

/// The program's, where there is one that ours calls. Once made they are kept:
/// a handler may be looking.
static ACTIONS: [AtomicPtr<Action>; COUNT] = [const { AtomicPtr::new(ptr::null_mut()) }; COUNT];

/// True once there is one.
static ARE_ANY: AtomicBool = AtomicBool::new(false);

/// True if a signal from outside could set things going.
pub(crate) fn may_come() -> bool {
    ARE_ANY.load(Ordering::Relaxed)
}

/// True for signals that come of what a thread itself does, and at once; for
/// those that cannot be handled; and for those that the engine uses.
fn is_left_alone(signal: c_int) -> bool {
    const ILLEGAL: c_int = 4;
    const TRAP: c_int = 5;
    const ABORT: c_int = 6;
    const BUS: c_int = 7;
    const FLOATING: c_int = 8;
    const KILL: c_int = 9;
    const SEGMENT: c_int = 11;
    const STACK: c_int = 16;
    const STOP: c_int = 19;
    const SYSTEM: c_int = 31;
    !(1..COUNT as c_int).contains(&signal)
        || matches!(
            signal,
            ILLEGAL | TRAP | ABORT | BUS | FLOATING | KILL | SEGMENT | STACK | STOP | SYSTEM
        )
}

/// True in a managed process, and in an executable that the engine is linked
/// into: there a handler that was set up before the first world may be called in
/// one. False in a process that has loaded the engine and is not managed.
fn is_engines_affair() -> bool {
    process::is_managed() || !preload::is_loaded()
}

fn of_program(signal: c_int) -> Option<&'static Action> {
    let action = ACTIONS.get(signal as usize)?.load(Ordering::Acquire);
    // SAFETY: once made they are kept.
    unsafe { action.as_ref() }
}

/// What is done about a signal, as the program wants it.
pub(super) fn wanted(signal: c_int) -> Action {
    of_program(signal)
        .copied()
        .unwrap_or_else(|| handlers::present(signal))
}

/// True if a signal does nothing.
pub(super) fn is_ignored(signal: c_int) -> bool {
    const CHILD: c_int = 17;
    const CONTINUE: c_int = 18;
    const URGENT: c_int = 23;
    const WINDOW: c_int = 28;
    let nothing_by_default = matches!(signal, CHILD | CONTINUE | URGENT | WINDOW);
    match wanted(signal).handler {
        Action::IGNORE => true,
        Action::DEFAULT => nothing_by_default,
        _ => false,
    }
}

/// True if calls go on that these signals interrupt.
pub(super) fn restarts(bits: u64) -> bool {
    (1..COUNT as c_int)
        .filter(|&signal| bits & bit(signal) != 0)
        .all(|signal| wanted(signal).flags & RESTART != 0)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const Action,
    old: *mut Action,
) -> c_int {
    // SAFETY: the caller's own call.
    if let Some(result) = unsafe { crash::set_up(signal, new, old) } {
        return result;
    }
    if !is_engines_affair() || is_left_alone(signal) {
        // SAFETY: the caller's own call.
        return unsafe { handlers::sigaction(signal, new, old) };
    }
    let before = wanted(signal);
    // SAFETY: the caller gives an action or none.
    let result = match unsafe { new.as_ref() } {
        Some(new) => set_up(signal, new),
        None => 0,
    };
    if result == 0 && !old.is_null() {
        // SAFETY: the caller gives room for the old one.
        unsafe { old.write(before) };
    }
    result
}

fn set_up(signal: c_int, new: &Action) -> c_int {
    let place = &ACTIONS[signal as usize];
    let mut real = *new;
    if matches!(new.handler, Action::DEFAULT | Action::IGNORE) {
        place.store(ptr::null_mut(), Ordering::Release);
    } else {
        let kept = Box::into_raw(Box::new(*new));
        place.store(kept, Ordering::Release);
        ARE_ANY.store(true, Ordering::Relaxed);
        real.handler = came as *const () as usize;
        real.flags = new.flags & !ONCE | WITH_CONTEXT;
        if process::is_managed() || me::slot().is_some() {
            // Managed threads take turns on one stack for signals: a handler
            // that waits needs the stack of its own thread.
            real.flags &= !ON_ITS_STACK;
        }
    }
    // SAFETY: ours is a handler that is told what was interrupted.
    unsafe { handlers::sigaction(signal, &raw const real, ptr::null_mut()) }
}

/// libc's older way, as it is on Linux.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn signal(signal: c_int, handler: usize) -> usize {
    const FAILED: usize = usize::MAX;
    let mut new = Action::new(handler, RESTART);
    if (1..COUNT as c_int).contains(&signal) {
        new.mask[0] = bit(signal);
    }
    let mut old = Action::new(Action::DEFAULT, 0);
    // SAFETY: the caller vouches for the handler.
    match unsafe { sigaction(signal, &raw const new, &raw mut old) } {
        0 => old.handler,
        _ => FAILED,
    }
}

/// A signal has come that the program handles.
unsafe extern "C" fn came(signal: c_int, info: *const Info, context: *mut c_void) {
    let Some(action) = of_program(signal) else {
        return;
    };
    // SAFETY: the system describes the signal.
    let is_own = unsafe { (*info).is_own() };
    if !is_own {
        pending::has_come_from_outside();
    }
    let taker = me::managed().filter(|slot| slot.signals.blocked() & bit(signal) == 0);
    let is_engine_at_work = process::is_managed() || me::is_inside() || me::slot().is_some();
    if taker.is_none() && is_engine_at_work {
        // SAFETY: as above.
        pending::keep_for_anybody(unsafe { *info });
        return;
    }
    if action.flags & ONCE != 0 {
        ACTIONS[signal as usize].store(ptr::null_mut(), Ordering::Release);
        handlers::let_be(signal);
    }
    let itself = if action.flags & NOT_BLOCKED == 0 {
        bit(signal)
    } else {
        0
    };
    if let Some(slot) = taker {
        slot.signals.handles();
    }
    // What the system blocks while a handler runs.
    let _masked = taker.map(|slot| masks::While::blocked(slot, action.mask[0] | itself));
    if action.flags & WITH_CONTEXT != 0 {
        type Handler = unsafe extern "C" fn(c_int, *const Info, *mut c_void);
        // SAFETY: the program's own handler, of the type that its flags say.
        let handler: Handler = unsafe { mem::transmute(action.handler) };
        // SAFETY: called as the system would.
        unsafe { handler(signal, info, context) };
    } else {
        // SAFETY: as above.
        let handler: unsafe extern "C" fn(c_int) = unsafe { mem::transmute(action.handler) };
        // SAFETY: as above.
        unsafe { handler(signal) };
    }
}

/// Looks up libc's function: later it may be a handler that calls.
pub(super) fn prepare() {
    handlers::present(1);
}

pub(super) fn anchor() -> usize {
    anchored(&[
        sigaction as *const () as usize,
        signal as *const () as usize,
    ])
}
