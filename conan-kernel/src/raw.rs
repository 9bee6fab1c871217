//! System calls, made by the instruction itself: nothing here can come back
//! to an interposed function.

use std::arch::asm;
use std::sync::atomic::AtomicU32;

/// `EAGAIN` and its kin, as the kernel returns them: negative.
pub(crate) const EINTR: isize = -4;
pub(crate) const EAGAIN: isize = -11;
pub(crate) const EINVAL: isize = -22;
pub(crate) const ETIMEDOUT: isize = -110;

#[cfg(target_arch = "x86_64")]
mod number {
    pub(crate) const FUTEX: isize = 202;
    pub(crate) const GETTID: isize = 186;
    pub(crate) const SCHED_YIELD: isize = 24;
    pub(crate) const SCHED_SETAFFINITY: isize = 203;
    pub(crate) const SCHED_GETAFFINITY: isize = 204;
    pub(crate) const GETCPU: isize = 309;
    pub(crate) const CLOCK_NANOSLEEP: isize = 230;
    pub(crate) const RT_SIGPROCMASK: isize = 14;
    pub(crate) const SIGALTSTACK: isize = 131;
    pub(crate) const PPOLL: isize = 271;
    pub(crate) const FSTAT: isize = 5;
    pub(crate) const WAITID: isize = 247;
    pub(crate) const KILL: isize = 62;
    pub(crate) const TKILL: isize = 200;
    pub(crate) const TGKILL: isize = 234;
    pub(crate) const RT_SIGTIMEDWAIT: isize = 128;
    pub(crate) const RT_SIGQUEUEINFO: isize = 129;
    pub(crate) const RT_TGSIGQUEUEINFO: isize = 297;
    pub(crate) const GETRANDOM: isize = 318;
    pub(crate) const MMAP: isize = 9;
    pub(crate) const MADVISE: isize = 28;
    pub(crate) const PERSONALITY: isize = 135;
    pub(crate) const GETRUSAGE: isize = 98;
    pub(crate) const PRCTL: isize = 157;
    pub(crate) const GETPPID: isize = 110;
    pub(crate) const CLONE: isize = 56;
    pub(crate) const WAIT4: isize = 61;
    pub(crate) const WRITE: isize = 1;
    pub(crate) const EXIT_GROUP: isize = 231;
    /// Where the mode is in what `FSTAT` writes, in bytes.
    pub(crate) const MODE: usize = 24;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub(crate) const FUTEX: isize = 98;
    pub(crate) const GETTID: isize = 178;
    pub(crate) const SCHED_YIELD: isize = 124;
    pub(crate) const SCHED_SETAFFINITY: isize = 122;
    pub(crate) const SCHED_GETAFFINITY: isize = 123;
    pub(crate) const GETCPU: isize = 168;
    pub(crate) const CLOCK_NANOSLEEP: isize = 115;
    pub(crate) const RT_SIGPROCMASK: isize = 135;
    pub(crate) const SIGALTSTACK: isize = 132;
    pub(crate) const PPOLL: isize = 73;
    pub(crate) const FSTAT: isize = 80;
    pub(crate) const WAITID: isize = 95;
    pub(crate) const KILL: isize = 129;
    pub(crate) const TKILL: isize = 130;
    pub(crate) const TGKILL: isize = 131;
    pub(crate) const RT_SIGTIMEDWAIT: isize = 137;
    pub(crate) const RT_SIGQUEUEINFO: isize = 138;
    pub(crate) const RT_TGSIGQUEUEINFO: isize = 240;
    pub(crate) const GETRANDOM: isize = 278;
    pub(crate) const MMAP: isize = 222;
    pub(crate) const MADVISE: isize = 233;
    pub(crate) const PERSONALITY: isize = 92;
    pub(crate) const GETRUSAGE: isize = 165;
    pub(crate) const PRCTL: isize = 167;
    pub(crate) const GETPPID: isize = 173;
    pub(crate) const WRITE: isize = 64;
    /// Where the mode is in what `FSTAT` writes, in bytes.
    pub(crate) const MODE: usize = 16;
}

pub(crate) use number::{FUTEX, GETRANDOM, GETTID, KILL, TGKILL, TKILL};

/// Makes a system call; the kernel's own result, an error as a negative number.
///
/// # Safety
///
/// As for the call itself.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn syscall(number: isize, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the registers are those of the kernel's calling convention; the
    // caller vouches for the call.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Makes a system call; the kernel's own result, an error as a negative number.
///
/// # Safety
///
/// As for the call itself.
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn syscall(number: isize, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the registers are those of the kernel's calling convention; the
    // caller vouches for the call.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") args[0] as isize => result,
            in("x1") args[1],
            in("x2") args[2],
            in("x3") args[3],
            in("x4") args[4],
            in("x5") args[5],
            options(nostack),
        );
    }
    result
}

const WAIT_PRIVATE: usize = 128;
const WAKE_PRIVATE: usize = 1 | 128;

/// A point in time or a length of it, as the kernel has them.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timespec {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
}

impl Timespec {
    pub(crate) fn from_ns(ns: u64) -> Self {
        Self {
            seconds: (ns / 1_000_000_000) as i64,
            nanoseconds: (ns % 1_000_000_000) as i64,
        }
    }

    /// Nothing for what the kernel would refuse.
    pub(crate) fn to_ns(self) -> Option<u64> {
        let seconds = u64::try_from(self.seconds).ok()?;
        let rest = u64::try_from(self.nanoseconds)
            .ok()
            .filter(|&ns| ns < 1_000_000_000)?;
        Some(seconds.saturating_mul(1_000_000_000).saturating_add(rest))
    }
}

/// Sleeps in the kernel while the word is `value`, for a limited time if
/// there is a limit.
pub(crate) fn wait(word: &AtomicU32, value: u32, limit_ns: Option<u64>) {
    let limit = limit_ns.map(Timespec::from_ns);
    let limit = limit
        .as_ref()
        .map_or(0, |limit| std::ptr::from_ref(limit) as usize);
    let args = [
        word.as_ptr() as usize,
        WAIT_PRIVATE,
        value as usize,
        limit,
        0,
        0,
    ];
    // SAFETY: the word and the limit outlive the call.
    unsafe { syscall(FUTEX, args) };
}

/// Wakes whoever sleeps on the word.
pub(crate) fn wake_all(word: &AtomicU32) {
    let args = [
        word.as_ptr() as usize,
        WAKE_PRIVATE,
        i32::MAX as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the address is only compared.
    unsafe { syscall(FUTEX, args) };
}

/// Does nothing for a length of real time.
pub(crate) fn pause(length_ns: u64) {
    wait(&AtomicU32::new(0), 0, Some(length_ns));
}

/// The kernel's number of the calling thread.
pub(crate) fn thread_number() -> u32 {
    // SAFETY: has no arguments.
    unsafe { syscall(number::GETTID, [0; 6]) as u32 }
}

/// Yields in the kernel.
pub(crate) fn yield_now() -> isize {
    // SAFETY: has no arguments.
    unsafe { syscall(number::SCHED_YIELD, [0; 6]) }
}

/// The processors that a thread may run on, as a bit mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Processors([u64; 16]);

impl Processors {
    const NONE: Self = Self([0; 16]);

    /// Those of the calling thread.
    pub(crate) fn allowed() -> Self {
        let Self(mut mask) = Self::NONE;
        let args = [0, size_of_val(&mask), mask.as_mut_ptr() as usize, 0, 0, 0];
        // SAFETY: the mask is as large as it is said to be.
        unsafe { syscall(number::SCHED_GETAFFINITY, args) };
        Self(mask)
    }

    /// The one on which the calling thread runs now.
    pub(crate) fn present() -> Self {
        let mut cpu = 0_u32;
        let args = [std::ptr::from_mut(&mut cpu) as usize, 0, 0, 0, 0, 0];
        // SAFETY: the kernel writes one number.
        unsafe { syscall(number::GETCPU, args) };
        let mut mask = [0; 16];
        let index = (cpu as usize / 64).min(15);
        mask[index] = 1 << (cpu % 64);
        Self(mask)
    }

    /// Keeps the calling thread to these. A refusal costs only speed.
    pub(crate) fn confine(&self) {
        let args = [0, size_of_val(&self.0), self.0.as_ptr() as usize, 0, 0, 0];
        // SAFETY: the mask is as large as it is said to be.
        unsafe { syscall(number::SCHED_SETAFFINITY, args) };
    }
}

/// A thread that is started nearby begins where the one is that starts it, and so
/// when that one waits. On another processor it would begin at once, and make the
/// two tell each other of each change in the memory that they share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nearby {
    everywhere: Processors,
}

impl Nearby {
    /// A thread that is started meanwhile must [spread](Self::spread) with what is
    /// given here.
    pub(crate) fn start<T>(start: impl FnOnce(Option<Self>) -> T) -> T {
        let everywhere = Processors::allowed();
        // There may be more than we can name.
        if everywhere == Processors::NONE {
            return start(None);
        }
        Processors::present().confine();
        let started = start(Some(Self { everywhere }));
        everywhere.confine();
        started
    }

    /// From now on the calling thread may go where its creator may.
    pub(crate) fn spread(&self) {
        self.everywhere.confine();
    }
}

/// The signals that a thread does not take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignalMask(u64);

impl SignalMask {
    const SET: usize = 2;

    /// Just these, a bit for each.
    pub(crate) const fn of(bits: u64) -> Self {
        Self(bits)
    }

    /// From now on the calling thread takes none. Returns what was before.
    pub(crate) fn block_all() -> Self {
        let mut before = 0_u64;
        Self(u64::MAX).set(&raw mut before);
        Self(before)
    }

    /// The calling thread's, as the system has it.
    pub(crate) fn present() -> u64 {
        let mut present = 0_u64;
        let args = [0, 0, &raw mut present as usize, size_of::<u64>(), 0, 0];
        // SAFETY: the mask is as large as it is said to be.
        unsafe { syscall(number::RT_SIGPROCMASK, args) };
        present
    }

    /// Makes this the calling thread's.
    pub(crate) fn restore(self) {
        self.set(std::ptr::null_mut());
    }

    fn set(self, before: *mut u64) {
        let mask = self.0;
        let args = [
            Self::SET,
            &raw const mask as usize,
            before as usize,
            size_of::<u64>(),
            0,
            0,
        ];
        // SAFETY: both masks are as large as they are said to be, or absent.
        unsafe { syscall(number::RT_SIGPROCMASK, args) };
    }
}

/// Sends a signal to the calling thread of the system's, which takes it before
/// this returns unless it blocks it.
pub(crate) fn send_to_self(signal: i32, info: *const std::ffi::c_void) {
    send_to_thread(thread_number(), signal, info);
}

/// Sends a signal to a thread of the system's.
pub(crate) fn send_to_thread(number: u32, signal: i32, info: *const std::ffi::c_void) {
    let process = std::process::id() as usize;
    let args = [
        process,
        number as usize,
        signal as usize,
        info as usize,
        0,
        0,
    ];
    // SAFETY: the caller has what the system wants to know of a signal.
    if unsafe { syscall(number::RT_TGSIGQUEUEINFO, args) } < 0 {
        // To others a process may not send everything.
        let args = [process, number as usize, signal as usize, 0, 0, 0];
        // SAFETY: numbers only.
        unsafe { syscall(TGKILL, args) };
    }
}

/// Sends a signal to the process.
pub(crate) fn send_to_process(signal: i32, info: *const std::ffi::c_void) {
    let process = std::process::id() as usize;
    let args = [process, signal as usize, info as usize, 0, 0, 0];
    // SAFETY: the caller has what the system wants to know of a signal.
    if unsafe { syscall(number::RT_SIGQUEUEINFO, args) } < 0 {
        // SAFETY: numbers only.
        unsafe { syscall(KILL, [process, signal as usize, 0, 0, 0, 0]) };
    }
}

/// Takes one of these signals, if the system has kept it because it is blocked.
pub(crate) fn take_signal(wanted: u64, info: *mut std::ffi::c_void) -> bool {
    let none = Timespec::from_ns(0);
    let args = [
        &raw const wanted as usize,
        info as usize,
        &raw const none as usize,
        size_of::<u64>(),
        0,
        0,
    ];
    // SAFETY: the caller has room for it; the rest is our own.
    unsafe { syscall(number::RT_SIGTIMEDWAIT, args) > 0 }
}

/// Sets or asks for the alternate signal stack.
///
/// # Safety
///
/// The pointers must be those that a caller of `sigaltstack` gives.
pub(crate) unsafe fn sigaltstack(
    new: *const std::ffi::c_void,
    old: *mut std::ffi::c_void,
) -> isize {
    let args = [new as usize, old as usize, 0, 0, 0, 0];
    // SAFETY: the caller vouches for the pointers.
    unsafe { syscall(number::SIGALTSTACK, args) }
}

/// The stack on which signals are handled, as the kernel has it.
#[repr(C)]
struct SignalStack {
    bottom: *mut u8,
    flags: i32,
    size: usize,
}

impl SignalStack {
    /// The calling thread's.
    fn present() -> Self {
        let mut stack = Self {
            bottom: std::ptr::null_mut(),
            flags: 0,
            size: 0,
        };
        // SAFETY: the kernel writes what there is.
        unsafe { sigaltstack(std::ptr::null(), (&raw mut stack).cast()) };
        stack
    }
}

/// A stack for the handlers of signals on which a backtrace can be taken. What std
/// gives its threads is far smaller.
#[derive(Debug)]
pub(crate) struct OwnSignalStack(usize);

impl OwnSignalStack {
    const SIZE: usize = 512 * 1024;

    /// Nothing if the system has no room for it. It stays for ever.
    pub(crate) fn new() -> Option<Self> {
        map(Self::SIZE).map(Self)
    }

    /// The calling thread has it from now on. One thread at a time may.
    pub(crate) fn set(&self) {
        let stack = SignalStack {
            bottom: self.0 as *mut u8,
            flags: 0,
            size: Self::SIZE,
        };
        // SAFETY: no other thread uses the memory, and it stays for ever.
        unsafe { sigaltstack((&raw const stack).cast(), std::ptr::null_mut()) };
    }
}

/// What is left of the alternate signal stack, in bytes, if the calling thread runs
/// on it.
pub(crate) fn room_on_signal_stack() -> Option<usize> {
    const IN_USE: i32 = 1;
    let stack = SignalStack::present();
    let here = &raw const stack as usize;
    (stack.flags & IN_USE != 0).then(|| here.saturating_sub(stack.bottom as usize))
}

/// Sleeps in real time.
///
/// # Safety
///
/// The pointers must be those that a caller of `clock_nanosleep` gives.
pub(crate) unsafe fn clock_nanosleep(
    clock: i32,
    flags: i32,
    request: *const Timespec,
    remaining: *mut Timespec,
) -> isize {
    let args = [
        clock as usize,
        flags as usize,
        request as usize,
        remaining as usize,
        0,
        0,
    ];
    // SAFETY: the caller vouches for the pointers.
    unsafe { syscall(number::CLOCK_NANOSLEEP, args) }
}

/// Looks at `count` entries of libc's `struct pollfd`, for a length of real
/// time at most.
pub(crate) fn poll(entries: *mut std::ffi::c_void, count: usize, limit_ns: u64) -> isize {
    let limit = Timespec::from_ns(limit_ns);
    let args = [entries as usize, count, &raw const limit as usize, 0, 8, 0];
    // SAFETY: the caller has so many entries; the limit outlives the call.
    unsafe { syscall(number::PPOLL, args) }
}

/// Device, inode and mode of an open descriptor.
pub(crate) fn stat(descriptor: i32) -> Option<(u64, u64, u32)> {
    // Both processors' `struct stat` begin with device and inode.
    let mut stat = [0_u64; 32];
    let args = [descriptor as usize, stat.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: there is more room than the kernel fills.
    let result = unsafe { syscall(number::FSTAT, args) };
    let mode = (stat[number::MODE / 8] >> (8 * (number::MODE % 8))) as u32;
    (result == 0).then_some((stat[0], stat[1], mode))
}

/// True if the process has children, whether they have ended or not.
pub(crate) fn has_children() -> bool {
    const ANY: usize = 0;
    const ENDED_DO_NOT_WAIT_DO_NOT_TAKE: usize = 4 | 1 | 0x0100_0000;
    let mut info = [0_u64; 32];
    let args = [
        ANY,
        0,
        info.as_mut_ptr() as usize,
        ENDED_DO_NOT_WAIT_DO_NOT_TAKE,
        0,
        0,
    ];
    // SAFETY: there is more room than the kernel fills.
    unsafe { syscall(number::WAITID, args) == 0 }
}

/// What the children have used that have ended and were waited for: time, memory
/// and others, added up. Each has used something.
pub(crate) fn used_by_children() -> u64 {
    const CHILDREN: usize = -1_isize as usize;
    let mut usage = [0_u64; 18];
    let args = [CHILDREN, usage.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: there is as much room as the kernel fills.
    unsafe { syscall(number::GETRUSAGE, args) };
    usage.iter().fold(0, |sum, part| sum.wrapping_add(*part))
}

/// Has the system kill the calling process when the thread ends that has started it.
pub(crate) fn kill_with_parent() {
    const SET_PARENT_DEATH_SIGNAL: usize = 1;
    const SIGKILL: usize = 9;
    let args = [SET_PARENT_DEATH_SIGNAL, SIGKILL, 0, 0, 0, 0];
    // SAFETY: numbers only.
    unsafe { syscall(number::PRCTL, args) };
}

/// The number of the process that has started this one, or that has taken the place
/// of that one.
pub(crate) fn parent() -> u32 {
    // SAFETY: has no arguments.
    unsafe { syscall(number::GETPPID, [0; 6]) as u32 }
}

/// True if there is a process of this number.
pub(crate) fn is_process(process: u32) -> bool {
    const NONE: isize = -3;
    // SAFETY: numbers only; no signal is sent.
    unsafe { syscall(KILL, [process as usize, 0, 0, 0, 0, 0]) != NONE }
}

/// Makes a copy of the process, with the calling thread alone, as `fork` does, but
/// without what libc and the program do then. Returns 0 in the copy, and otherwise
/// its number; a negative one if there is no copy. The end of the copy is told by no
/// signal.
#[cfg(target_arch = "x86_64")]
pub(crate) fn copy_process() -> i32 {
    // SAFETY: all memory is copied. The copy has locks that are held by threads which
    // it has not. A copy that waits for one of them hangs; the process that made it
    // ends it after a time.
    unsafe { syscall(number::CLONE, [0; 6]) as i32 }
}

/// True if a copy of the process has ended, which is then forgotten.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_ended(copy: i32) -> bool {
    const DO_NOT_WAIT: usize = 1;
    const ALL: usize = 0x4000_0000;
    let args = [copy as usize, 0, DO_NOT_WAIT | ALL, 0, 0, 0];
    // SAFETY: nothing is written.
    unsafe { syscall(number::WAIT4, args) != 0 }
}

/// Kills a process.
#[cfg(target_arch = "x86_64")]
pub(crate) fn kill(process: i32) {
    const SIGKILL: usize = 9;
    // SAFETY: numbers only.
    unsafe { syscall(KILL, [process as usize, SIGKILL, 0, 0, 0, 0]) };
}

/// Ends the process, and nothing else.
#[cfg(target_arch = "x86_64")]
pub(crate) fn exit(code: i32) -> ! {
    loop {
        // SAFETY: ends the process.
        unsafe { syscall(number::EXIT_GROUP, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Writes bytes to a descriptor, as far as it takes them.
pub(crate) fn write(descriptor: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let args = [
            descriptor as usize,
            bytes.as_ptr() as usize,
            bytes.len(),
            0,
            0,
            0,
        ];
        // SAFETY: the system reads what it is given.
        let written = unsafe { syscall(number::WRITE, args) };
        match usize::try_from(written) {
            Ok(written @ 1..) => bytes = &bytes[written..],
            _ if written == EINTR => {}
            _ => return,
        }
    }
}

/// Gives what is started from now on random addresses, as is usual: it was for
/// our sake that this process has got none.
pub(crate) fn randomize_addresses() {
    const ASK: usize = 0xffff_ffff;
    const NOT_RANDOM: usize = 0x0004_0000;
    // SAFETY: changes nothing about this process.
    unsafe {
        let present = syscall(number::PERSONALITY, [ASK, 0, 0, 0, 0, 0]);
        if present >= 0 && present as usize & NOT_RANDOM != 0 {
            let others = present as usize & !NOT_RANDOM;
            syscall(number::PERSONALITY, [others, 0, 0, 0, 0, 0]);
        }
    }
}

/// So much memory, where the system finds room for it; it is zero.
pub(crate) fn map(size: usize) -> Option<usize> {
    const READ_AND_WRITE: usize = 3;
    const PRIVATE_ANONYMOUS_WITHOUT_RESERVE: usize = 0x2 | 0x20 | 0x4000;
    const NO_FILE: usize = usize::MAX;
    const NO_HUGE_PAGES: usize = 15;
    let args = [
        0,
        size,
        READ_AND_WRITE,
        PRIVATE_ANONYMOUS_WITHOUT_RESERVE,
        NO_FILE,
        0,
    ];
    // SAFETY: nothing is there yet.
    let address = unsafe { syscall(number::MMAP, args) };
    if (-4095..0).contains(&address) {
        return None;
    }
    // The first use of a huge page takes as long as a short test.
    // SAFETY: a wish about what was mapped here.
    unsafe {
        syscall(
            number::MADVISE,
            [address as usize, size, NO_HUGE_PAGES, 0, 0, 0],
        )
    };
    Some(address as usize)
}
