//! Calls that wait for one of many descriptors.

use std::ffi::{c_int, c_void};
use std::mem;

use super::descriptor::PollFd;
use super::waiting::{Until, Waited, in_vain, takes, wait};
use super::{Call, loopback};
use crate::handover::Slot;
use crate::interpose::libc_result;
use crate::me::{self, Inside};
use crate::raw::{EINTR, Timespec};
use crate::real::{Real, anchored};

static REAL_POLL: Real = Real::new(c"poll");
static REAL_PPOLL: Real = Real::new(c"ppoll");
static REAL_SELECT: Real = Real::new(c"select");
static REAL_PSELECT: Real = Real::new(c"pselect");
static REAL_EPOLL_WAIT: Real = Real::new(c"epoll_wait");
static REAL_EPOLL_PWAIT: Real = Real::new(c"epoll_pwait");
static REAL_EPOLL_PWAIT2: Real = Real::new(c"epoll_pwait2");

type Poll = unsafe extern "C" fn(*mut PollFd, u64, c_int) -> c_int;
type Ppoll = unsafe extern "C" fn(*mut PollFd, u64, *const Timespec, *const c_void) -> c_int;
type Select = unsafe extern "C" fn(c_int, *mut Set, *mut Set, *mut Set, *mut Timeval) -> c_int;
type Pselect = unsafe extern "C" fn(
    c_int,
    *mut Set,
    *mut Set,
    *mut Set,
    *const Timespec,
    *const c_void,
) -> c_int;
type EpollWait = unsafe extern "C" fn(c_int, *mut c_void, c_int, c_int) -> c_int;
type EpollPwait = unsafe extern "C" fn(c_int, *mut c_void, c_int, c_int, *const c_void) -> c_int;
type EpollPwait2 =
    unsafe extern "C" fn(c_int, *mut c_void, c_int, *const Timespec, *const c_void) -> c_int;

static ZERO: Timespec = Timespec {
    seconds: 0,
    nanoseconds: 0,
};

/// libc's `struct timeval`.
#[repr(C)]
pub(super) struct Timeval {
    seconds: i64,
    microseconds: i64,
}

/// libc's `fd_set`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Set([u64; 16]);

/// A length in milliseconds; less than none is for ever.
fn milliseconds(length: c_int) -> Option<u64> {
    let length = u64::try_from(length).ok()?;
    Some(length * 1_000_000)
}

/// A call for one of many, which `once` makes without waiting.
struct Wanted {
    call: Call,
    /// How long it may wait, in nanoseconds; for ever if there is nothing.
    limit: Option<u64>,
}

impl Wanted {
    fn get(
        &self,
        slot: &'static Slot,
        asks: impl FnOnce() -> Vec<PollFd>,
        mut once: impl FnMut() -> c_int,
        natively: impl FnOnce() -> c_int,
    ) -> c_int {
        {
            let _inside = Inside::enter();
            loopback::arrive();
        }
        let mut result = once();
        if result == 0 && self.limit == Some(0) {
            in_vain(slot);
            return 0;
        }
        let mut until = Until::after(self.limit);
        let mut asked = None;
        let mut asks = Some(asks);
        while result == 0 {
            let asked = asked.get_or_insert_with(|| asks.take().map(|asks| asks()));
            let asked = asked.as_deref().unwrap_or_default();
            match wait(slot, self.call, asked, &mut until) {
                Waited::Perhaps => result = once(),
                Waited::TimedOut => {
                    result = once();
                    break;
                }
                // No call goes on that waits for one of many.
                Waited::Interrupted(_) => return libc_result(EINTR) as c_int,
                Waited::Natively => return natively(),
            }
        }
        if result > 0 {
            takes(slot);
        }
        result
    }
}

/// # Safety
///
/// There must be so many entries, or none.
unsafe fn entries(entries: *const PollFd, count: u64) -> Vec<PollFd> {
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: the caller vouches for it.
    let entries = unsafe { std::slice::from_raw_parts(entries, count as usize) };
    let open = entries.iter().filter(|entry| entry.descriptor >= 0);
    let open = open.map(|entry| PollFd::new(entry.descriptor, entry.events));
    open.collect()
}

fn only(asks: &[PollFd]) -> Option<c_int> {
    match asks {
        [one] => Some(one.descriptor),
        _ => None,
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn poll(polled: *mut PollFd, count: u64, timeout: c_int) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Poll = unsafe { mem::transmute(REAL_POLL.get()) };
    // SAFETY: the caller's own call, with a time-out of its own or none.
    let call = |timeout| unsafe { real(polled, count, timeout) };
    let Some(slot) = me::managed() else {
        return call(timeout);
    };
    let wanted = Wanted {
        call: Call {
            name: "poll",
            // SAFETY: the caller's own entries.
            descriptor: (count == 1).then(|| unsafe { (*polled).descriptor }),
        },
        limit: milliseconds(timeout),
    };
    // SAFETY: the caller's own entries.
    let asks = || unsafe { entries(polled, count) };
    wanted.get(slot, asks, || call(0), || call(timeout))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn ppoll(
    polled: *mut PollFd,
    count: u64,
    timeout: *const Timespec,
    mask: *const c_void,
) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Ppoll = unsafe { mem::transmute(REAL_PPOLL.get()) };
    // SAFETY: the caller's own call, with a time-out of its own or none.
    let call = |timeout: *const Timespec| unsafe { real(polled, count, timeout, mask) };
    // SAFETY: the caller gives a time or none.
    let limit = unsafe { timeout.as_ref() }.map(|timeout| timeout.to_ns());
    let (Some(slot), None | Some(Some(_))) = (me::managed(), limit) else {
        return call(timeout);
    };
    // SAFETY: the caller's own entries.
    let asks = unsafe { entries(polled, count) };
    let wanted = Wanted {
        call: Call {
            name: "ppoll",
            descriptor: only(&asks),
        },
        limit: limit.flatten(),
    };
    wanted.get(slot, || asks, || call(&raw const ZERO), || call(timeout))
}

/// The sets of a `select`, as they were and as they are answered.
struct Sets {
    count: c_int,
    given: [*mut Set; 3],
    asked: [Option<Set>; 3],
}

impl Sets {
    /// # Safety
    ///
    /// The sets must be there, or null.
    unsafe fn new(count: c_int, given: [*mut Set; 3]) -> Self {
        let words = usize::try_from(count).unwrap_or_default().div_ceil(64);
        let asked = given.map(|set| {
            (!set.is_null()).then(|| {
                let mut copy = Set([0; 16]);
                for word in 0..words.min(16) {
                    // SAFETY: the caller vouches for so many words at least.
                    copy.0[word] = unsafe { (*set).0[word] };
                }
                copy
            })
        });
        Self {
            count,
            given,
            asked,
        }
    }

    /// Sets them as they were.
    fn restore(&self) {
        let words = usize::try_from(self.count).unwrap_or_default().div_ceil(64);
        for (given, asked) in self.given.iter().zip(&self.asked) {
            if let Some(asked) = asked {
                for word in 0..words.min(16) {
                    // SAFETY: as in `new`.
                    unsafe { (**given).0[word] = asked.0[word] };
                }
            }
        }
    }

    fn asks(&self) -> Vec<PollFd> {
        const EVENTS: [i16; 3] = [PollFd::IN, PollFd::OUT, PollFd::PRIORITY];
        let mut asks = Vec::new();
        for number in 0..self.count.min(1024) {
            let index = number as usize;
            let is_in = |set: &Option<Set>| {
                set.is_some_and(|set| set.0[index / 64] >> (index % 64) & 1 == 1)
            };
            let events = self.asked.iter().zip(EVENTS).filter(|(set, _)| is_in(set));
            let events = events.fold(0, |all, (_, event)| all | event);
            if events != 0 {
                asks.push(PollFd::new(number, events));
            }
        }
        asks
    }

    /// A `select` of any kind.
    fn get(
        &self,
        slot: &'static Slot,
        name: &'static str,
        limit: Option<u64>,
        once: impl Fn() -> c_int,
        natively: impl FnOnce() -> c_int,
    ) -> c_int {
        let asks = self.asks();
        let call = Call {
            name,
            descriptor: only(&asks),
        };
        let once = || {
            self.restore();
            once()
        };
        let natively = || {
            self.restore();
            natively()
        };
        Wanted { call, limit }.get(slot, || asks, once, natively)
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn select(
    count: c_int,
    input: *mut Set,
    output: *mut Set,
    except: *mut Set,
    timeout: *mut Timeval,
) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Select = unsafe { mem::transmute(REAL_SELECT.get()) };
    let call = |timeout| {
        // SAFETY: the caller's own call, with a time-out of its own or none.
        unsafe { real(count, input, output, except, timeout) }
    };
    // SAFETY: the caller gives a time or none.
    let limit = unsafe { timeout.as_ref() }.map(|time| {
        let seconds = u64::try_from(time.seconds).ok()?;
        let rest = u64::try_from(time.microseconds).ok()?;
        let seconds = seconds.saturating_mul(1_000_000_000);
        Some(seconds.saturating_add(rest.saturating_mul(1000)))
    });
    let (Some(slot), None | Some(Some(_))) = (me::managed(), limit) else {
        return call(timeout);
    };
    let once = || {
        let mut zero = Timeval {
            seconds: 0,
            microseconds: 0,
        };
        call(&raw mut zero)
    };
    // SAFETY: the caller's own sets.
    let sets = unsafe { Sets::new(count, [input, output, except]) };
    sets.get(slot, "select", limit.flatten(), once, || call(timeout))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pselect(
    count: c_int,
    input: *mut Set,
    output: *mut Set,
    except: *mut Set,
    timeout: *const Timespec,
    mask: *const c_void,
) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Pselect = unsafe { mem::transmute(REAL_PSELECT.get()) };
    let call = |timeout: *const Timespec| {
        // SAFETY: the caller's own call, with a time-out of its own or none.
        unsafe { real(count, input, output, except, timeout, mask) }
    };
    // SAFETY: the caller gives a time or none.
    let limit = unsafe { timeout.as_ref() }.map(|timeout| timeout.to_ns());
    let (Some(slot), None | Some(Some(_))) = (me::managed(), limit) else {
        return call(timeout);
    };
    // SAFETY: the caller's own sets.
    let sets = unsafe { Sets::new(count, [input, output, except]) };
    let once = || call(&raw const ZERO);
    sets.get(slot, "pselect", limit.flatten(), once, || call(timeout))
}

/// A wait for what an `epoll` watches.
fn epoll(
    slot: &'static Slot,
    name: &'static str,
    epoll: c_int,
    limit: Option<u64>,
    once: impl Fn() -> c_int,
    natively: impl FnOnce() -> c_int,
) -> c_int {
    let call = Call {
        name,
        descriptor: Some(epoll),
    };
    let asks = || vec![PollFd::new(epoll, PollFd::IN)];
    Wanted { call, limit }.get(slot, asks, once, natively)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_wait(
    number: c_int,
    events: *mut c_void,
    count: c_int,
    timeout: c_int,
) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: EpollWait = unsafe { mem::transmute(REAL_EPOLL_WAIT.get()) };
    // SAFETY: the caller's own call, with a time-out of its own or none.
    let call = |timeout| unsafe { real(number, events, count, timeout) };
    let Some(slot) = me::managed() else {
        return call(timeout);
    };
    let limit = milliseconds(timeout);
    epoll(
        slot,
        "epoll_wait",
        number,
        limit,
        || call(0),
        || call(timeout),
    )
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_pwait(
    number: c_int,
    events: *mut c_void,
    count: c_int,
    timeout: c_int,
    mask: *const c_void,
) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: EpollPwait = unsafe { mem::transmute(REAL_EPOLL_PWAIT.get()) };
    // SAFETY: the caller's own call, with a time-out of its own or none.
    let call = |timeout| unsafe { real(number, events, count, timeout, mask) };
    let Some(slot) = me::managed() else {
        return call(timeout);
    };
    let limit = milliseconds(timeout);
    epoll(
        slot,
        "epoll_pwait",
        number,
        limit,
        || call(0),
        || call(timeout),
    )
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_pwait2(
    number: c_int,
    events: *mut c_void,
    count: c_int,
    timeout: *const Timespec,
    mask: *const c_void,
) -> c_int {
    const NO_SUCH_CALL: isize = -38;
    let real = REAL_EPOLL_PWAIT2.get();
    if real.is_null() {
        return libc_result(NO_SUCH_CALL) as c_int;
    }
    // SAFETY: libc's function of this name and type.
    let real: EpollPwait2 = unsafe { mem::transmute(real) };
    // SAFETY: the caller's own call, with a time-out of its own or none.
    let call = |timeout: *const Timespec| unsafe { real(number, events, count, timeout, mask) };
    // SAFETY: the caller gives a time or none.
    let limit = unsafe { timeout.as_ref() }.map(|timeout| timeout.to_ns());
    let (Some(slot), None | Some(Some(_))) = (me::managed(), limit) else {
        return call(timeout);
    };
    let once = || call(&raw const ZERO);
    let limit = limit.flatten();
    epoll(slot, "epoll_pwait2", number, limit, once, || call(timeout))
}

pub(super) fn anchor() -> usize {
    anchored(&[
        poll as *const () as usize,
        ppoll as *const () as usize,
        select as *const () as usize,
        pselect as *const () as usize,
        epoll_wait as *const () as usize,
        epoll_pwait as *const () as usize,
        epoll_pwait2 as *const () as usize,
    ])
}
