//! A thread's registers, stack and thread-locals, set aside so that another
//! thread of the system's can go on with them.

use std::arch::{asm, naked_asm};
use std::cell::UnsafeCell;
use std::ffi::c_ulong;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::raw;

/// What there is of a thread that does not run. The assembly below knows the
/// places of the fields.
#[repr(C)]
#[derive(Default)]
pub(super) struct Context {
    /// The stack, with the registers on top.
    stack: UnsafeCell<usize>,
    /// The thread pointer, by which a thread finds its thread-locals.
    thread: UnsafeCell<usize>,
    /// 1 while the other fields are true.
    saved: AtomicU32,
    /// 1 once the thread's own thread of the system's shall go on with it.
    native: AtomicU32,
    /// 1 once somebody has had to wait until it was saved.
    wanted: AtomicU32,
}

// SAFETY: the cells are written by whoever runs the context, read by whoever
// goes on with it; `saved` is between the two.
unsafe impl Sync for Context {}

/// `wrfsbase` may be used in user mode.
const FSGSBASE: c_ulong = 2;
const AT_HWCAP2: c_ulong = 26;

/// How long to wait for a context that is being saved before looking again.
const IN_TRANSIT_NS: u64 = 50_000;

unsafe extern "C" {
    fn getauxval(kind: c_ulong) -> c_ulong;
}

/// True if the processor and the system let a program change its own thread
/// pointer.
pub(super) fn is_possible() -> bool {
    // SAFETY: a look at a table that does not change.
    unsafe { getauxval(AT_HWCAP2) & FSGSBASE != 0 }
}

impl Context {
    pub(super) const fn new() -> Self {
        Self {
            stack: UnsafeCell::new(0),
            thread: UnsafeCell::new(0),
            saved: AtomicU32::new(0),
            native: AtomicU32::new(0),
            wanted: AtomicU32::new(0),
        }
    }

    /// Makes a context that begins with a call of `routine`, on a stack of its
    /// own. It has the calling thread's thread-locals, and must leave them
    /// alone: they are in use elsewhere.
    pub(super) fn prepare<T>(
        &self,
        routine: extern "sysv64" fn(&'static T) -> !,
        argument: &'static T,
    ) {
        const LINES: usize = 4096;
        // In the order in which `switch` takes them.
        let frame = [
            FLOATING,
            0,
            0,
            routine as usize,
            ptr::from_ref(argument) as usize,
            0,
            0,
            enter as *const () as usize,
        ];
        let stack: &'static mut [MaybeUninit<u128>] = Box::leak(Box::new_uninit_slice(LINES));
        let top = stack.as_mut_ptr_range().end.cast::<[usize; 8]>();
        self.bind();
        // SAFETY: the frame fits into the stack, which nobody else has, and
        // nobody goes on with the context before it has been saved.
        unsafe {
            let place = top.sub(1);
            place.write(frame);
            *self.stack.get() = place as usize;
        }
        self.saved.store(1, Ordering::Release);
    }

    /// Remembers the calling thread's thread pointer.
    pub(super) fn bind(&self) {
        let pointer: usize;
        // SAFETY: on x86-64 the thread's control block begins with its own
        // address.
        unsafe { asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly)) };
        // SAFETY: nobody goes on with a context that its thread has not saved.
        unsafe { *self.thread.get() = pointer };
    }

    /// The calling thread of the system's sets its context aside, and sleeps
    /// until it is told to go on with it by [`reclaim`](Self::reclaim).
    ///
    /// Returns on another thread of the system's, if one goes on with it
    /// before.
    pub(super) fn set_aside(&self) {
        // SAFETY: the context is the caller's own, as it has bound it.
        unsafe { set_aside(self) };
    }

    /// Waits until somebody can go on with it.
    #[inline]
    pub(super) fn await_saved(&self) {
        while self.saved.load(Ordering::Acquire) == 0 {
            if self.wanted.swap(1, Ordering::Relaxed) == 0 {
                raw::wake_all(&self.wanted);
            }
            // A new thread wakes us; one that is just leaving another carrier
            // does not.
            raw::wait(&self.saved, 0, Some(IN_TRANSIT_NS));
        }
    }

    /// Waits until somebody waits for it to be saved, but no longer than so many
    /// nanoseconds. True if somebody does.
    pub(super) fn is_wanted_within(&self, at_most: u64) -> bool {
        let is_wanted = || self.wanted.load(Ordering::Relaxed) != 0;
        if !is_wanted() {
            raw::wait(&self.wanted, 0, Some(at_most));
        }
        is_wanted()
    }

    /// Stops here and goes on with `to`, which has been saved, on the same
    /// thread of the system's. Returns when somebody goes on with this one.
    #[inline]
    pub(super) fn switch(&self, to: &Self) {
        to.saved.store(0, Ordering::Relaxed);
        // SAFETY: `to` is complete, and nobody else goes on with it: there is
        // one turn.
        unsafe { switch(self, to) };
    }

    /// Makes the context's own thread of the system's go on with it, as soon
    /// as it has been saved.
    pub(super) fn reclaim(&self) {
        self.native.store(1, Ordering::Release);
        raw::wake_all(&self.native);
    }

    /// True if it was reclaimed since the last time.
    #[inline]
    pub(super) fn was_reclaimed(&self) -> bool {
        if self.native.load(Ordering::Acquire) == 0 {
            return false;
        }
        self.native.store(0, Ordering::Relaxed);
        self.saved.store(0, Ordering::Relaxed);
        true
    }
}

/// How a program begins: `mxcsr` and the control word of the x87.
const FLOATING: usize = 0x037f_0000_1f80;

/// Where a context begins that was not saved but made.
#[unsafe(naked)]
unsafe extern "sysv64" fn enter() {
    naked_asm!("mov rdi, r12", "call r13", "ud2")
}

/// Saves what a call must preserve in `from`, loads the same of `to`.
#[unsafe(naked)]
unsafe extern "sysv64" fn switch(from: *const Context, to: *const Context) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov ecx, [rsp]",
        "mov dx, [rsp + 4]",
        "mov [rdi], rsp",
        "mov rsp, [rsi]",
        "mov rax, [rsi + 8]",
        "wrfsbase rax",
        // From here on another thread may go on with `from`.
        "mov dword ptr [rdi + 16], 1",
        // Loading takes far longer than looking, and they are hardly ever
        // different.
        "cmp ecx, [rsp]",
        "je 2f",
        "ldmxcsr [rsp]",
        "2:",
        "cmp dx, [rsp + 4]",
        "je 3f",
        "fldcw [rsp + 4]",
        "3:",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Saves the same in `own`, then waits in the kernel without any use of the
/// stack, which is no longer the waiting thread's.
#[unsafe(naked)]
unsafe extern "sysv64" fn set_aside(own: *const Context) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov [rdi], rsp",
        "mov r12, rdi",
        "mov dword ptr [r12 + 16], 1",
        // Somebody may be waiting for it: futex(&saved, WAKE, all).
        "lea rdi, [r12 + 16]",
        "mov esi, 129",
        "mov edx, 0x7fffffff",
        "mov eax, 202",
        "syscall",
        // While it is not reclaimed: futex(&native, WAIT, 0).
        "2:",
        "cmp dword ptr [r12 + 20], 0",
        "jne 3f",
        "lea rdi, [r12 + 20]",
        "mov esi, 128",
        "xor edx, edx",
        "xor r10d, r10d",
        "mov eax, 202",
        "syscall",
        "jmp 2b",
        // It may still be running elsewhere: sched_yield().
        "3:",
        "cmp dword ptr [r12 + 16], 0",
        "jne 4f",
        "mov eax, 24",
        "syscall",
        "jmp 3b",
        "4:",
        "mov rsp, [r12]",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}
