//! Whose turn it is to have a world, and staying aboard between two of them.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::handover::handover;
use crate::me::{self, Inside};
use crate::signals;

/// One world at a time: the next owner waits.
static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    static STAYS: Cell<bool> = const { Cell::new(false) };
}

/// While this lives, the calling thread runs where managed threads do, and
/// nobody else can have a world.
#[derive(Debug)]
pub(crate) struct Aboard(Option<MutexGuard<'static, ()>>);

impl Aboard {
    pub(crate) fn take_turn() -> Option<MutexGuard<'static, ()>> {
        let stays = STAYS.get();
        (!stays).then(|| TURN.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The calling thread comes aboard where a managed thread has the turn, and
    /// goes on when nobody has it any more.
    pub(crate) fn follow() -> Self {
        let turn = Self::take_turn();
        let _inside = Inside::enter();
        handover().follow();
        Self(turn)
    }

    /// To be called with what [`take_turn`](Self::take_turn) has returned.
    pub(crate) fn go(turn: Option<MutexGuard<'static, ()>>) -> Self {
        if turn.is_some() {
            let _inside = Inside::enter();
            signals::note_owner();
            handover().board();
        } else {
            // It may be long since the last world.
            handover().attend();
        }
        Self(turn)
    }
}

impl Drop for Aboard {
    fn drop(&mut self) {
        if self.0.is_some() {
            let _inside = Inside::enter();
            handover().land();
        }
    }
}

/// True if the calling thread is the owner of the open world, or of the next one,
/// and so runs where managed threads do.
pub(crate) fn is_owner() -> bool {
    STAYS.get() || me::is_owner()
}

/// Runs code that opens one world after the other: to change over to where
/// managed threads run, and back, can take longer than all that a world does.
/// Meanwhile nobody else can open one.
pub fn stay_aboard<R>(code: impl FnOnce() -> R) -> R {
    struct Staying {
        before: bool,
        _aboard: Aboard,
    }
    impl Drop for Staying {
        fn drop(&mut self) {
            STAYS.set(self.before);
        }
    }
    if crate::available().is_err() {
        return code();
    }
    let _staying = Staying {
        _aboard: Aboard::go(Aboard::take_turn()),
        before: STAYS.replace(true),
    };
    code()
}
