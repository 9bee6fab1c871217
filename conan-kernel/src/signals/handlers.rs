//! What is done about a signal, as libc has it; and handlers of our own, where
//! the program has none.

use std::ffi::c_int;
use std::mem;
use std::ptr;

use crate::real::Real;

/// The handler is told what was interrupted.
pub(crate) const WITH_CONTEXT: c_int = 4;
/// It runs on the stack that the thread has for signals.
pub(crate) const ON_ITS_STACK: c_int = 0x0800_0000;
/// System calls that it interrupts go on afterwards.
pub(crate) const RESTART: c_int = 0x1000_0000;
/// Another one may come while it runs.
pub(crate) const NOT_BLOCKED: c_int = 0x4000_0000;

/// The handler is forgotten when it is called.
pub(crate) const ONCE: c_int = 0x8000_0000_u32 as c_int;

/// libc's `struct sigaction`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Action {
    pub(crate) handler: usize,
    pub(crate) mask: [u64; 16],
    pub(crate) flags: c_int,
    pub(crate) restorer: usize,
}

impl Action {
    /// What the system does where nobody has said anything.
    pub(crate) const DEFAULT: usize = 0;
    pub(crate) const IGNORE: usize = 1;

    pub(crate) const fn new(handler: usize, flags: c_int) -> Self {
        Self {
            handler,
            mask: [0; 16],
            flags,
            restorer: 0,
        }
    }
}

static REAL_SIGACTION: Real = Real::new(c"sigaction");

/// libc's own.
///
/// # Safety
///
/// As for the function of this name.
pub(crate) unsafe fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    type Function = unsafe extern "C" fn(c_int, *const Action, *mut Action) -> c_int;
    // SAFETY: libc's function of this name and type.
    let real: Function = unsafe { mem::transmute(REAL_SIGACTION.get()) };
    // SAFETY: the caller vouches for it.
    unsafe { real(signal, new, old) }
}

/// What is done about a signal now.
pub(crate) fn present(signal: c_int) -> Action {
    let mut action = Action::new(Action::DEFAULT, 0);
    // SAFETY: there is room for it.
    unsafe { sigaction(signal, ptr::null(), &raw mut action) };
    action
}

/// Handles a signal from now on, unless somebody else does. True if so.
///
/// # Safety
///
/// The handler must be a function of the type that the flags ask for.
pub(crate) unsafe fn handle(signal: c_int, handler: usize, flags: c_int) -> bool {
    let new = Action::new(handler, flags);
    // SAFETY: it is what libc takes it for; the caller vouches for the handler.
    present(signal).handler == Action::DEFAULT
        && unsafe { sigaction(signal, &raw const new, ptr::null_mut()) == 0 }
}

/// Nobody handles a signal any longer.
pub(crate) fn let_be(signal: c_int) {
    let default = Action::new(Action::DEFAULT, 0);
    // SAFETY: as libc takes it.
    unsafe { sigaction(signal, &raw const default, ptr::null_mut()) };
}
