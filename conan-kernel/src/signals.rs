//! Handlers of signals, where the program has none of its own.

use std::ffi::c_int;
use std::mem;
use std::ptr;

/// The handler is told what was interrupted.
pub(crate) const WITH_CONTEXT: c_int = 4;
/// It runs on the stack that the thread has for signals.
pub(crate) const ON_ITS_STACK: c_int = 0x0800_0000;
/// System calls that it interrupts go on afterwards.
pub(crate) const RESTART: c_int = 0x1000_0000;
/// Another one may come while it runs.
#[cfg(target_arch = "x86_64")]
pub(crate) const NOT_BLOCKED: c_int = 0x4000_0000;

/// libc's `struct sigaction`.
#[repr(C)]
struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

unsafe extern "C" {
    fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int;
}

/// Handles a signal from now on, unless somebody else does. True if so.
///
/// # Safety
///
/// The handler must be a function of the type that the flags ask for.
pub(crate) unsafe fn handle(signal: c_int, handler: usize, flags: c_int) -> bool {
    // SAFETY: a list of numbers, all of which may be 0.
    let mut old: Action = unsafe { mem::zeroed() };
    let new = Action {
        handler,
        mask: [0; 16],
        flags,
        restorer: 0,
    };
    // SAFETY: both are what libc takes them for; the caller vouches for the
    // handler.
    unsafe {
        sigaction(signal, ptr::null(), &raw mut old) == 0
            && old.handler == 0
            && sigaction(signal, &raw const new, ptr::null_mut()) == 0
    }
}

/// Nobody handles a signal any longer.
#[cfg(target_arch = "x86_64")]
pub(crate) fn let_be(signal: c_int) {
    // SAFETY: a list of numbers, all of which may be 0: the default.
    let default: Action = unsafe { mem::zeroed() };
    // SAFETY: as libc takes it.
    unsafe { sigaction(signal, &raw const default, ptr::null_mut()) };
}
