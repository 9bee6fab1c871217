//! What is said when a signal that comes of a mistake ends the process: an abort, an
//! overflow of the stack, an access to memory that is not there.
//!
//! std reports an overflow of the stack, and aborts; it does not report other
//! mistakes. So there is a handler for these signals here. It calls the program's own first,
//! that of std for instance. If that has given up, or there is none, it writes to
//! standard error what is known of the thread, and its innermost frames ([`trace`]).
//! Then the signal ends the process, as it would have done.
//!
//! The handler may find any lock held, the allocator's too: it takes none that it
//! could wait for, and allocates nothing.

#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "frames are taken on x86-64 only")
)]
mod frames;
mod text;
#[cfg(target_arch = "x86_64")]
mod trace;

use std::ffi::{c_int, c_void};
use std::fmt;
use std::mem;
use std::process;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

pub use self::frames::Frame;
use self::text::Text;
use crate::lock::Guard;
use crate::me::{self, Inside};
use crate::raw;
use crate::signals::{
    Action, ON_ITS_STACK, ONCE, RawInfo, WITH_CONTEXT, let_be, present, real_sigaction,
};
use crate::state::{self, State};

/// The signals, and what they are called.
const SIGNALS: [(c_int, &str); 5] = [
    (4, "SIGILL"),
    (ABORT, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (11, "SIGSEGV"),
];

const ABORT: c_int = 6;

/// A report takes so much of the stack at most, in bytes, without the frames.
const STACK: usize = 32 * 1024;

/// So often the state's lock is asked for, a millisecond apart.
const TRIES: u32 = 20;

const MILLISECOND_NS: u64 = 1_000_000;

/// A process that a signal is about to end.
#[derive(Debug, Clone, Copy)]
pub struct Crash<'c> {
    /// The name of the signal.
    pub signal: &'static str,
    /// The name of the thread, if it is a managed one and has a name.
    pub thread: Option<&'c str>,
    /// What it said of itself last, by [`set_tag`](crate::set_tag).
    pub tag: u64,
}

/// Says what there is to say of a crash.
pub trait Reporter: Sync {
    /// What has happened, in one line. Called in the handler of a signal: it must not
    /// allocate, nor wait for a lock.
    fn describe(&self, crash: &Crash<'_>, text: &mut dyn fmt::Write) -> fmt::Result;

    /// The frames of the program's own code, from the innermost on, before they are
    /// shown. Called in a copy of the process that has crashed, which has this one
    /// thread and is killed after a while: it may wait and allocate.
    fn see(&self, _frames: &mut Vec<Frame>) {}

    /// Called in that copy at last, unless the thread has crashed in the engine.
    fn end(&self) {}
}

/// The reporter, and the process that it is for.
static REPORTER: OnceLock<(u32, &'static dyn Reporter)> = OnceLock::new();

/// The program's own handlers; null for what the system does by itself. Once made
/// they are kept: a handler may be looking.
static THEIRS: [AtomicPtr<Action>; 12] = [const { AtomicPtr::new(ptr::null_mut()) }; 12];

/// True once a thread reports.
static IS_REPORTING: AtomicBool = AtomicBool::new(false);

/// The number of the thread that does.
static REPORTING: AtomicU32 = AtomicU32::new(0);

/// Has crashes of this process reported on standard error from now on.
pub fn report_crashes(reporter: &'static dyn Reporter) {
    if REPORTER.set((process::id(), reporter)).is_err() {
        return;
    }
    for (signal, _) in SIGNALS {
        let action = present(signal);
        // std looks whether there is a handler for these two already, and has none of
        // its own then. It comes to `set_up` later.
        let is_for_std = matches!(signal, 7 | 11) && action.handler == Action::DEFAULT;
        if action.handler != Action::IGNORE && !is_for_std {
            take_over(signal, &action);
        }
    }
}

/// The program sets up a handler. Nothing if that is none of ours.
///
/// # Safety
///
/// As for `sigaction`.
pub(crate) unsafe fn set_up(signal: c_int, new: *const Action, old: *mut Action) -> Option<c_int> {
    let is_ours = SIGNALS.iter().any(|(known, _)| *known == signal);
    if !is_ours || REPORTER.get()?.0 != process::id() {
        return None;
    }
    let before = match theirs(signal) {
        Some(action) => *action,
        None if is_taken_over(signal) => Action::new(Action::DEFAULT, 0),
        None => present(signal),
    };
    // SAFETY: the caller gives an action or none.
    match unsafe { new.as_ref() } {
        None => {}
        Some(new) if new.handler == Action::IGNORE => {
            THEIRS[signal as usize].store(ptr::null_mut(), Ordering::Release);
            // SAFETY: the caller's own call.
            unsafe { real_sigaction(signal, new, ptr::null_mut()) };
        }
        Some(new) => take_over(signal, new),
    }
    if !old.is_null() {
        // SAFETY: the caller gives room for the old one.
        unsafe { old.write(before) };
    }
    Some(0)
}

fn is_taken_over(signal: c_int) -> bool {
    present(signal).handler == crashed as *const () as usize
}

fn theirs(signal: c_int) -> Option<&'static Action> {
    let action = THEIRS[signal as usize].load(Ordering::Acquire);
    // SAFETY: once made they are kept.
    unsafe { action.as_ref() }
}

/// Ours is called from now on, and then theirs, if it is one. Allocates only if so:
/// std takes its own away in its handler.
fn take_over(signal: c_int, new: &Action) {
    let mut real = Action::new(crashed as *const () as usize, WITH_CONTEXT);
    let place = &THEIRS[signal as usize];
    if new.handler == Action::DEFAULT {
        place.store(ptr::null_mut(), Ordering::Release);
        // An abort is reported on the stack of the thread, which has more room. If
        // it comes of an overflow, that is another one already.
        if signal != ABORT {
            real.flags |= ON_ITS_STACK;
        }
    } else {
        place.store(Box::into_raw(Box::new(*new)), Ordering::Release);
        real.mask = new.mask;
        real.flags |= new.flags & !ONCE;
    }
    // SAFETY: ours is a handler that is told what was interrupted.
    unsafe { real_sigaction(signal, &raw const real, ptr::null_mut()) };
}

/// A signal has come.
unsafe extern "C" fn crashed(signal: c_int, info: *const RawInfo, context: *mut c_void) {
    if let Some(action) = theirs(signal) {
        if action.flags & ONCE != 0 {
            THEIRS[signal as usize].store(ptr::null_mut(), Ordering::Release);
        }
        // SAFETY: the program's own handler, with what the system has told of the
        // signal.
        unsafe { call(action, signal, info, context) };
        if theirs(signal).is_some() {
            // It has seen to it.
            return;
        }
    }
    report(signal);
    let_be(signal);
    // SAFETY: the system describes the signal.
    if unsafe { !(*info).comes_of_an_instruction() } {
        // It comes again as soon as the handler returns, and ends the process. What
        // an instruction has caused comes again by itself.
        raw::send_to_self(signal, info.cast());
    }
}

/// # Safety
///
/// The handler must be one, and the rest what the system tells a handler.
unsafe fn call(action: &Action, signal: c_int, info: *const RawInfo, context: *mut c_void) {
    if action.flags & WITH_CONTEXT != 0 {
        type Handler = unsafe extern "C" fn(c_int, *const RawInfo, *mut c_void);
        // SAFETY: a handler of the type that its flags say.
        let handler: Handler = unsafe { mem::transmute(action.handler) };
        // SAFETY: the caller vouches for the rest.
        unsafe { handler(signal, info, context) };
    } else {
        // SAFETY: as above.
        let handler: unsafe extern "C" fn(c_int) = unsafe { mem::transmute(action.handler) };
        // SAFETY: as above.
        unsafe { handler(signal) };
    }
}

fn report(signal: c_int) {
    let Some(&(of, reporter)) = REPORTER.get() else {
        return;
    };
    // What std gives a thread that is not managed is too small.
    if raw::room_on_signal_stack().is_some_and(|room| room < STACK) {
        return;
    }
    // A child that the program has made by `fork` is not reported.
    if of != process::id() || is_another_reporting() {
        return;
    }
    // For good: the process is about to end.
    mem::forget(Inside::enter());
    let state = locked_state();
    let slot = me::slot();
    let thread = slot
        .zip(state.as_deref())
        .map(|(slot, state)| &state.threads[slot.id.0]);
    let name = SIGNALS.iter().find(|(known, _)| *known == signal);
    let crash = Crash {
        signal: name.map_or("a signal", |(_, name)| name),
        thread: thread.and_then(|thread| thread.name.as_deref()),
        tag: thread.map_or(0, |thread| thread.tag),
    };
    let mut text = Text::default();
    // What does not fit is cut off.
    let _ = reporter.describe(&crash, &mut text);
    raw::write(STANDARD_ERROR, text.bytes());
    #[cfg(target_arch = "x86_64")]
    trace::in_copy(reporter, || {
        if let Some(state) = state {
            drop(state);
            reporter.end();
        }
    });
}

const STANDARD_ERROR: i32 = 2;

/// True if another thread is at it. That one ends the process: the calling one
/// waits for that, unless it is itself that has crashed once more.
fn is_another_reporting() -> bool {
    let own = raw::thread_number();
    if IS_REPORTING.swap(true, Ordering::Relaxed) {
        while REPORTING.load(Ordering::Relaxed) != own {
            raw::pause(MILLISECOND_NS);
        }
        return true;
    }
    REPORTING.store(own, Ordering::Relaxed);
    false
}

/// The state, unless the thread that holds it has crashed.
fn locked_state() -> Option<Guard<'static, State>> {
    for _ in 0..TRIES {
        if let Some(state) = state::try_lock() {
            return Some(state);
        }
        raw::pause(MILLISECOND_NS);
    }
    None
}
