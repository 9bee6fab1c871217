//! Calls that wait for something to come in: data, connections, the answer to
//! a connection of one's own.

use std::ffi::{c_int, c_void};
use std::mem;

use super::descriptor::{self, Address, Limit, PollFd};
use super::waiting::{Until, Waited, gives, in_vain, takes, wait};
use super::{Call, inside, loopback, timers};
use crate::handover::Slot;
use crate::me;
use crate::random;
use crate::real::{Real, anchored, errno, set_errno};

static REAL_READ: Real = Real::new(c"read");
static REAL_READV: Real = Real::new(c"readv");
static REAL_RECV: Real = Real::new(c"recv");
static REAL_RECVFROM: Real = Real::new(c"recvfrom");
static REAL_RECVMSG: Real = Real::new(c"recvmsg");
static REAL_ACCEPT: Real = Real::new(c"accept");
static REAL_ACCEPT4: Real = Real::new(c"accept4");
static REAL_CONNECT: Real = Real::new(c"connect");

type Read = unsafe extern "C" fn(c_int, *mut c_void, usize) -> isize;
type Readv = unsafe extern "C" fn(c_int, *const c_void, c_int) -> isize;
type Recv = unsafe extern "C" fn(c_int, *mut c_void, usize, c_int) -> isize;
type RecvFrom =
    unsafe extern "C" fn(c_int, *mut c_void, usize, c_int, *mut c_void, *mut u32) -> isize;
type RecvMsg = unsafe extern "C" fn(c_int, *mut c_void, c_int) -> isize;
type Accept = unsafe extern "C" fn(c_int, *mut c_void, *mut u32) -> c_int;
type Accept4 = unsafe extern "C" fn(c_int, *mut c_void, *mut u32, c_int) -> c_int;
type Connect = unsafe extern "C" fn(c_int, *const c_void, u32) -> c_int;

const INTERRUPTED: c_int = 4;
const AGAIN: c_int = 11;
const IN_PROGRESS: c_int = 115;
const ALREADY: c_int = 114;

/// What is read from a timer is a number of so many bytes.
const EXPIRATIONS: isize = 8;

/// The caller does not want to wait, or asks for what is always there.
const DONT_WAIT: c_int = 0x40;
const ERROR_QUEUE: c_int = 0x2000;

/// Makes a call that waits for input, when there is some.
fn receive(name: &'static str, descriptor: c_int, flags: c_int, real: impl Fn() -> isize) -> isize {
    let Some(slot) = me::managed() else {
        return real();
    };
    if flags & (DONT_WAIT | ERROR_QUEUE) == 0
        && let Err(error) = await_input(slot, name, descriptor)
    {
        set_errno(error);
        return -1;
    }
    let result = real();
    if result >= 0 {
        takes(slot);
        inside::has_met(slot, descriptor);
    } else if errno() == AGAIN {
        in_vain(slot);
        set_errno(AGAIN);
    }
    result
}

/// Waits until the call may be made, or says with which error it ends.
fn await_input(slot: &'static Slot, name: &'static str, descriptor: c_int) -> Result<(), c_int> {
    let call = Call {
        name,
        descriptor: Some(descriptor),
    };
    let mut until = None;
    while !descriptor::is_ready(descriptor, PollFd::IN) {
        if descriptor::is_nonblocking(descriptor) {
            return Ok(());
        }
        let until = until.get_or_insert_with(|| Until::of(descriptor, Limit::Receive));
        let asks = [PollFd::new(descriptor, PollFd::IN)];
        match wait(slot, call, &asks, until) {
            Waited::Perhaps | Waited::Interrupted(true) => {}
            Waited::Interrupted(false) => return Err(INTERRUPTED),
            Waited::TimedOut if descriptor::is_ready(descriptor, PollFd::IN) => return Ok(()),
            Waited::TimedOut => return Err(AGAIN),
            Waited::Natively => return Ok(()),
        }
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn read(descriptor: c_int, buffer: *mut c_void, size: usize) -> isize {
    // SAFETY: libc's function of this name and type.
    let real: Read = unsafe { mem::transmute(REAL_READ.get()) };
    // SAFETY: the caller's own call.
    let result = receive("read", descriptor, 0, || unsafe {
        real(descriptor, buffer, size)
    });
    if result == EXPIRATIONS
        && me::managed().is_some()
        && let Some(count) = timers::was_read(descriptor)
    {
        // SAFETY: the system has filled as much of the caller's buffer.
        unsafe { buffer.cast::<u64>().write_unaligned(count) };
    }
    // SAFETY: the system has read so much.
    unsafe { random::was_read(descriptor, buffer, result) };
    result
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn readv(
    descriptor: c_int,
    buffers: *const c_void,
    count: c_int,
) -> isize {
    // SAFETY: libc's function of this name and type.
    let real: Readv = unsafe { mem::transmute(REAL_READV.get()) };
    // SAFETY: the caller's own call.
    receive("readv", descriptor, 0, || unsafe {
        real(descriptor, buffers, count)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn recv(
    socket: c_int,
    buffer: *mut c_void,
    size: usize,
    flags: c_int,
) -> isize {
    // SAFETY: libc's function of this name and type.
    let real: Recv = unsafe { mem::transmute(REAL_RECV.get()) };
    // SAFETY: the caller's own call.
    receive("recv", socket, flags, || unsafe {
        real(socket, buffer, size, flags)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn recvfrom(
    socket: c_int,
    buffer: *mut c_void,
    size: usize,
    flags: c_int,
    address: *mut c_void,
    length: *mut u32,
) -> isize {
    // SAFETY: libc's function of this name and type.
    let real: RecvFrom = unsafe { mem::transmute(REAL_RECVFROM.get()) };
    // SAFETY: the caller's own call.
    receive("recvfrom", socket, flags, || unsafe {
        real(socket, buffer, size, flags, address, length)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn recvmsg(
    socket: c_int,
    message: *mut c_void,
    flags: c_int,
) -> isize {
    // SAFETY: libc's function of this name and type.
    let real: RecvMsg = unsafe { mem::transmute(REAL_RECVMSG.get()) };
    // SAFETY: the caller's own call.
    receive("recvmsg", socket, flags, || unsafe {
        real(socket, message, flags)
    })
}

/// A connection that was accepted is a descriptor that was made.
fn accepted(result: isize) -> c_int {
    if result >= 0
        && let Some(slot) = me::managed()
    {
        inside::was_made(result as c_int);
        inside::has_met(slot, result as c_int);
    }
    result as c_int
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn accept(
    socket: c_int,
    address: *mut c_void,
    length: *mut u32,
) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Accept = unsafe { mem::transmute(REAL_ACCEPT.get()) };
    // SAFETY: the caller's own call.
    accepted(receive("accept", socket, 0, || unsafe {
        real(socket, address, length) as isize
    }))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn accept4(
    socket: c_int,
    address: *mut c_void,
    length: *mut u32,
    flags: c_int,
) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Accept4 = unsafe { mem::transmute(REAL_ACCEPT4.get()) };
    // SAFETY: the caller's own call.
    accepted(receive("accept", socket, 0, || unsafe {
        real(socket, address, length, flags) as isize
    }))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn connect(
    socket: c_int,
    address: *const c_void,
    length: u32,
) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Connect = unsafe { mem::transmute(REAL_CONNECT.get()) };
    // SAFETY: the caller's own call.
    let begin = || unsafe { real(socket, address, length) };
    let Some(slot) = me::managed() else {
        return begin();
    };
    gives(slot);
    // SAFETY: the caller's own address.
    if let Some(address) = unsafe { Address::read(address, length) } {
        inside::sends_to(socket, address);
    }
    inside::has_changed();
    let waits = !descriptor::is_nonblocking(socket);
    if waits {
        descriptor::set_nonblocking(socket, true);
    }
    let result = begin();
    let error = errno();
    inside::has_address(socket);
    loopback::sent();
    if waits {
        descriptor::set_nonblocking(socket, false);
        match (result, error) {
            (-1, IN_PROGRESS | ALREADY) => return await_answer(slot, socket),
            // A local socket whose queue is full: nothing to ask for.
            (-1, AGAIN) => return begin(),
            _ => {}
        }
    }
    if result == 0 {
        inside::has_met(slot, socket);
    }
    set_errno(error);
    result
}

/// Waits until a connection is there, or is not to be had.
fn await_answer(slot: &'static Slot, socket: c_int) -> c_int {
    let call = Call {
        name: "connect",
        descriptor: Some(socket),
    };
    let mut until = Until::of(socket, Limit::Send);
    while !descriptor::is_ready(socket, PollFd::OUT) {
        let asks = [PollFd::new(socket, PollFd::OUT)];
        match wait(slot, call, &asks, &mut until) {
            Waited::Perhaps | Waited::Interrupted(true) => {}
            Waited::Interrupted(false) => {
                set_errno(INTERRUPTED);
                return -1;
            }
            Waited::TimedOut => {
                set_errno(IN_PROGRESS);
                return -1;
            }
            Waited::Natively => {
                let mut asks = asks;
                descriptor::ask(&mut asks, u64::from(u32::MAX) * 1_000_000_000);
            }
        }
    }
    match descriptor::take_error(socket) {
        0 => {
            takes(slot);
            inside::has_met(slot, socket);
            0
        }
        error => {
            set_errno(error);
            -1
        }
    }
}

pub(super) fn anchor() -> usize {
    anchored(&[
        read as *const () as usize,
        readv as *const () as usize,
        recv as *const () as usize,
        recvfrom as *const () as usize,
        recvmsg as *const () as usize,
        accept as *const () as usize,
        accept4 as *const () as usize,
        connect as *const () as usize,
    ])
}

/// Looks up libc's functions: later it may be a signal's handler that calls.
pub(super) fn prepare() {
    let all = [
        &REAL_READ,
        &REAL_READV,
        &REAL_RECV,
        &REAL_RECVFROM,
        &REAL_RECVMSG,
        &REAL_ACCEPT,
        &REAL_ACCEPT4,
        &REAL_CONNECT,
    ];
    for real in all {
        real.get();
    }
}
