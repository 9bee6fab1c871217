//! Descriptors that time makes ready: `timerfd`.
//!
//! The system's own timer stays unarmed until virtual time has come to where it
//! was set; then it is set to a time that has passed. So whoever waits for it,
//! by `read`, `poll` or `epoll`, finds it ready as any other descriptor. Only
//! how often it has expired is ours to say.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use super::births::made;
use super::descriptor::{self, PollFd};
use super::inside;
use crate::interpose::libc_result;
use crate::me::{self, Inside};
use crate::raw::{EINVAL, Timespec};
use crate::real::{Real, anchored};
use crate::state::{self, State};
use crate::time::{CLOCK_MONOTONIC, CLOCK_REALTIME, realtime_offset};
use crate::turn;

static REAL_CREATE: Real = Real::new(c"timerfd_create");
static REAL_SETTIME: Real = Real::new(c"timerfd_settime");
static REAL_GETTIME: Real = Real::new(c"timerfd_gettime");

type Create = unsafe extern "C" fn(c_int, c_int) -> c_int;
type SetTime = unsafe extern "C" fn(c_int, c_int, *const Setting, *mut Setting) -> c_int;
type GetTime = unsafe extern "C" fn(c_int, *mut Setting) -> c_int;

/// Goes on while the machine sleeps, as virtual time does.
const CLOCK_BOOTTIME: c_int = 7;

const ABSOLUTE: c_int = 1;

/// How long it takes the system at most to notice that a time has passed, in
/// nanoseconds; it takes microseconds.
const NOTICED_NS: u64 = 1_000_000_000;

/// True once there has been one.
static ARE_ANY: AtomicBool = AtomicBool::new(false);

/// libc's `struct itimerspec`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    interval: Timespec,
    value: Timespec,
}

impl Setting {
    fn new(interval: u64, value: u64) -> Self {
        Self {
            interval: Timespec::from_ns(interval),
            value: Timespec::from_ns(value),
        }
    }
}

/// All that managed threads have made, by their descriptors.
pub(super) type Timers = BTreeMap<c_int, Timer>;

/// One of them, in virtual nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Timer {
    /// What has to be taken from its clock to get ours.
    offset: u64,
    /// When it expires; nothing if it is not set, or has expired. One that
    /// expires again and again is of interest once somebody has read that.
    due: Option<u64>,
    /// When it has expired first since it was read.
    expired: Option<u64>,
    interval: u64,
}

impl Timer {
    /// How often it has expired since it was read, which it is now.
    fn take(&mut self, now: u64) -> Option<u64> {
        let first = self.expired.take()?;
        let Some(more) = now.saturating_sub(first).checked_div(self.interval) else {
            return Some(1);
        };
        let last = first + more * self.interval;
        self.due = Some(last.saturating_add(self.interval));
        Some(more + 1)
    }

    /// As `timerfd_gettime` tells it.
    fn left(&self, now: u64) -> Setting {
        let next = match self.expired {
            Some(first) => now
                .saturating_sub(first)
                .checked_div(self.interval)
                .map(|more| first + (more + 1) * self.interval),
            None => self.due,
        };
        // 0 is for one that is not set.
        let left = next.map_or(0, |next| next.saturating_sub(now).max(1));
        Setting::new(self.interval, left)
    }
}

/// Sets the system's own, which has no other setting.
fn set_really(descriptor: c_int, flags: c_int, value: u64) -> c_int {
    let setting = Setting::new(0, value);
    // SAFETY: libc's function of this name and type.
    let real: SetTime = unsafe { mem::transmute(REAL_SETTIME.get()) };
    // SAFETY: the setting outlives the call, and nobody wants the old one.
    unsafe { real(descriptor, flags, &raw const setting, std::ptr::null_mut()) }
}

/// Makes it ready.
fn expire_really(descriptor: c_int) {
    const LONG_AGO: u64 = 1;
    if set_really(descriptor, ABSOLUTE, LONG_AGO) == 0 {
        descriptor::ask(&mut [PollFd::new(descriptor, PollFd::IN)], NOTICED_NS);
    }
}

impl State {
    /// When the next of them expires.
    pub(crate) fn next_expiry(&self) -> Option<u64> {
        self.io.timers.values().filter_map(|timer| timer.due).min()
    }

    /// Makes those ready whose time has come. True if somebody goes on.
    pub(crate) fn expire_timers(&mut self) -> bool {
        let now = self.now;
        let mut have_any = false;
        for (&descriptor, timer) in &mut self.io.timers {
            if let Some(due) = timer.due.filter(|&due| due <= now) {
                timer.due = None;
                timer.expired = Some(due);
                expire_really(descriptor);
                have_any = true;
            }
        }
        have_any && self.ask_descriptors()
    }
}

/// The calling managed thread has closed a descriptor.
pub(super) fn closed(descriptor: c_int) {
    if ARE_ANY.load(Ordering::Relaxed) {
        let _inside = Inside::enter();
        state::lock().io.timers.remove(&descriptor);
    }
}

/// The calling managed thread has read eight bytes. If it is from a timer: how
/// often that has expired.
pub(super) fn was_read(descriptor: c_int) -> Option<u64> {
    if !ARE_ANY.load(Ordering::Relaxed) {
        return None;
    }
    let _inside = Inside::enter();
    let mut state = state::lock();
    let now = state.now;
    state.io.timers.get_mut(&descriptor)?.take(now)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Create = unsafe { mem::transmute(REAL_CREATE.get()) };
    // SAFETY: the caller's own call.
    let number = made(unsafe { real(clock, flags) });
    let offset = match clock {
        CLOCK_MONOTONIC | CLOCK_BOOTTIME => 0,
        CLOCK_REALTIME => realtime_offset(),
        _ => return number,
    };
    if number >= 0 && me::managed().is_some() {
        let _inside = Inside::enter();
        ARE_ANY.store(true, Ordering::Relaxed);
        let timer = Timer {
            offset,
            ..Timer::default()
        };
        state::lock().io.timers.insert(number, timer);
    }
    number
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn timerfd_settime(
    descriptor: c_int,
    flags: c_int,
    new: *const Setting,
    old: *mut Setting,
) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: SetTime = unsafe { mem::transmute(REAL_SETTIME.get()) };
    // SAFETY: the caller gives a setting or none.
    let wanted = unsafe { new.as_ref() };
    let (Some(slot), Some(wanted)) = (me::managed(), wanted) else {
        // SAFETY: the caller's own call.
        return unsafe { real(descriptor, flags, new, old) };
    };
    let _inside = Inside::enter();
    let mut state = turn::enter_briefly(slot);
    let now = state.now;
    let Some(timer) = state.io.timers.get_mut(&descriptor) else {
        drop(state);
        // SAFETY: the caller's own call.
        return unsafe { real(descriptor, flags, new, old) };
    };
    let (Some(value), Some(interval)) = (wanted.value.to_ns(), wanted.interval.to_ns()) else {
        return libc_result(EINVAL) as c_int;
    };
    let result = set_really(descriptor, 0, 0);
    if result != 0 {
        return result;
    }
    if !old.is_null() {
        // SAFETY: the caller gives room for the old setting.
        unsafe { old.write(timer.left(now)) };
    }
    let due = match value {
        0 => None,
        value if flags & ABSOLUTE != 0 => Some(value.saturating_sub(timer.offset)),
        value => Some(now.saturating_add(value)),
    };
    *timer = Timer {
        offset: timer.offset,
        due,
        expired: None,
        interval,
    };
    inside::has_changed();
    if due.is_some_and(|due| due <= now) {
        state.expire_timers();
    }
    0
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn timerfd_gettime(descriptor: c_int, setting: *mut Setting) -> c_int {
    if let Some(slot) = me::managed() {
        let _inside = Inside::enter();
        let state = turn::enter_briefly(slot);
        if let Some(timer) = state.io.timers.get(&descriptor) {
            // SAFETY: the caller gives room for the setting.
            unsafe { setting.write(timer.left(state.now)) };
            return 0;
        }
    }
    // SAFETY: libc's function of this name and type.
    let real: GetTime = unsafe { mem::transmute(REAL_GETTIME.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(descriptor, setting) }
}

pub(super) fn anchor() -> usize {
    anchored(&[
        timerfd_create as *const () as usize,
        timerfd_settime as *const () as usize,
        timerfd_gettime as *const () as usize,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_repeats_counts_what_nobody_has_read() {
        let mut timer = Timer {
            expired: Some(100),
            interval: 30,
            ..Timer::default()
        };
        assert_eq!(timer.left(165).value, Timespec::from_ns(25));
        assert_eq!(timer.take(165), Some(3));
        assert_eq!(timer.due, Some(190));
        assert_eq!(timer.take(165), None);
        assert_eq!(timer.left(165).value, Timespec::from_ns(25));
    }

    #[test]
    fn one_that_does_not_repeat_expires_once() {
        let mut timer = Timer {
            expired: Some(100),
            ..Timer::default()
        };
        assert_eq!(timer.left(165).value, Timespec::from_ns(0));
        assert_eq!(timer.take(165), Some(1));
        assert_eq!(timer, Timer::default());
    }
}
