//! A search, as the strategy of a world.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use conan_kernel::{Kind, Point, Strategy};

use crate::search::{Fixed, Search};
use crate::trace::Trace;

/// Takes the decisions of one execution, and writes them down. To be used as
/// the strategy of the one world that an execution runs in.
#[derive(Clone)]
pub struct Schedule(Arc<Mutex<Deciding>>);

struct Deciding {
    search: Box<dyn Search>,
    trace: Trace,
    /// The number of the execution.
    execution: u64,
    /// How many waits may end for no reason, in an execution and from now on.
    spurious: u32,
    spurious_left: u32,
}

impl Schedule {
    /// What this search decides. In each execution, `spurious` waits may end
    /// for no reason.
    pub fn new(search: impl Search + 'static, spurious: u32) -> Self {
        Self(Arc::new(Mutex::new(Deciding {
            search: Box::new(search),
            trace: Trace::default(),
            execution: 0,
            spurious,
            spurious_left: spurious,
        })))
    }

    /// Lets so many waits of an execution end for no reason.
    pub(crate) fn allow_spurious(&self, spurious: u32) {
        self.deciding().spurious = spurious;
    }

    /// To be called before the execution, with its number.
    pub(crate) fn begin(&self, execution: u64) {
        let mut deciding = self.deciding();
        deciding.execution = execution;
        deciding.search.begin(execution);
        deciding.trace.clear();
        deciding.spurious_left = deciding.spurious;
    }

    /// To be called before the same execution is made once more: what the
    /// last one came to does not count.
    pub fn again(&self) {
        let execution = self.deciding().execution;
        self.begin(execution);
    }

    /// How many waits of an execution may end for no reason.
    pub fn spurious(&self) -> u32 {
        self.deciding().spurious
    }

    /// What has been decided in the present execution, or in the last one.
    pub fn trace(&self) -> Trace {
        self.deciding().trace.clone()
    }

    /// Looks at the search and at what it has decided.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&mut dyn Search, &Trace) -> R) -> R {
        let mut deciding = self.deciding();
        let Deciding { search, trace, .. } = &mut *deciding;
        look(&mut **search, trace)
    }

    fn deciding(&self) -> MutexGuard<'_, Deciding> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same as a strategy that is no slower than need be: nobody can look
    /// at the schedule as long as that lives, which is as long as its world.
    pub fn in_hand(self) -> InHand {
        let empty = Deciding {
            search: Box::new(Fixed),
            trace: Trace::default(),
            execution: 0,
            spurious: 0,
            spurious_left: 0,
        };
        let deciding = std::mem::replace(&mut *self.deciding(), empty);
        InHand {
            schedule: self,
            deciding,
        }
    }
}

/// A [`Schedule`] that a world has to itself.
#[derive(Debug)]
pub struct InHand {
    schedule: Schedule,
    deciding: Deciding,
}

impl Drop for InHand {
    fn drop(&mut self) {
        std::mem::swap(&mut *self.schedule.deciding(), &mut self.deciding);
    }
}

impl std::fmt::Debug for Deciding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deciding").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schedule").finish_non_exhaustive()
    }
}

impl Deciding {
    fn decide(&mut self, point: &Point<'_>) -> usize {
        let chosen = self.search.decide(point).min(point.options.len() - 1);
        if point.kind == Kind::Spurious {
            self.spurious_left -= chosen as u32;
        }
        self.trace.push(point, chosen);
        chosen
    }
}

impl Strategy for InHand {
    fn decide(&mut self, point: &Point<'_>) -> usize {
        self.deciding.decide(point)
    }

    fn preempts(&self) -> bool {
        true
    }

    fn is_spurious(&self) -> bool {
        self.deciding.spurious_left > 0
    }

    fn has_more(&self) -> bool {
        self.deciding.search.has_more()
    }
}

impl Strategy for Schedule {
    fn decide(&mut self, point: &Point<'_>) -> usize {
        self.deciding().decide(point)
    }

    fn preempts(&self) -> bool {
        true
    }

    fn is_spurious(&self) -> bool {
        self.deciding().spurious_left > 0
    }

    fn has_more(&self) -> bool {
        self.deciding().search.has_more()
    }
}
