//! How control passes from one thread to another: parked OS threads, all on
//! one processor.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::lock::Lock;
use crate::me::Inside;
use crate::raw;
use crate::state::ThreadId;

const PARKED: u32 = 0;
const TURN: u32 = 1;
const TELL: u32 = 2;
const RELEASED: u32 = 3;

/// How control passes to a managed thread and away from it.
pub(crate) trait Handover: Send + Sync {
    /// Waits for the turn. To be called by the thread itself, without the
    /// engine's lock.
    fn park(&self) -> Go;

    /// Gives the turn to a parked thread, or to one that is about to park.
    fn unpark(&self);

    /// Lets a parked thread go on without the engine.
    fn release(&self);

    /// The backtrace of a parked thread, taken by itself.
    fn backtrace(&self) -> Option<String>;
}

/// Why a parked thread goes on.
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
    pub(crate) handover: Box<dyn Handover>,
}

impl Slot {
    pub(crate) fn new(id: ThreadId) -> &'static Self {
        Box::leak(Box::new(Self {
            id,
            number: AtomicU32::new(0),
            handover: Box::new(OsThread::default()),
        }))
    }
}

/// A thread of the system's that sleeps in the kernel while it is parked.
#[derive(Default)]
struct OsThread {
    word: AtomicU32,
    told: AtomicU32,
    backtrace: Lock<Option<String>>,
}

impl Handover for OsThread {
    fn park(&self) -> Go {
        loop {
            match self.word.swap(PARKED, Ordering::Acquire) {
                TURN => return Go::Turn,
                RELEASED => return Go::Released,
                TELL => self.tell(),
                _ => raw::wait(&self.word, PARKED, None),
            }
        }
    }

    fn unpark(&self) {
        self.word.store(TURN, Ordering::Release);
        raw::wake_all(&self.word);
    }

    fn release(&self) {
        self.word.store(RELEASED, Ordering::Release);
        raw::wake_all(&self.word);
    }

    fn backtrace(&self) -> Option<String> {
        self.told.store(0, Ordering::Relaxed);
        self.word.store(TELL, Ordering::Release);
        raw::wake_all(&self.word);
        // Resolving names for the first time reads the whole debug info.
        for _ in 0..100 {
            if self.told.load(Ordering::Acquire) == 1 {
                break;
            }
            raw::wait(&self.told, 0, Some(100_000_000));
        }
        self.backtrace.lock().take()
    }
}

impl OsThread {
    fn tell(&self) {
        let _inside = Inside::enter();
        let backtrace = std::backtrace::Backtrace::force_capture().to_string();
        *self.backtrace.lock() = Some(backtrace);
        self.told.store(1, Ordering::Release);
        raw::wake_all(&self.told);
    }
}
