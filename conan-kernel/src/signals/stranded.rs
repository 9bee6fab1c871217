//! Signals to the process that the running thread blocks.
//!
//! One thread of the system's runs many of the program's, with the mask of the one
//! that runs. While that one blocks a signal that was sent to the process, no thread
//! of the system's takes it, although another thread of the program would: natively
//! a process ends on SIGTERM if but one of its threads does not block it. So the
//! watchdog takes the signals that people end processes with.

use super::handlers::Action;
use super::pending::{self, kept_by_system};
use super::{actions, bit};
use crate::raw::{self, SignalMask};
use crate::state::State;
use crate::thread::Phase;

const HANGUP: i32 = 1;
const INTERRUPT: i32 = 2;
const QUIT: i32 = 3;
const TERMINATE: i32 = 15;

/// To be called by the watchdog, which blocks all signals, from time to time.
pub(crate) fn take_stranded(state: &State) {
    for signal in [HANGUP, INTERRUPT, QUIT, TERMINATE] {
        if !state.is_taken_by_any(bit(signal)) {
            continue;
        }
        let Some(info) = kept_by_system(bit(signal)) else {
            continue;
        };
        match actions::wanted(signal).handler {
            Action::IGNORE => {}
            Action::DEFAULT => {
                // It ends the process.
                SignalMask::of(!bit(signal)).restore();
                raw::send_to_self(signal, (&raw const info).cast());
                SignalMask::of(u64::MAX).restore();
            }
            // The thread that leaves the engine next calls the handler.
            _ => pending::keep_for_anybody(info),
        }
    }
}

impl State {
    /// True if a thread of the program would take a signal if it ran.
    fn is_taken_by_any(&self, signal: u64) -> bool {
        let is_taken_by_owner =
            self.open && !self.is_process && super::blocked_by_owner() & signal == 0;
        is_taken_by_owner
            || self.members.iter().any(|id| {
                let thread = &self.threads[id.0];
                thread.phase != Phase::Finished && thread.slot.signals.blocked() & signal == 0
            })
    }
}
