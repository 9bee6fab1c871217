//! Threads that have left the engine's hands and go on: they compute, or are in
//! a system call that the engine does not emulate.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::handover::handover;
use crate::me::Inside;
use crate::raw;
use crate::state::{self, BELL, State};
use crate::thread::{Phase, Thread, ThreadId};
use crate::watchdog::{PERIOD_NS, is_running, time_used};
use crate::world::World;

/// What a thread does that is neither blocked nor at its end while its world is
/// at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Running {
    /// It has kept its turn too long, and uses its processor.
    Computes,
    /// It is in a system call that the engine does not emulate.
    InCall,
    /// It yields or asks for the time, again and again.
    Yields,
}

/// How long running threads are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For so much processor time of theirs, all in all.
    pub processor: Duration,
    /// For so much real time in which none of them has used a processor.
    pub call: Duration,
}

/// How far threads that are waited for have come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Their processor time at the last look, in nanoseconds.
    used: Option<u64>,
    /// Processor time since the first look.
    pub(crate) spent: u64,
    /// Looks since they have used a processor.
    pub(crate) idle: u32,
}

impl Progress {
    /// Looks at the threads of the world that go on outside the engine.
    pub(crate) fn look(&mut self, state: &State) {
        let used = state.time_used_outside();
        // One that has come back does not count any more.
        let more = used.saturating_sub(self.used.unwrap_or(used));
        self.used = Some(used);
        self.spent += more;
        self.idle = if more > 0 || state.is_computing() {
            0
        } else {
            self.idle.saturating_add(1)
        };
    }
}

impl World {
    /// What a thread does, if it is neither blocked nor at its end.
    pub fn running(&self, id: ThreadId) -> Option<Running> {
        let _inside = Inside::enter();
        running(state::lock().thread(id))
    }

    /// Waits until one of the threads that have left the engine's hands comes
    /// back. False if there is none, or if they have used up the patience.
    pub fn await_running(&mut self, patience: &mut Patience) -> bool {
        let periods = patience.call.as_nanos() / u128::from(PERIOD_NS);
        let mut progress = Progress::default();
        loop {
            let bell = BELL.load(Ordering::Acquire);
            {
                let _inside = Inside::enter();
                let state = state::lock();
                progress.look(&state);
                let left = patience.processor;
                let left = left.saturating_sub(Duration::from_nanos(progress.spent));
                if !state.ready.is_empty() {
                    patience.processor = left;
                    return true;
                }
                let is_over = left.is_zero() || u128::from(progress.idle) >= periods;
                if state.outside == 0 || is_over {
                    return false;
                }
            }
            raw::wait(&BELL, bell, Some(PERIOD_NS));
        }
    }
}

impl State {
    /// Nanoseconds of processor time of those threads of the world that have
    /// left the engine's hands.
    fn time_used_outside(&self) -> u64 {
        let own = self.members.iter().map(|id| &self.threads[id.0]);
        let outside = own.filter(|thread| thread.phase == Phase::Outside);
        let numbers = outside.filter_map(|thread| handover().number(thread.slot));
        numbers.map(time_used).sum()
    }
}

/// What a thread does, if it is neither blocked nor at its end.
pub(crate) fn running(thread: &Thread) -> Option<Running> {
    match thread.phase {
        Phase::Outside => {
            let number = handover().number(thread.slot);
            Some(if number.is_some_and(is_running) {
                Running::Computes
            } else {
                Running::InCall
            })
        }
        Phase::Ready | Phase::Running => Some(Running::Yields),
        Phase::Blocked(_) | Phase::Finished | Phase::Abandoned => None,
    }
}
