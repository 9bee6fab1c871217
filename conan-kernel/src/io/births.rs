//! Calls that make descriptors and end them. None of them waits; what they do
//! changes who is behind a descriptor.

use std::ffi::{c_int, c_void};
use std::mem;

use super::descriptor::{self, Kind};
use super::{inside, loopback, timers};
use crate::me;
use crate::real::{Real, anchored};

static REAL_SOCKET: Real = Real::new(c"socket");
static REAL_SOCKETPAIR: Real = Real::new(c"socketpair");
static REAL_PIPE: Real = Real::new(c"pipe");
static REAL_PIPE2: Real = Real::new(c"pipe2");
static REAL_EVENTFD: Real = Real::new(c"eventfd");
static REAL_EPOLL_CREATE: Real = Real::new(c"epoll_create");
static REAL_EPOLL_CREATE1: Real = Real::new(c"epoll_create1");
static REAL_EPOLL_CTL: Real = Real::new(c"epoll_ctl");
static REAL_BIND: Real = Real::new(c"bind");
static REAL_LISTEN: Real = Real::new(c"listen");
static REAL_SHUTDOWN: Real = Real::new(c"shutdown");
static REAL_CLOSE: Real = Real::new(c"close");

type OfOne = unsafe extern "C" fn(c_int) -> c_int;
type OfTwo = unsafe extern "C" fn(c_int, c_int) -> c_int;
type OfThree = unsafe extern "C" fn(c_int, c_int, c_int) -> c_int;
type Socketpair = unsafe extern "C" fn(c_int, c_int, c_int, *mut c_int) -> c_int;
type Pipe = unsafe extern "C" fn(*mut c_int) -> c_int;
type Pipe2 = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
type EpollCtl = unsafe extern "C" fn(c_int, c_int, c_int, *mut c_void) -> c_int;
type Bind = unsafe extern "C" fn(c_int, *const c_void, u32) -> c_int;

/// A descriptor, or -1.
pub(super) fn made(number: c_int) -> c_int {
    if number >= 0 && me::managed().is_some() {
        inside::was_made(number);
    }
    number
}

/// Two of them, if the call went well.
///
/// # Safety
///
/// There must be two if the result is 0.
unsafe fn made_both(result: c_int, pair: *const c_int) -> c_int {
    if result == 0 {
        // SAFETY: the caller vouches for it.
        let [one, other] = unsafe { *pair.cast::<[c_int; 2]>() };
        made(one);
        made(other);
    }
    result
}

/// What was true of descriptors may be true no more.
fn changed(result: c_int) -> c_int {
    if me::managed().is_some() {
        inside::has_changed();
    }
    result
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: OfThree = unsafe { mem::transmute(REAL_SOCKET.get()) };
    // SAFETY: the caller's own call.
    made(unsafe { real(family, kind, protocol) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn socketpair(
    family: c_int,
    kind: c_int,
    protocol: c_int,
    pair: *mut c_int,
) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Socketpair = unsafe { mem::transmute(REAL_SOCKETPAIR.get()) };
    // SAFETY: the caller's own call, with room for two.
    unsafe { made_both(real(family, kind, protocol, pair), pair) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pipe(pair: *mut c_int) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Pipe = unsafe { mem::transmute(REAL_PIPE.get()) };
    // SAFETY: the caller's own call, with room for two.
    unsafe { made_both(real(pair), pair) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pipe2(pair: *mut c_int, flags: c_int) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Pipe2 = unsafe { mem::transmute(REAL_PIPE2.get()) };
    // SAFETY: the caller's own call, with room for two.
    unsafe { made_both(real(pair, flags), pair) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn eventfd(value: c_int, flags: c_int) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: OfTwo = unsafe { mem::transmute(REAL_EVENTFD.get()) };
    // SAFETY: the caller's own call.
    made(unsafe { real(value, flags) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_create(size: c_int) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: OfOne = unsafe { mem::transmute(REAL_EPOLL_CREATE.get()) };
    // SAFETY: the caller's own call.
    made(unsafe { real(size) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_create1(flags: c_int) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: OfOne = unsafe { mem::transmute(REAL_EPOLL_CREATE1.get()) };
    // SAFETY: the caller's own call.
    made(unsafe { real(flags) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_ctl(
    epoll: c_int,
    operation: c_int,
    number: c_int,
    event: *mut c_void,
) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: EpollCtl = unsafe { mem::transmute(REAL_EPOLL_CTL.get()) };
    // SAFETY: the caller's own call.
    changed(unsafe { real(epoll, operation, number, event) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn bind(number: c_int, address: *const c_void, length: u32) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Bind = unsafe { mem::transmute(REAL_BIND.get()) };
    // SAFETY: the caller's own call.
    changed(unsafe { real(number, address, length) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn listen(number: c_int, backlog: c_int) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: OfTwo = unsafe { mem::transmute(REAL_LISTEN.get()) };
    // SAFETY: the caller's own call.
    changed(unsafe { real(number, backlog) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn shutdown(number: c_int, how: c_int) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: OfTwo = unsafe { mem::transmute(REAL_SHUTDOWN.get()) };
    // SAFETY: the caller's own call.
    let result = unsafe { real(number, how) };
    if let Some(slot) = me::managed() {
        super::waiting::gives(slot);
        loopback::sent();
    }
    changed(result)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn close(number: c_int) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: OfOne = unsafe { mem::transmute(REAL_CLOSE.get()) };
    let slot = me::managed();
    let kind = slot
        .and_then(|_| descriptor::look(number))
        .map(|(kind, _)| kind);
    if let (Some(slot), Some(Kind::Socket | Kind::Pipe)) = (slot, kind) {
        super::waiting::gives(slot);
    }
    // SAFETY: the caller's own call.
    let result = unsafe { real(number) };
    match kind {
        Some(Kind::Socket) => loopback::sent(),
        Some(Kind::Anonymous) => timers::closed(number),
        _ => {}
    }
    changed(result)
}

pub(super) fn anchor() -> usize {
    anchored(&[
        socket as *const () as usize,
        socketpair as *const () as usize,
        pipe as *const () as usize,
        pipe2 as *const () as usize,
        eventfd as *const () as usize,
        epoll_create as *const () as usize,
        epoll_create1 as *const () as usize,
        epoll_ctl as *const () as usize,
        bind as *const () as usize,
        listen as *const () as usize,
        shutdown as *const () as usize,
        close as *const () as usize,
    ])
}
