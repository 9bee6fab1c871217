//! Not exact, but never stuck: what to do about a thread that holds the turn
//! and does not come back.

use std::fs;
use std::sync::atomic::Ordering;

use crate::state::{Inexact, Phase, SWITCHES, State};

/// How often the owner looks, in nanoseconds of real time.
pub(crate) const PERIOD_NS: u64 = 20_000_000;

/// Looks without a hand-over before a blocked thread is left alone.
const BLOCKED_LOOKS: u32 = 2;
/// The same for a running one while others are ready.
const BUSY_LOOKS: u32 = 5;
/// The same while nobody else is.
const ALONE_LOOKS: u32 = 100;

/// The owner's watch over the thread that has the turn.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    switches: u32,
    looks: u32,
}

impl Watchdog {
    /// To be called every period. Takes the turn from a thread that keeps it
    /// too long.
    pub(crate) fn look(&mut self, state: &mut State) {
        let switches = SWITCHES.load(Ordering::Relaxed);
        if switches != self.switches {
            self.switches = switches;
            self.looks = 0;
            return;
        }
        self.looks += 1;
        let Some(id) = state.current else { return };
        let number = state.thread(id).slot.number.load(Ordering::Relaxed);
        let running = is_running(number);
        let alone = state.ready.is_empty() && state.yielded.is_empty();
        let patience = match (running, alone) {
            (false, _) => BLOCKED_LOOKS,
            (true, false) => BUSY_LOOKS,
            (true, true) => ALONE_LOOKS,
        };
        if self.looks < patience {
            return;
        }
        self.looks = 0;
        let thread = state.thread(id);
        let tag = thread.tag;
        thread.phase = Phase::Outside;
        state.outside += 1;
        state.inexact.push(Inexact {
            thread: id,
            running,
            tag,
        });
        state.pass_on();
    }
}

/// True if the system says that a thread runs or is ready to.
fn is_running(number: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/self/task/{number}/stat")) else {
        return false;
    };
    // The name before the state is in parentheses and may hold anything.
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.trim_start().chars().next());
    state == Some('R')
}
