//! Threads of the system's that sleep in the kernel while they wait, all on
//! one processor: a hand-over is ten times cheaper there.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Go, Handover, Next, Slot};
use crate::lock::{Guard, Lock};
use crate::me::Inside;
use crate::raw::{self, OwnSignalStack, Processors};
use crate::state::{self, State};
use crate::trap;
use crate::watchdog::{PERIOD_NS, Watchdog};

const PARKED: u32 = 0;
const TURN: u32 = 1;
const TELL: u32 = 2;
const RELEASED: u32 = 3;

/// Where a thread of the system's waits.
#[derive(Default)]
pub(super) struct Seat {
    word: AtomicU32,
    told: AtomicU32,
    /// For whichever thread is at this place.
    signal_stack: OnceLock<Option<OwnSignalStack>>,
}

impl Seat {
    fn say(&self, what: u32) {
        self.word.store(what, Ordering::Release);
        raw::wake_all(&self.word);
    }
}

/// 1 while no managed thread has the turn; the owner of the world waits for it.
static STOPPED: AtomicU32 = AtomicU32::new(1);

/// The processors that the owner may use otherwise, and the one that all
/// threads of its world use.
static PROCESSORS: Lock<Option<(Processors, Processors)>> = Lock::new(None);

/// The owner waits until no managed thread has the turn, and watches over them.
fn await_stop() {
    let mut watchdog = Watchdog::default();
    while STOPPED.load(Ordering::Acquire) == 0 {
        raw::wait(&STOPPED, 0, Some(PERIOD_NS));
        if STOPPED.load(Ordering::Acquire) == 0 {
            let _inside = Inside::enter();
            watchdog.look(&mut state::lock());
        }
    }
}

/// Each managed thread runs on its own.
pub(super) struct OsThreads;

impl Handover for OsThreads {
    fn board(&self) {
        let (all, one) = (Processors::allowed(), Processors::present());
        one.confine();
        *PROCESSORS.lock() = Some((all, one));
    }

    fn adopt(&self, _: &'static Slot) {
        self.board();
        trap::attend();
        STOPPED.store(0, Ordering::Release);
    }

    fn follow(&self) {
        if let Some((_, one)) = *PROCESSORS.lock() {
            one.confine();
        }
        await_stop();
    }

    fn land(&self) {
        if let Some((all, _)) = PROCESSORS.lock().take() {
            all.confine();
        }
    }

    fn run(&self, to: &'static Slot) {
        STOPPED.store(0, Ordering::Release);
        to.os.say(TURN);
        await_stop();
    }

    fn begin(&self, me: &'static Slot) -> Go {
        if let Some((_, one)) = *PROCESSORS.lock() {
            one.confine();
        }
        trap::attend();
        // A thread that overflows its stack says so on this one.
        let stack = me.os.signal_stack.get_or_init(OwnSignalStack::new);
        stack.iter().for_each(OwnSignalStack::set);
        self.wait(me)
    }

    fn wait(&self, me: &'static Slot) -> Go {
        loop {
            match me.os.word.swap(PARKED, Ordering::Acquire) {
                TURN => return Go::Turn,
                RELEASED => return Go::Released,
                TELL => {
                    me.look_at_own_stack();
                    me.os.told.store(1, Ordering::Release);
                    raw::wake_all(&me.os.told);
                }
                _ => raw::wait(&me.os.word, PARKED, None),
            }
        }
    }

    fn pass(&self, state: Guard<'static, State>, me: &'static Slot, to: Next) -> Go {
        // Under the lock: whoever looks finds the next one awake.
        self.bypass(to);
        drop(state);
        self.wait(me)
    }

    fn leave(&self, state: Guard<'static, State>, _: &'static Slot, to: Option<Next>) {
        if let Some(to) = to {
            self.bypass(to);
        }
        drop(state);
    }

    fn bypass(&self, to: Next) {
        if let Some(to) = to {
            to.os.say(TURN);
            return;
        }
        STOPPED.store(1, Ordering::Release);
        raw::wake_all(&STOPPED);
    }

    fn release(&self, slot: &'static Slot) {
        slot.os.say(RELEASED);
    }

    fn tell(&self, slot: &'static Slot) {
        slot.os.told.store(0, Ordering::Relaxed);
        slot.os.say(TELL);
        while slot.os.told.load(Ordering::Acquire) == 0 {
            raw::wait(&slot.os.told, 0, None);
        }
    }

    fn number(&self, slot: &'static Slot) -> Option<u32> {
        let number = slot.number.load(Ordering::Relaxed);
        (number != 0).then_some(number)
    }
}
