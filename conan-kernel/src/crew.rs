//! Threads that are kept between worlds.
//!
//! Starting a thread takes far longer than most of what a world does. A crew's
//! thread runs one job after the other. Each job finds it as new: its
//! thread-locals are dropped after a job, as at a thread's end, and are then
//! put back to what they were before the first.

use std::arch::asm;
use std::ffi::c_void;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::executable;
use crate::handover::{Go, Slot, handover};
use crate::interpose::enter_managed;
use crate::lock::Lock;
use crate::me::{self, Inside};
use crate::state;

/// What a thread runs.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Threads for the worlds of one owner, kept from one to the next.
///
/// A job's panic ends the job and is printed as ever, and that is all: nobody
/// can join a crew's thread.
#[derive(Default)]
pub struct Crew {
    idle: Lock<Vec<(String, &'static Slot)>>,
}

impl Crew {
    /// Nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A thread of this name that has nothing to do.
    pub(crate) fn take(&self, name: &str) -> Option<&'static Slot> {
        let mut idle = self.idle.lock();
        let index = idle.iter().position(|(of, _)| of == name)?;
        Some(idle.swap_remove(index).1)
    }

    pub(crate) fn put(&self, rested: impl IntoIterator<Item = (String, &'static Slot)>) {
        self.idle.lock().extend(rested);
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
}

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
    }

    fn next_destructor(&self) -> Option<(Destructor, usize)> {
        self.destructors.lock().pop()
    }
}

/// The life of a crew's thread.
pub(crate) fn serve(slot: &'static Slot) {
    enter_managed(slot);
    slot.berth.taken.store(true, Ordering::Relaxed);
    let locals = Locals::save();
    while let Some(job) = slot.berth.take() {
        // The panic has been printed, or was silenced, by the hook.
        let _ = catch_unwind(AssertUnwindSafe(job));
        // Dropping one may make another.
        while let Some((destructor, object)) = slot.berth.next_destructor() {
            // SAFETY: the thread registered both itself, for its end.
            unsafe { destructor(object as *mut c_void) };
        }
        locals.restore();
        let _inside = Inside::enter();
        if state::rest(slot) == Go::Released {
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
fn copy(from: usize, to: usize, count: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: both ranges are the caller's own. What is put back was there when
    // the thread was in the same function, with nothing borrowed of it.
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
