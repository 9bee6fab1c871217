//! Threads that are kept between worlds.
//!
//! Starting a thread takes far longer than most of what a world does. A crew's
//! thread runs one job after the other. Each job finds it as new: its
//! thread-locals are dropped after a job, as at a thread's end, and are then
//! put back to what they were before the first.
//!
//! In a process that is one world the threads that the program starts are kept
//! in the same way, each for a later one of the program's.

use std::arch::asm;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::bottom::Routine;
use crate::executable;
use crate::handover::{Go, Slot, handover};
use crate::interpose::enter_managed;
use crate::lock::Lock;
use crate::lock_holders::clear_ahead;
use crate::me::{self, Inside};
use crate::signals;
use crate::state;
use crate::turn;

/// What a thread runs.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Threads for the worlds of one owner, kept from one to the next.
///
/// A job's panic ends the job and is printed as ever, and that is all: nobody
/// can join a crew's thread.
#[derive(Default)]
pub struct Crew {
    idle: Lock<Vec<Idle>>,
}

/// A thread that has nothing to do, and its name.
pub(crate) type Idle = (String, &'static Slot);

impl Crew {
    /// Nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// All threads that have nothing to do.
    pub(crate) fn take(&self) -> Vec<Idle> {
        std::mem::take(&mut *self.idle.lock())
    }

    pub(crate) fn put(&self, mut rested: Vec<Idle>) {
        let mut idle = self.idle.lock();
        if idle.is_empty() {
            *idle = rested;
        } else {
            idle.append(&mut rested);
        }
    }
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let idle = self.idle.lock().len();
        f.debug_struct("Crew").field("idle", &idle).finish()
    }
}

impl Drop for Crew {
    /// Lets the threads end.
    fn drop(&mut self) {
        let _inside = Inside::enter();
        for (_, slot) in self.idle.lock().drain(..) {
            state::lock().free.insert(slot.id);
            handover().release(slot);
        }
    }
}

/// What a thread of a crew has besides its place.
#[derive(Default)]
pub(crate) struct Berth {
    /// True once the thread is of a crew.
    taken: AtomicBool,
    job: Lock<Option<Job>>,
    destructors: Lock<Vec<(Destructor, usize)>>,
    /// True if there are some. Only the thread itself asks.
    has_destructors: AtomicBool,
    /// What a thread of the program's runs next.
    errand: Lock<Option<Errand>>,
    /// What its last routine returned.
    value: AtomicUsize,
    /// libc's name for it.
    pub(crate) handle: AtomicUsize,
    stack: AtomicUsize,
    /// True if nobody will join it.
    pub(crate) detached: AtomicBool,
}

/// A thread of the program's, as the program wants it.
pub(crate) struct Errand {
    pub(crate) routine: Routine,
    pub(crate) argument: *mut c_void,
}

// SAFETY: made for the thread that takes it.
unsafe impl Send for Errand {}

/// How a thread-local is dropped.
pub(crate) type Destructor = unsafe extern "C" fn(*mut c_void);

impl Berth {
    pub(crate) fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed)
    }

    pub(crate) fn give(&self, job: Job) {
        *self.job.lock() = Some(job);
    }

    pub(crate) fn take(&self) -> Option<Job> {
        self.job.lock().take()
    }

    /// Notes a thread-local that has to be dropped after the job.
    pub(crate) fn at_end(&self, destructor: Destructor, object: *mut c_void) {
        self.destructors.lock().push((destructor, object as usize));
        self.has_destructors.store(true, Ordering::Relaxed);
    }

    fn next_destructor(&self) -> Option<(Destructor, usize)> {
        self.destructors.lock().pop()
    }

    /// Drops the calling thread's thread-locals, as at its end.
    fn drop_locals(&self) {
        if !self.has_destructors.load(Ordering::Relaxed) {
            return;
        }
        self.has_destructors.store(false, Ordering::Relaxed);
        // Dropping one may make another.
        while let Some((destructor, object)) = self.next_destructor() {
            // SAFETY: the thread registered both itself, for its end.
            unsafe { destructor(object as *mut c_void) };
        }
    }

    pub(crate) fn is_detached(&self) -> bool {
        self.detached.load(Ordering::Relaxed)
    }

    /// A thread of the program's, with a stack of this size, will be kept.
    pub(crate) fn keep(&self, stack: usize) {
        self.stack.store(stack, Ordering::Relaxed);
        self.taken.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stack(&self) -> usize {
        self.stack.load(Ordering::Relaxed)
    }

    pub(crate) fn send(&self, errand: Errand) {
        *self.errand.lock() = Some(errand);
    }

    pub(crate) fn value(&self) -> *mut c_void {
        self.value.load(Ordering::Relaxed) as *mut c_void
    }

    /// The thread itself, not only its routine, comes to its end. True if it
    /// was to be kept.
    pub(crate) fn is_left(&self) -> bool {
        self.drop_locals();
        self.taken.swap(false, Ordering::Relaxed)
    }
}

/// The program's keys to data of each thread, and how that is dropped at a
/// thread's end.
static KEYS: Lock<Vec<(u32, Option<Destructor>)>> = Lock::new(Vec::new());

/// libc runs through the keys so often: dropping what is under one may put
/// something under another.
const KEY_ROUNDS: u32 = 4;

unsafe extern "C" {
    fn pthread_getspecific(key: u32) -> *mut c_void;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
}

pub(crate) fn add_key(key: u32, destructor: Option<Destructor>) {
    KEYS.lock().push((key, destructor));
}

pub(crate) fn remove_key(key: u32) {
    KEYS.lock().retain(|(known, _)| *known != key);
}

/// Drops what the calling thread has under keys, as at its end.
fn drop_under_keys() {
    for round in 0..=KEY_ROUNDS {
        let mut is_any = false;
        let mut place = 0;
        // Not under the lock: destructors may add keys.
        while let Some((key, destructor)) = key_at(place) {
            place += 1;
            // SAFETY: the key is the program's, or has just been removed.
            let value = unsafe { pthread_getspecific(key) };
            if value.is_null() {
                continue;
            }
            // SAFETY: as above.
            unsafe { pthread_setspecific(key, std::ptr::null()) };
            if let Some(destructor) = destructor.filter(|_| round < KEY_ROUNDS) {
                is_any = true;
                // SAFETY: what the program wants at a thread's end.
                unsafe { destructor(value) };
            }
        }
        if !is_any {
            return;
        }
    }
}

fn key_at(place: usize) -> Option<(u32, Option<Destructor>)> {
    KEYS.lock().get(place).copied()
}

/// True if threads of the program's can be kept: all that tells an old one
/// from a new one can be put back.
pub(crate) fn can_keep() -> bool {
    static LOCALS_ARE_KNOWN: OnceLock<bool> = OnceLock::new();
    *LOCALS_ARE_KNOWN.get_or_init(|| !executable::has_other_locals())
}

/// The life of a thread of the program's that is kept. Returns what a thread
/// returns to libc.
///
/// # Safety
///
/// The errands must be those of threads that the program has started.
pub(crate) unsafe fn live(slot: &'static Slot, first: Errand) -> *mut c_void {
    let locals = Locals::save();
    let mut errand = first;
    loop {
        let Errand { routine, argument } = errand;
        // SAFETY: the caller vouches for it.
        let value = unsafe { routine(argument) };
        // In a child process it is not managed any more.
        slot.berth.drop_locals();
        if me::slot().is_none() {
            return value;
        }
        drop_under_keys();
        locals.restore();
        let _inside = Inside::enter();
        slot.berth.value.store(value as usize, Ordering::Relaxed);
        let go = turn::rest(slot);
        match slot.berth.errand.lock().take() {
            Some(next) if go == Go::Turn => errand = next,
            _ => return value,
        }
    }
}

/// The life of a crew's thread.
pub(crate) fn serve(slot: &'static Slot) {
    enter_managed(slot);
    slot.berth.taken.store(true, Ordering::Relaxed);
    let locals = Locals::save();
    let blocked = slot.signals.blocked();
    while let Some(job) = slot.berth.take() {
        clear_ahead();
        // The panic has been printed, or was silenced, by the hook.
        let _ = catch_unwind(AssertUnwindSafe(job));
        slot.berth.drop_locals();
        signals::begin_again(slot, blocked);
        locals.restore();
        let _inside = Inside::enter();
        if turn::rest(slot) == Go::Released {
            break;
        }
    }
    let _inside = Inside::enter();
    slot.berth.taken.store(false, Ordering::Relaxed);
    me::dismiss();
    slot.vacate();
}

/// A thread's thread-locals, as they were once.
struct Locals {
    place: Range<usize>,
    bytes: Vec<u8>,
}

impl Locals {
    fn save() -> Self {
        let place = executable::thread_locals();
        let mut bytes = vec![0; place.len()];
        copy(place.start, bytes.as_mut_ptr() as usize, bytes.len());
        Self { place, bytes }
    }

    fn restore(&self) {
        copy(
            self.bytes.as_ptr() as usize,
            self.place.start,
            self.place.len(),
        );
    }
}

/// Copies bytes behind the compiler's back: it may hold that thread-locals do
/// not change in a function that does not change them.
#[inline(never)]
pub(crate) fn copy(from: usize, to: usize, count: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: both ranges are the caller's own: a thread's thread-locals, which
    // are put back when the thread is in the same function with nothing borrowed
    // of them; or static variables, which are only read, by an instruction that
    // the compiler does not know.
    unsafe {
        asm!(
            "rep movsb",
            inout("rsi") from => _,
            inout("rdi") to => _,
            inout("rcx") count => _,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: as above.
    unsafe {
        std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, count);
        asm!("", options(nostack));
    }
}
