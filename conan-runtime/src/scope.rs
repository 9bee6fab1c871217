//! What a fragment can ask for without naming it: the clock of its sequence.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::hot_spot::Spots;

/// The sequence that a thread belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ticktime: Duration,
    pub(crate) spots: Spots,
}

thread_local! {
    static SCOPE: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

/// Makes the calling thread part of a sequence, for the rest of its life.
pub(crate) fn enter(scope: Scope) {
    SCOPE.with_borrow_mut(|slot| *slot = Some(scope));
}

/// The clock's present tick.
///
/// # Panics
///
/// On a thread that the script did not start: such a thread has no clock.
pub fn time() -> u64 {
    with_scope("time()", |scope| scope.clock.time())
}

/// The length of `n` ticks.
///
/// # Panics
///
/// On a thread that the script did not start: such a thread has no clock.
pub fn ticks(n: u32) -> Duration {
    with_scope("ticks()", |scope| scope.ticktime * n)
}

/// The hot spots of the calling thread's sequence, and the present tick.
pub(crate) fn spots() -> Option<(Spots, u64)> {
    SCOPE.with_borrow(|scope| {
        let scope = scope.as_ref()?;
        Some((Arc::clone(&scope.spots), scope.clock.time()))
    })
}

fn with_scope<R>(what: &str, look: impl FnOnce(&Scope) -> R) -> R {
    SCOPE.with_borrow(|scope| match scope {
        Some(scope) => look(scope),
        None => {
            panic!("{what} works on the threads of a script only; read it there and pass it on")
        }
    })
}
