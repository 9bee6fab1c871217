//! Calls that wait for room for what is to go out.

use std::ffi::{c_int, c_void};
use std::mem;

use super::descriptor::{self, Address, Kind, Limit, PollFd};
use super::waiting::{Until, Waited, gives, in_vain, wait};
use super::{Call, inside, loopback};
use crate::handover::Slot;
use crate::me::{self, Inside};
use crate::real::{Real, anchored, errno, set_errno};
use crate::thread::Reason;
use crate::turn;

static REAL_WRITE: Real = Real::new(c"write");
static REAL_WRITEV: Real = Real::new(c"writev");
static REAL_SEND: Real = Real::new(c"send");
static REAL_SENDTO: Real = Real::new(c"sendto");
static REAL_SENDMSG: Real = Real::new(c"sendmsg");

type Write = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;
type Writev = unsafe extern "C" fn(c_int, *const Piece, c_int) -> isize;
type Send = unsafe extern "C" fn(c_int, *const c_void, usize, c_int) -> isize;
type SendTo = unsafe extern "C" fn(c_int, *const c_void, usize, c_int, *const c_void, u32) -> isize;
type SendMsg = unsafe extern "C" fn(c_int, *const Message, c_int) -> isize;

const INTERRUPTED: c_int = 4;
const AGAIN: c_int = 11;
const DONT_WAIT: c_int = 0x40;

/// A pipe that has any room has room for so much.
const ROOM: usize = 4096;

/// libc's `struct iovec`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: *const u8,
    size: usize,
}

/// libc's `struct msghdr`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Message {
    address: *const c_void,
    length: u32,
    pieces: *const Piece,
    count: usize,
    control: *const c_void,
    control_size: usize,
    flags: c_int,
}

impl Message {
    fn of(pieces: &[Piece]) -> Self {
        Self {
            address: std::ptr::null(),
            length: 0,
            pieces: pieces.as_ptr(),
            count: pieces.len(),
            control: std::ptr::null(),
            control_size: 0,
            flags: 0,
        }
    }

    /// # Safety
    ///
    /// The pieces must be there.
    unsafe fn pieces(&self) -> &[Piece] {
        if self.count == 0 {
            return &[];
        }
        // SAFETY: the caller vouches for them.
        unsafe { std::slice::from_raw_parts(self.pieces, self.count) }
    }
}

/// What is left of pieces when so many bytes have gone.
fn rest_of(pieces: &[Piece], mut gone: usize) -> Vec<Piece> {
    let mut rest = Vec::new();
    for piece in pieces {
        let part = gone.min(piece.size);
        gone -= part;
        if part < piece.size {
            rest.push(Piece {
                start: piece.start.wrapping_add(part),
                size: piece.size - part,
            });
        }
    }
    rest
}

/// Waits for room, or says with which error the call ends. True if it is not
/// for the engine to wait.
fn await_room(
    slot: &'static Slot,
    name: &'static str,
    descriptor: c_int,
    until: &mut Option<Until>,
) -> Result<bool, c_int> {
    let call = Call {
        name,
        descriptor: Some(descriptor),
    };
    let until = until.get_or_insert_with(|| Until::of(descriptor, Limit::Send));
    let asks = [PollFd::new(descriptor, PollFd::OUT)];
    match wait(slot, call, &asks, until) {
        Waited::Perhaps | Waited::Interrupted(true) => Ok(false),
        Waited::Natively => Ok(true),
        Waited::Interrupted(false) => Err(INTERRUPTED),
        Waited::TimedOut => Err(AGAIN),
    }
}

/// Sends a message through a socket, all of it if its calls wait.
///
/// # Safety
///
/// The message must be one that `sendmsg` takes.
unsafe fn send_all(
    slot: &'static Slot,
    name: &'static str,
    socket: c_int,
    message: &Message,
    flags: c_int,
) -> isize {
    // SAFETY: libc's function of this name and type.
    let real: SendMsg = unsafe { mem::transmute(REAL_SENDMSG.get()) };
    // SAFETY: the caller vouches for the message, and for what is in it.
    let (pieces, address) = unsafe {
        let address = Address::read(message.address, message.length);
        (message.pieces(), address)
    };
    gives(slot);
    if let Some(address) = address {
        inside::sends_to(socket, address);
    }
    let size: usize = pieces.iter().map(|piece| piece.size).sum();
    let mut until = None;
    let mut gone = 0;
    let mut rest: Vec<Piece>;
    let mut next = *message;
    loop {
        // SAFETY: the caller's own message, or what is left of it.
        let result = unsafe { real(socket, &raw const next, flags | DONT_WAIT) };
        let error = errno();
        loopback::sent();
        if result >= 0 {
            gone += result as usize;
            if gone < size {
                found_no_room(slot, socket);
            }
            if gone >= size || flags & DONT_WAIT != 0 || descriptor::is_nonblocking(socket) {
                return gone as isize;
            }
            // What went with it has gone with the first part.
            rest = rest_of(pieces, gone);
            next = Message::of(&rest);
            continue;
        }
        if error == AGAIN {
            found_no_room(slot, socket);
        }
        let waits = error == AGAIN && flags & DONT_WAIT == 0 && !descriptor::is_nonblocking(socket);
        if !waits {
            if error == AGAIN {
                in_vain(slot);
            }
            set_errno(error);
            return if gone > 0 { gone as isize } else { -1 };
        }
        if descriptor::is_ready(socket, PollFd::OUT) {
            // The queue of a local peer is full, which nobody can ask for.
            let _inside = Inside::enter();
            turn::yield_turn(slot);
            continue;
        }
        match await_room(slot, name, socket, &mut until) {
            Ok(true) => {
                // SAFETY: as above.
                let result = unsafe { real(socket, &raw const next, flags) };
                return if gone > 0 {
                    (gone as isize) + result.max(0)
                } else {
                    result
                };
            }
            Ok(false) => {}
            Err(error) => {
                set_errno(error);
                return if gone > 0 { gone as isize } else { -1 };
            }
        }
    }
}

/// The buffers of a socket are full. How much those of a connection take is up
/// to the system, and differs from run to run.
fn found_no_room(slot: &'static Slot, socket: c_int) {
    let _inside = Inside::enter();
    if descriptor::is_tcp(socket) {
        turn::enter_briefly(slot).note_inexact_once(slot.id, Reason::Room);
    }
}

/// Writes into a pipe, all of it if its calls wait; never more at once than
/// there is room for.
///
/// # Safety
///
/// The pieces must be such as `writev` takes.
unsafe fn fill(slot: &'static Slot, name: &'static str, pipe: c_int, pieces: &[Piece]) -> isize {
    // SAFETY: libc's function of this name and type.
    let real: Writev = unsafe { mem::transmute(REAL_WRITEV.get()) };
    // SAFETY: the caller vouches for them.
    let whole = |pieces: &[Piece]| unsafe { real(pipe, pieces.as_ptr(), pieces.len() as c_int) };
    gives(slot);
    let size: usize = pieces.iter().map(|piece| piece.size).sum();
    let mut gone = 0;
    while gone == 0 || gone < size {
        if !descriptor::is_ready(pipe, PollFd::OUT) {
            // Whoever reads what the process prints is outside, and is quick.
            if gone == 0 && (descriptor::is_nonblocking(pipe) || inside::is_inherited(pipe)) {
                return whole(pieces);
            }
            match await_room(slot, name, pipe, &mut None) {
                Ok(true) => {
                    let result = whole(&rest_of(pieces, gone));
                    return gone as isize + result.max(if gone > 0 { 0 } else { -1 });
                }
                Ok(false) => continue,
                Err(error) => {
                    set_errno(error);
                    return if gone > 0 { gone as isize } else { -1 };
                }
            }
        }
        if gone == 0 && size <= ROOM {
            return whole(pieces);
        }
        if descriptor::is_nonblocking(pipe) {
            let result = whole(&rest_of(pieces, gone));
            return gone as isize + result.max(if gone > 0 { 0 } else { -1 });
        }
        let mut first = rest_of(pieces, gone)[0];
        first.size = first.size.min(ROOM);
        let result = whole(&[first]);
        if result < 0 {
            return if gone > 0 { gone as isize } else { result };
        }
        gone += result as usize;
    }
    gone as isize
}

/// Writes to anything, by the function that was called if it would not wait.
///
/// # Safety
///
/// The pieces must be such as `writev` takes.
unsafe fn write_all(
    name: &'static str,
    descriptor: c_int,
    pieces: &[Piece],
    real: impl Fn() -> isize,
) -> isize {
    let Some(slot) = me::managed() else {
        return real();
    };
    match descriptor::look(descriptor).map(|(kind, _)| kind) {
        // SAFETY: the caller vouches for the pieces.
        Some(Kind::Socket) => unsafe { send_all(slot, name, descriptor, &Message::of(pieces), 0) },
        // SAFETY: the caller vouches for the pieces.
        Some(Kind::Pipe) => unsafe { fill(slot, name, descriptor, pieces) },
        Some(Kind::Anonymous) => {
            gives(slot);
            while !descriptor::is_ready(descriptor, PollFd::OUT)
                && !descriptor::is_nonblocking(descriptor)
            {
                match await_room(slot, name, descriptor, &mut None) {
                    Ok(false) => {}
                    Ok(true) => break,
                    Err(error) => {
                        set_errno(error);
                        return -1;
                    }
                }
            }
            real()
        }
        Some(Kind::File | Kind::Device) | None => real(),
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn write(
    descriptor: c_int,
    bytes: *const c_void,
    size: usize,
) -> isize {
    // SAFETY: libc's function of this name and type.
    let real: Write = unsafe { mem::transmute(REAL_WRITE.get()) };
    let pieces = [Piece {
        start: bytes.cast(),
        size,
    }];
    // SAFETY: the caller's own call.
    unsafe {
        write_all("write", descriptor, &pieces, || {
            real(descriptor, bytes, size)
        })
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn writev(
    descriptor: c_int,
    pieces: *const c_void,
    count: c_int,
) -> isize {
    // SAFETY: libc's function of this name and type.
    let real: Writev = unsafe { mem::transmute(REAL_WRITEV.get()) };
    let pieces = pieces.cast::<Piece>();
    let real = || {
        // SAFETY: the caller's own call.
        unsafe { real(descriptor, pieces, count) }
    };
    let all = match usize::try_from(count) {
        // SAFETY: the caller has so many.
        Ok(count) if (1..=1024).contains(&count) => unsafe {
            std::slice::from_raw_parts(pieces, count)
        },
        _ => return real(),
    };
    // SAFETY: the caller's own pieces.
    unsafe { write_all("writev", descriptor, all, real) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn send(
    socket: c_int,
    bytes: *const c_void,
    size: usize,
    flags: c_int,
) -> isize {
    let Some(slot) = me::managed() else {
        // SAFETY: libc's function of this name and type.
        let real: Send = unsafe { mem::transmute(REAL_SEND.get()) };
        // SAFETY: the caller's own call.
        return unsafe { real(socket, bytes, size, flags) };
    };
    let pieces = [Piece {
        start: bytes.cast(),
        size,
    }];
    // SAFETY: the caller's own bytes.
    unsafe { send_all(slot, "send", socket, &Message::of(&pieces), flags) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sendto(
    socket: c_int,
    bytes: *const c_void,
    size: usize,
    flags: c_int,
    address: *const c_void,
    length: u32,
) -> isize {
    let Some(slot) = me::managed() else {
        // SAFETY: libc's function of this name and type.
        let real: SendTo = unsafe { mem::transmute(REAL_SENDTO.get()) };
        // SAFETY: the caller's own call.
        return unsafe { real(socket, bytes, size, flags, address, length) };
    };
    let pieces = [Piece {
        start: bytes.cast(),
        size,
    }];
    let message = Message {
        address,
        length,
        ..Message::of(&pieces)
    };
    // SAFETY: the caller's own bytes and address.
    unsafe { send_all(slot, "sendto", socket, &message, flags) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sendmsg(
    socket: c_int,
    message: *const c_void,
    flags: c_int,
) -> isize {
    let message = message.cast::<Message>();
    let Some(slot) = me::managed() else {
        // SAFETY: libc's function of this name and type.
        let real: SendMsg = unsafe { mem::transmute(REAL_SENDMSG.get()) };
        // SAFETY: the caller's own call.
        return unsafe { real(socket, message, flags) };
    };
    // SAFETY: the caller's own message.
    unsafe { send_all(slot, "sendmsg", socket, &*message, flags) }
}

pub(super) fn anchor() -> usize {
    anchored(&[
        write as *const () as usize,
        writev as *const () as usize,
        send as *const () as usize,
        sendto as *const () as usize,
        sendmsg as *const () as usize,
    ])
}

/// Looks up libc's functions: later it may be a signal's handler that calls.
pub(super) fn prepare() {
    let all = [
        &REAL_WRITE,
        &REAL_WRITEV,
        &REAL_SEND,
        &REAL_SENDTO,
        &REAL_SENDMSG,
    ];
    for real in all {
        real.get();
    }
}
