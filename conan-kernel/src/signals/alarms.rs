//! The process's alarm, in virtual time: `alarm`, and `setitimer` of real time.

use std::ffi::c_int;
use std::mem;
use std::ptr;

use super::info::{Code, Info};
use crate::interpose::libc_result;
use crate::lock::Guard;
use crate::me::{self, Inside};
use crate::process;
use crate::raw::EINVAL;
use crate::real::{Real, anchored};
use crate::state::State;
use crate::turn;

static REAL_ALARM: Real = Real::new(c"alarm");
static REAL_SET: Real = Real::new(c"setitimer");
static REAL_GET: Real = Real::new(c"getitimer");

type SetAlarm = unsafe extern "C" fn(u32) -> u32;
type Set = unsafe extern "C" fn(c_int, *const Setting, *mut Setting) -> c_int;
type Get = unsafe extern "C" fn(c_int, *mut Setting) -> c_int;

const SIGALRM: c_int = 14;

/// The timer of real time, among those that a process has.
const REAL: c_int = 0;

const SECOND_NS: u64 = 1_000_000_000;

/// When it goes off, and how long after that again, in virtual nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Alarm {
    due: Option<u64>,
    interval: u64,
}

/// libc's `struct timeval`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Length {
    seconds: i64,
    microseconds: i64,
}

impl Length {
    fn from_ns(ns: u64) -> Self {
        // What is left is never nothing.
        let microseconds = ns.div_ceil(1000);
        Self {
            seconds: (microseconds / 1_000_000) as i64,
            microseconds: (microseconds % 1_000_000) as i64,
        }
    }

    /// Nothing for what the system would refuse.
    fn to_ns(self) -> Option<u64> {
        let seconds = u64::try_from(self.seconds).ok()?;
        let rest = u64::try_from(self.microseconds).ok();
        let rest = rest.filter(|&rest| rest < 1_000_000)?;
        Some(
            seconds
                .saturating_mul(SECOND_NS)
                .saturating_add(rest * 1000),
        )
    }
}

/// libc's `struct itimerval`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    interval: Length,
    value: Length,
}

impl Alarm {
    pub(crate) const NONE: Self = Self {
        due: None,
        interval: 0,
    };

    pub(crate) fn due(&self) -> Option<u64> {
        self.due
    }

    fn left(&self, now: u64) -> u64 {
        self.due.map_or(0, |due| due.saturating_sub(now).max(1))
    }

    fn setting(&self, now: u64) -> Setting {
        Setting {
            interval: Length::from_ns(self.interval),
            value: Length::from_ns(self.left(now)),
        }
    }

    fn new(now: u64, length: u64, interval: u64) -> Self {
        Self {
            due: (length > 0).then(|| now.saturating_add(length)),
            interval,
        }
    }
}

impl State {
    /// Sends the alarm if its time has come. True if somebody goes on.
    pub(crate) fn go_off(&mut self) -> bool {
        let now = self.now;
        let Some(due) = self.alarm.due.filter(|&due| due <= now) else {
            return false;
        };
        let interval = self.alarm.interval;
        self.alarm.due = (interval > 0).then(|| {
            let missed = (now - due) / interval;
            due.saturating_add((missed + 1).saturating_mul(interval))
        });
        let before = self.ready.len();
        if let Some(info) = Info::new(SIGALRM, Code::Kernel, 0) {
            self.send_to_process(None, info);
        }
        self.ready.len() > before
    }
}

/// The engine's state, if the calling thread's alarm is the engine's affair.
fn ours() -> Option<(Inside, Guard<'static, State>)> {
    let slot = me::managed().filter(|_| process::is_managed())?;
    let inside = Inside::enter();
    Some((inside, turn::enter_briefly(slot)))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn alarm(seconds: u32) -> u32 {
    let Some((_inside, mut state)) = ours() else {
        // SAFETY: libc's function of this name and type.
        let real: SetAlarm = unsafe { mem::transmute(REAL_ALARM.get()) };
        // SAFETY: the caller's own call.
        return unsafe { real(seconds) };
    };
    let now = state.now;
    let before = mem::replace(
        &mut state.alarm,
        Alarm::new(now, u64::from(seconds) * SECOND_NS, 0),
    );
    // As Linux rounds it.
    match before.left(now) {
        0 => 0,
        left => ((left + SECOND_NS / 2) / SECOND_NS).max(1) as u32,
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn setitimer(
    which: c_int,
    new: *const Setting,
    old: *mut Setting,
) -> c_int {
    let ours = (which == REAL).then(ours).flatten();
    let Some((_inside, mut state)) = ours else {
        // SAFETY: libc's function of this name and type.
        let real: Set = unsafe { mem::transmute(REAL_SET.get()) };
        // SAFETY: the caller's own call.
        return unsafe { real(which, new, old) };
    };
    let now = state.now;
    // SAFETY: the caller gives a setting; Linux takes none for zeros.
    let wanted = match unsafe { new.as_ref() } {
        Some(new) => new.value.to_ns().zip(new.interval.to_ns()),
        None => Some((0, 0)),
    };
    let Some((value, interval)) = wanted else {
        return libc_result(EINVAL) as c_int;
    };
    let before = mem::replace(&mut state.alarm, Alarm::new(now, value, interval));
    if !old.is_null() {
        // SAFETY: the caller gives room for it.
        unsafe { ptr::write(old, before.setting(now)) };
    }
    0
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getitimer(which: c_int, setting: *mut Setting) -> c_int {
    let ours = (which == REAL).then(ours).flatten();
    let Some((_inside, state)) = ours else {
        // SAFETY: libc's function of this name and type.
        let real: Get = unsafe { mem::transmute(REAL_GET.get()) };
        // SAFETY: the caller's own call.
        return unsafe { real(which, setting) };
    };
    // SAFETY: the caller gives room for it.
    unsafe { setting.write(state.alarm.setting(state.now)) };
    0
}

pub(super) fn anchor() -> usize {
    anchored(&[
        alarm as *const () as usize,
        setitimer as *const () as usize,
        getitimer as *const () as usize,
    ])
}
