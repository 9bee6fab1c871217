//! Where a thread's own frames end and libc's begin.
//!
//! Naming the two frames of libc below a thread's routine may mean to unpack
//! libc's whole debug information, many times the work of everything else in
//! a backtrace. So a backtrace ends above them.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::raw::Nearby;

/// What libc calls in a new thread.
pub(crate) type Routine = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// What a new managed thread begins with. The assembly below knows the place
/// of the first field.
#[repr(C)]
pub(crate) struct Start {
    /// The address of the return address to libc.
    pub(crate) bottom: usize,
    pub(crate) routine: Routine,
    pub(crate) argument: *mut c_void,
    pub(crate) slot: &'static crate::handover::Slot,
    /// True if it is managed from its first instruction on.
    pub(crate) enters: bool,
    pub(crate) nearby: Option<Nearby>,
}

/// Where the return address to libc is on a thread's stack; 0 if unknown.
#[derive(Default)]
pub(crate) struct Bottom(AtomicUsize);

impl Bottom {
    pub(crate) fn set(&self, address: usize) {
        self.0.store(address, Ordering::Relaxed);
    }

    /// True for an address on the calling thread's own stack, if it is known
    /// where that is.
    pub(crate) fn has_own(&self, address: usize) -> bool {
        let here = 0_u8;
        let top = &raw const here as usize;
        (top..self.0.load(Ordering::Relaxed)).contains(&address)
    }

    /// Shows the words on top of the calling thread's own stack, so many at
    /// most; none if it is not known where that ends.
    pub(crate) fn words(&self, most: usize, mut see: impl FnMut(usize)) {
        let here = 0_usize;
        let words = self.words_from(&raw const here as usize);
        words.take(most).for_each(|(_, word)| see(word));
    }

    /// Shows the words on the calling thread's own stack with their addresses,
    /// from an address in a live frame on; none if it is not known where the
    /// stack ends.
    pub(crate) fn each_word(&self, from: usize, mut see: impl FnMut(usize, usize)) {
        let here = 0_usize;
        // What is above the calling function's frame is not in use.
        let from = from.max(&raw const here as usize);
        self.words_from(from)
            .for_each(|(address, word)| see(address, word));
    }

    /// The words of the calling thread's own stack, from an address on that is
    /// in the calling function's frame or in an outer one.
    fn words_from(&self, from: usize) -> impl Iterator<Item = (usize, usize)> {
        let from = from.next_multiple_of(size_of::<usize>());
        let words = (from..self.0.load(Ordering::Relaxed)).step_by(size_of::<usize>());
        words.map(|address| {
            // SAFETY: from the calling function's frame down to the first one,
            // all of the stack is mapped. Whatever is there is a number.
            let word = unsafe { (address as *const usize).read_volatile() };
            (address, word)
        })
    }

    /// Runs code of the thread itself that walks its stack.
    pub(crate) fn hidden<R>(&self, walk: impl FnOnce() -> R) -> R {
        let address = self.0.load(Ordering::Relaxed) as *mut usize;
        if address.is_null() {
            return walk();
        }
        // SAFETY: the word is the calling thread's own, in a frame below, and
        // is needed when that frame returns only. An address of 0 is where
        // stacks end.
        let below = unsafe { address.replace(0) };
        let result = walk();
        // SAFETY: as above.
        unsafe { address.write(below) };
        result
    }
}

/// Where a managed thread begins: remembers the bottom of its stack.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn begin(start: *mut c_void) -> *mut c_void {
    std::arch::naked_asm!(
        "mov [rdi], rsp",
        "jmp {begin}",
        begin = sym crate::interpose::begin,
    )
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use crate::interpose::begin;
