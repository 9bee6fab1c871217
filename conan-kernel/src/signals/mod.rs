//! Signals, in a process that is one world, and in worlds.
//!
//! Many threads of the program's run on one thread of the system's, in turn, so
//! that the system does not know whose signal is whose, nor that a call waits
//! which it could interrupt. What one thread sends to another is therefore
//! kept here until that one has the turn and leaves the engine, as the system
//! itself does it when a thread leaves the system: [`take_own`]. Then the
//! thread sends it to itself, and the system does the rest: handlers, what is
//! done without one, the stack, the mask.
//!
//! What comes from outside comes at any time. The handlers that the program
//! sets up are called by one of our own ([`actions`]); if it finds the engine at
//! work, the signal is kept, too.
//!
//! - [`masks`]: what a thread does not take for now is its own, whichever thread
//!   of the system's it runs on.
//! - [`sending`]: `kill`, `raise`, `pthread_kill`, and who takes a signal.
//! - [`waits`]: `pause`, `sigsuspend`, `sigwait` and their kin.
//! - [`alarms`]: `alarm` and `setitimer`, in virtual time.

mod actions;
mod alarms;
mod handlers;
mod info;
mod masks;
mod pending;
mod sending;
mod waits;

pub(crate) use actions::may_come;
pub(crate) use alarms::Alarm;
#[cfg(target_arch = "x86_64")]
pub(crate) use handlers::NOT_BLOCKED;
pub(crate) use handlers::{
    Action, ON_ITS_STACK, ONCE, RESTART, WITH_CONTEXT, handle, let_be, present,
    sigaction as real_sigaction,
};
pub(crate) use info::Info as RawInfo;
#[cfg(target_arch = "x86_64")]
pub(crate) use masks::change;
pub(crate) use masks::{begin_again, blocked_by_owner, inherit, note_owner};
pub(crate) use pending::{
    Pending, are_any, came_from_outside, forget_outside, interrupts, take_own,
};
pub(crate) use sending::by_number;
pub(crate) use waits::Given;

use crate::real::anchored;

/// How many signals there are, and one more: they are counted from 1.
const COUNT: usize = 65;

/// A signal's bit in a mask.
const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// The addresses of all functions that take libc's place here.
pub(crate) fn anchor() -> usize {
    actions::prepare();
    anchored(&[
        actions::anchor(),
        alarms::anchor(),
        masks::anchor(),
        sending::anchor(),
        waits::anchor(),
    ])
}
