//! The functions of libc that tell the time, and that sleep.

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::sync::atomic::Ordering;
use std::{mem, ptr};

use crate::handover::{THREAD_TIME, handover};
use crate::interpose::libc_result;
use crate::me::{self, Inside};
use crate::raw::{self, Timespec};
use crate::real::{Real, anchored};
use crate::time::{self, CLOCK_MONOTONIC, CLOCK_REALTIME};

static REAL_CLOCK: Real = Real::new(c"clock_gettime");

type Clock = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;

/// Which of the two clocks of virtual time stands for a clock of the system's:
/// those that are coarse, raw, or go on while the machine sleeps are the same
/// here. Nothing for processor time and others.
pub(crate) fn kept_by(clock: c_int) -> Option<c_int> {
    const RAW: c_int = 4;
    const REALTIME_COARSE: c_int = 5;
    const MONOTONIC_COARSE: c_int = 6;
    const BOOT: c_int = 7;
    match clock {
        CLOCK_REALTIME | REALTIME_COARSE => Some(CLOCK_REALTIME),
        CLOCK_MONOTONIC | RAW | MONOTONIC_COARSE | BOOT => Some(CLOCK_MONOTONIC),
        _ => None,
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn clock_gettime(clock: c_int, result: *mut Timespec) -> c_int {
    crate::selfcheck::SEEN_CLOCK.store(true, Ordering::Relaxed);
    if let (Some(clock), Some(slot)) = (kept_by(clock), me::managed()) {
        let now = time::read(slot);
        // SAFETY: the caller gives room for the result.
        unsafe { result.write(time::as_clock(now, clock)) };
        return 0;
    }
    if clock == THREAD_TIME
        && let Some(slot) = me::managed()
    {
        let _inside = Inside::enter();
        let used = handover().time_used(slot);
        // SAFETY: the caller gives room for the result.
        unsafe { result.write(Timespec::from_ns(used)) };
        return 0;
    }
    // SAFETY: libc's function of this name and type.
    let real: Clock = unsafe { mem::transmute(REAL_CLOCK.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(clock, result) }
}

/// A reading of a real clock in nanoseconds.
pub(crate) fn real_clock(clock: c_int) -> u64 {
    let mut now = Timespec::from_ns(0);
    // SAFETY: libc's function of this name and type.
    let real: Clock = unsafe { mem::transmute(REAL_CLOCK.get()) };
    // SAFETY: there is room for the result.
    unsafe { real(clock, &raw mut now) };
    now.to_ns().unwrap_or(0)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nanosleep(
    request: *const Timespec,
    remaining: *mut Timespec,
) -> c_int {
    // SAFETY: the caller's own call, which is this special case of the other.
    let error = unsafe { clock_nanosleep(CLOCK_MONOTONIC, 0, request, remaining) };
    if error == 0 {
        return 0;
    }
    libc_result(-(error as isize)) as c_int
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    request: *const Timespec,
    remaining: *mut Timespec,
) -> c_int {
    const ABSOLUTE: c_int = 1;
    if let (Some(clock), Some(slot)) = (kept_by(clock), me::managed()) {
        // SAFETY: the caller gives a valid request.
        let Some(ns) = (unsafe { *request }).to_ns() else {
            return -raw::EINVAL as c_int;
        };
        let absolute = flags & ABSOLUTE != 0;
        let offset = if clock == CLOCK_REALTIME {
            time::realtime_offset()
        } else {
            0
        };
        let left = time::sleep(slot, |now| {
            if absolute {
                ns.saturating_sub(offset)
            } else {
                now.saturating_add(ns)
            }
        });
        let Some(left) = left else {
            return 0;
        };
        if !absolute && !remaining.is_null() {
            // SAFETY: the caller gives room for what is left.
            unsafe { remaining.write(Timespec::from_ns(left)) };
        }
        return -raw::EINTR as c_int;
    }
    // SAFETY: the caller's own call.
    let result = unsafe { raw::clock_nanosleep(clock, flags, request, remaining) };
    -result as c_int
}

/// libc's `struct timeval`.
#[repr(C)]
struct Timeval {
    seconds: i64,
    microseconds: i64,
}

/// What the system clock says, whoever asks.
fn present() -> Timespec {
    let mut now = Timespec::from_ns(0);
    // SAFETY: there is room for the result.
    unsafe { clock_gettime(CLOCK_REALTIME, &raw mut now) };
    now
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(result: *mut Timeval, zone: *mut c_void) -> c_int {
    /// libc's `struct timezone`, which nobody sets any more.
    const GREENWICH: [c_int; 2] = [0, 0];
    let now = present();
    if !result.is_null() {
        // SAFETY: the caller gives room for it.
        unsafe {
            result.write(Timeval {
                seconds: now.seconds,
                microseconds: now.nanoseconds / 1000,
            });
        }
    }
    if !zone.is_null() {
        // SAFETY: the caller gives room for it.
        unsafe { zone.cast::<[c_int; 2]>().write(GREENWICH) };
    }
    0
}

#[unsafe(no_mangle)]
#[allow(clippy::similar_names, reason = "libc's name")]
unsafe extern "C" fn time(result: *mut c_long) -> c_long {
    let now = present().seconds;
    if !result.is_null() {
        // SAFETY: the caller gives room for it.
        unsafe { result.write(now) };
    }
    now
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(microseconds: c_uint) -> c_int {
    let length = Timespec::from_ns(u64::from(microseconds) * 1000);
    // SAFETY: a length of our own.
    unsafe { nanosleep(&raw const length, ptr::null_mut()) }
}

/// Returns the seconds that are left, if a signal has ended it.
#[unsafe(no_mangle)]
unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let mut length = Timespec::from_ns(u64::from(seconds) * 1_000_000_000);
    let left = &raw mut length;
    // SAFETY: a length of our own, which is read before it is written.
    if unsafe { nanosleep(left, left) } == 0 {
        return 0;
    }
    let part = c_uint::from(length.nanoseconds >= 500_000_000);
    c_uint::try_from(length.seconds).unwrap_or(seconds) + part
}

/// The addresses of all functions that take libc's place here.
pub(crate) fn anchor() -> usize {
    anchored(&[
        clock_gettime as *const () as usize,
        nanosleep as *const () as usize,
        clock_nanosleep as *const () as usize,
        gettimeofday as *const () as usize,
        time as *const () as usize,
        usleep as *const () as usize,
        sleep as *const () as usize,
    ])
}
