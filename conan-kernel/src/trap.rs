//! System calls of the program that do not go through libc.
//!
//! Some crates, such as rustix, make them by the instruction itself. Linux can
//! be told to send a signal instead of carrying them out, for all instructions
//! outside one range of addresses: here that is everything but the executable.
//! The signal's handler does what the function of libc's name does in
//! [`interpose`](crate::interpose) and [`io`](crate::io), and may so wait and
//! pass the turn on as any other call.
//!
//! That needs the engine to be a library of its own: linked into the
//! executable, it would catch itself. On aarch64, Linux cannot do it.

#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{attend, prepare, without_ours};

/// Does nothing.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn prepare() {}

/// Does nothing.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn attend() {}

/// The same mask: no signal is used here.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn without_ours(mask: u64) -> u64 {
    mask
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::ffi::{c_int, c_long, c_ulong, c_void};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU8, Ordering};

    use crate::clocks;
    use crate::executable;
    use crate::interpose;
    use crate::io;
    use crate::me;
    use crate::random;
    use crate::raw;
    use crate::real::{errno, set_errno};
    use crate::signals::{self, NOT_BLOCKED, RESTART, WITH_CONTEXT};

    unsafe extern "C" {
        fn prctl(option: c_int, ...) -> c_int;
        fn raise(signal: c_int) -> c_int;
    }

    const SIGSYS: c_int = 31;
    const SET_DISPATCH: c_int = 59;
    const ON: c_ulong = 1;

    const CAUGHT: u8 = 1;
    const LET_GO: u8 = 0;

    /// What becomes of the program's calls; the kernel reads it.
    static SELECTOR: AtomicU8 = AtomicU8::new(CAUGHT);

    /// The addresses whose calls are carried out; nothing if all are.
    static ALLOWED: OnceLock<Option<(usize, usize)>> = OnceLock::new();

    /// To be called by the shared library, before there is another thread.
    pub(crate) fn prepare() {
        ALLOWED.get_or_init(|| {
            // All libraries are above the executable, unless somebody has
            // loaded it in a way of his own.
            let end = executable::end();
            let own = prepare as *const () as usize;
            (end < own && is_handled()).then(|| (end, (1 << 47) - end))
        });
    }

    /// The calling thread of the system's is about to run threads of the
    /// program. A refusal means that Linux is too old: such calls are not seen.
    pub(crate) fn attend() {
        if let Some(Some((start, size))) = ALLOWED.get() {
            // SAFETY: the selector lives for ever, and the handler is there.
            unsafe { prctl(SET_DISPATCH, ON, *start, *size, SELECTOR.as_ptr()) };
        }
    }

    /// True if the signal is ours. Another one may come while a handler waits:
    /// for another thread on the same carrier.
    fn is_handled() -> bool {
        let flags = WITH_CONTEXT | RESTART | NOT_BLOCKED;
        // SAFETY: a handler that is told what was interrupted.
        unsafe { signals::handle(SIGSYS, caught as *const () as usize, flags) }
    }

    /// The system's `siginfo_t`, as far as it matters.
    #[repr(C)]
    struct Info {
        signal: c_int,
        error: c_int,
        code: c_int,
    }

    /// The system's `struct ucontext`, as far as it matters.
    #[repr(C)]
    struct Interrupted {
        flags: u64,
        link: *mut c_void,
        stack: [u64; 3],
        registers: [usize; 23],
        floating: *mut c_void,
        reserved: [u64; 8],
        mask: u64,
    }

    const R8: usize = 0;
    const R9: usize = 1;
    const R10: usize = 2;
    const RDI: usize = 8;
    const RSI: usize = 9;
    const RDX: usize = 12;
    const RAX: usize = 13;
    const RIP: usize = 16;

    /// The length of the instruction.
    const INSTRUCTION: usize = 2;

    unsafe extern "C" fn caught(_: c_int, info: *const Info, interrupted: *mut Interrupted) {
        const BY_DISPATCH: c_int = 2;
        // SAFETY: the system describes the signal.
        if unsafe { (*info).code } != BY_DISPATCH {
            end_as_without_us();
            return;
        }
        // SAFETY: the system describes what was interrupted, and takes it from
        // there when the handler returns.
        let interrupted = unsafe { &mut *interrupted };
        let registers = &mut interrupted.registers;
        let number = registers[RAX] as isize;
        if depends_on_its_place(number) {
            SELECTOR.store(LET_GO, Ordering::Relaxed);
            registers[RIP] -= INSTRUCTION;
            return;
        }
        let mut args = [RDI, RSI, RDX, R10, R8, R9].map(|register| registers[register]);
        let mask;
        if number == SIGNAL_MASK && args[1] != 0 {
            // SAFETY: the program's own mask.
            mask = without_ours(unsafe { *(args[1] as *const u64) });
            args[1] = &raw const mask as usize;
        }
        let before = errno();
        // SAFETY: the program's own call.
        let result = unsafe { carry_out(number, args) };
        set_errno(before);
        registers[RAX] = result as usize;
        if number == SIGNAL_MASK {
            // The handler's return would bring the old one back.
            interrupted.mask = raw::SignalMask::present();
        }
    }

    const SIGNAL_MASK: isize = 14;

    /// Who has blocked the signal, and makes a system call, is ended by Linux:
    /// it is taken out of what a program blocks.
    pub(crate) fn without_ours(mask: u64) -> u64 {
        match ALLOWED.get() {
            Some(Some(_)) => mask & !(1 << (SIGSYS - 1)),
            _ => mask,
        }
    }

    /// True for calls that begin another thread or process where they are, or
    /// go on elsewhere. Nobody makes them without libc but to be left alone: so
    /// are all others from then on.
    fn depends_on_its_place(number: isize) -> bool {
        const SIGNAL_RETURN: isize = 15;
        const CLONE: isize = 56;
        const FORK: isize = 57;
        const VFORK: isize = 58;
        const CLONE_3: isize = 435;
        matches!(number, SIGNAL_RETURN | CLONE | FORK | VFORK | CLONE_3)
    }

    /// A system call of the program; the system's result, an error as a
    /// negative number.
    ///
    /// # Safety
    ///
    /// As for the call itself.
    unsafe fn carry_out(number: isize, args: [usize; 6]) -> isize {
        const SCHED_YIELD: isize = 24;
        const NANOSLEEP: isize = 35;
        const CLOCK_GETTIME: isize = 228;
        const CLOCK_NANOSLEEP: isize = 230;
        let [a0, a1, a2, a3, a4, a5] = args;
        if number == SIGNAL_MASK {
            // SAFETY: the caller vouches for it.
            return signals::change(|| unsafe { raw::syscall(number, args) });
        }
        if me::managed().is_some() {
            // SAFETY: the caller vouches for the arguments, which are those of
            // the functions of these names.
            let result = unsafe {
                match number {
                    raw::FUTEX => {
                        Some(interpose::syscall(number as c_long, a0, a1, a2, a3, a4, a5) as isize)
                    }
                    SCHED_YIELD => Some(interpose::sched_yield() as isize),
                    NANOSLEEP => Some(clocks::nanosleep(a0 as _, a1 as _) as isize),
                    CLOCK_GETTIME => Some(clocks::clock_gettime(a0 as _, a1 as _) as isize),
                    CLOCK_NANOSLEEP => {
                        let error = clocks::clock_nanosleep(a0 as _, a1 as _, a2 as _, a3 as _);
                        return -(error as isize);
                    }
                    _ => io::call(number, args)
                        .or_else(|| signals::by_number(number, args))
                        .or_else(|| random::by_number(number, args)),
                }
            };
            match result {
                Some(-1) => return -(errno() as isize),
                Some(result) => return result,
                None => {}
            }
        }
        // SAFETY: the caller vouches for it.
        unsafe { raw::syscall(number, args) }
    }

    /// Somebody has sent the signal: it ends the process.
    fn end_as_without_us() {
        signals::let_be(SIGSYS);
        // SAFETY: ends the process.
        unsafe { raise(SIGSYS) };
    }
}
