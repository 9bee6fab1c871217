//! How control passes from one thread to another. *Who* is next is decided
//! elsewhere.

#[cfg(target_arch = "x86_64")]
mod carrier;
#[cfg(target_arch = "x86_64")]
mod context;
mod os;

use std::env;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::bottom::Bottom;
use crate::clocks::real_clock;
use crate::crew::Berth;
use crate::lock::{Guard, Lock};
use crate::lock_holders::{Evidence, LockQuery};
use crate::me::Inside;
use crate::polling::Looks;
use crate::raw;
use crate::signals::Pending;
use crate::stack::Stack;
use crate::state::State;
use crate::thread::ThreadId;

/// How control passes to a managed thread and away from it.
pub(crate) trait Handover: Sync {
    /// The calling thread becomes the owner of a world.
    fn board(&self);

    /// The calling thread, the first of its process, is a managed one from now
    /// on, and has the turn.
    fn adopt(&self, me: &'static Slot);

    /// The calling thread becomes the owner of that process. Returns when nobody
    /// has the turn any more.
    fn follow(&self);

    /// The owner of a world is not any longer.
    fn land(&self);

    /// The owner gives the turn away. Returns when nobody has it any more.
    fn run(&self, to: &'static Slot);

    /// A new thread waits for its first turn.
    fn begin(&self, me: &'static Slot) -> Go {
        self.wait(me)
    }

    /// Waits for the turn. Called by the thread itself, without the turn and
    /// without the engine's lock.
    fn wait(&self, me: &'static Slot) -> Go;

    /// Passes the turn on, to the owner of the world if there is nobody else,
    /// and waits for it to come back.
    fn pass(&self, state: Guard<'static, State>, me: &'static Slot, to: Next) -> Go;

    /// The thread goes on without the engine, to its end. Passes the turn on
    /// if there is anything in `to`.
    fn leave(&self, state: Guard<'static, State>, me: &'static Slot, to: Option<Next>);

    /// Passes the turn of a thread on that does not come back.
    fn bypass(&self, to: Next);

    /// Lets a thread that waits go on without the engine.
    fn release(&self, slot: &'static Slot);

    /// Makes a thread that waits look at its own stack. Only the owner asks.
    fn tell(&self, slot: &'static Slot);

    /// The system's number of the thread whose processor time this one uses;
    /// nothing if the system has not let it begin yet.
    fn number(&self, slot: &'static Slot) -> Option<u32>;

    /// A thread blocks these signals from now on. If it runs, the system knows
    /// that already.
    fn blocks(&self, _slot: &'static Slot, _signals: u64) {}

    /// Another world is open, with the same owner: threads that keep their turn too
    /// long are noticed from now on.
    fn attend(&self) {}

    /// The owner of the open world, which runs, blocks these signals from now on,
    /// as the system knows already.
    fn owner_blocks(&self, _signals: u64) {}

    /// Processor time of the calling managed thread, in nanoseconds.
    fn time_used(&self, _me: &'static Slot) -> u64 {
        real_clock(THREAD_TIME)
    }
}

/// The clock of the calling thread of the system's.
pub(crate) const THREAD_TIME: c_int = 3;

/// Who has the turn next: nobody if none is ready.
pub(crate) type Next = Option<&'static Slot>;

/// Why a thread goes on that waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    /// It is its turn.
    Turn,
    /// It is no longer managed.
    Released,
}

/// A managed thread's place in the engine. Lives as long as the process: an
/// abandoned thread waits here for ever.
pub(crate) struct Slot {
    pub(crate) id: ThreadId,
    /// The system's number of the thread, once it runs.
    pub(crate) number: AtomicU32,
    pub(crate) bottom: Bottom,
    /// True while it is in something that comes to its end by itself.
    in_system: AtomicBool,
    pub(crate) berth: Berth,
    pub(crate) looks: Looks,
    pub(crate) signals: Pending,
    lock_query: LockQuery,
    /// True while a thread uses it.
    taken: AtomicBool,
    os: os::Seat,
    #[cfg(target_arch = "x86_64")]
    carried: carrier::Seat,
    backtrace: Lock<Option<String>>,
}

impl Slot {
    pub(crate) fn new(id: ThreadId) -> &'static Self {
        Box::leak(Box::new(Self {
            id,
            number: AtomicU32::new(0),
            bottom: Bottom::default(),
            in_system: AtomicBool::new(false),
            berth: Berth::default(),
            looks: Looks::default(),
            signals: Pending::default(),
            lock_query: LockQuery::default(),
            taken: AtomicBool::new(true),
            os: os::Seat::default(),
            #[cfg(target_arch = "x86_64")]
            carried: carrier::Seat::default(),
            backtrace: Lock::default(),
        }))
    }

    /// Another thread takes the place of one that has come to its end; that
    /// one may still be on its last steps.
    pub(crate) fn take(&self) {
        while self.taken.swap(true, Ordering::Acquire) {
            raw::yield_now();
        }
        self.number.store(0, Ordering::Relaxed);
    }

    /// Runs something of the calling thread that comes to its end by itself,
    /// however long that takes on a busy machine.
    pub(crate) fn in_system<R>(&self, call: impl FnOnce() -> R) -> R {
        self.in_system.store(true, Ordering::Relaxed);
        let result = call();
        self.in_system.store(false, Ordering::Relaxed);
        result
    }

    pub(crate) fn is_in_system(&self) -> bool {
        self.in_system.load(Ordering::Relaxed)
    }

    /// The thread will not come here again.
    pub(crate) fn vacate(&self) {
        self.taken.store(false, Ordering::Release);
    }

    /// The backtrace of a thread that waits, taken by itself.
    pub(crate) fn backtrace(&'static self) -> Option<String> {
        handover().tell(self);
        self.backtrace.lock().take()
    }

    /// What the stack of a thread that waits says about the lock at this
    /// address.
    pub(crate) fn evidence(&'static self, lock: usize) -> Evidence {
        self.lock_query.ask(lock);
        handover().tell(self);
        self.lock_query.evidence()
    }

    /// Looks at the calling thread's own stack, as the owner wants.
    fn look_at_own_stack(&self) {
        let _inside = Inside::enter();
        if self.lock_query.answer(&self.bottom) {
            return;
        }
        *self.backtrace.lock() = Some(Stack::here(&self.bottom).text());
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Slot").field(&self.id).finish()
    }
}

/// The way that this process uses, the same from the first thread to the last.
pub(crate) fn handover() -> &'static dyn Handover {
    static CHOSEN: OnceLock<&'static dyn Handover> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let asked = env::var("CONAN_HANDOVER").ok();
        #[cfg(target_arch = "x86_64")]
        if asked.as_deref() != Some("threads") && context::is_possible() {
            return &carrier::Carriers;
        }
        let _ = asked;
        &os::OsThreads
    })
}
