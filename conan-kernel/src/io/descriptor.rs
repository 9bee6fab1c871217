//! What the system says of a descriptor. Nothing here blocks, and nothing
//! goes through a function that has been interposed.

use std::ffi::{c_int, c_ulong, c_void};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::raw;

unsafe extern "C" {
    fn ioctl(descriptor: c_int, request: c_ulong, value: *mut c_int) -> c_int;
    fn fcntl(descriptor: c_int, command: c_int, argument: c_int) -> c_int;
    fn getsockopt(
        descriptor: c_int,
        level: c_int,
        name: c_int,
        value: *mut c_void,
        length: *mut u32,
    ) -> c_int;
    fn setsockopt(
        descriptor: c_int,
        level: c_int,
        name: c_int,
        value: *const c_void,
        length: u32,
    ) -> c_int;
    fn getsockname(descriptor: c_int, address: *mut c_void, length: *mut u32) -> c_int;
    fn getpeername(descriptor: c_int, address: *mut c_void, length: *mut u32) -> c_int;
}

/// libc's `struct pollfd`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PollFd {
    pub(crate) descriptor: c_int,
    pub(crate) events: i16,
    pub(crate) found: i16,
}

impl PollFd {
    pub(crate) const IN: i16 = 1;
    pub(crate) const PRIORITY: i16 = 2;
    pub(crate) const OUT: i16 = 4;
    pub(crate) const INVALID: i16 = 0x20;

    pub(crate) fn new(descriptor: c_int, events: i16) -> Self {
        Self {
            descriptor,
            events,
            found: 0,
        }
    }
}

/// Which of them are ready, for a length of real time at most. Signals are
/// nobody's business here: one that comes ends it early.
pub(crate) fn ask(asked: &mut [PollFd], limit_ns: u64) {
    raw::poll(asked.as_mut_ptr().cast(), asked.len(), limit_ns);
}

/// True if a call that waits for this would not wait, or would fail.
pub(crate) fn is_ready(descriptor: c_int, events: i16) -> bool {
    let mut asked = [PollFd::new(descriptor, events)];
    ask(&mut asked, 0);
    asked[0].found != 0
}

/// What a descriptor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pipe,
    Socket,
    /// It is always ready.
    File,
    /// A terminal and its like.
    Device,
    /// What has no inode of its own: `eventfd`, `epoll` and others.
    Anonymous,
}

/// The same for all descriptors of one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Identity {
    Inode(u64, u64),
    Number(c_int),
}

/// Nothing if it is closed.
pub(crate) fn look(descriptor: c_int) -> Option<(Kind, Identity)> {
    let (device, inode, mode) = raw::stat(descriptor)?;
    let kind = match mode & 0o170_000 {
        0o010_000 => Kind::Pipe,
        0o140_000 => Kind::Socket,
        0o020_000 => Kind::Device,
        0 => Kind::Anonymous,
        _ => Kind::File,
    };
    let identity = match kind {
        Kind::Anonymous => Identity::Number(descriptor),
        _ => Identity::Inode(device, inode),
    };
    Some((kind, identity))
}

/// What the system calls it: `pipe:[42]`, `anon_inode:[eventfd]`.
pub(crate) fn name(descriptor: c_int) -> String {
    let path = fs::read_link(format!("/proc/self/fd/{descriptor}"));
    path.map_or_else(
        |_| String::new(),
        |path| path.to_string_lossy().into_owned(),
    )
}

/// What an `epoll` watches.
pub(crate) fn watched(epoll: c_int) -> Vec<c_int> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{epoll}")).unwrap_or_default();
    let entries = text.lines().filter_map(|line| line.strip_prefix("tfd:"));
    let numbers = entries.filter_map(|entry| entry.split_whitespace().next()?.parse().ok());
    numbers.collect()
}

/// The descriptors of this process.
pub(crate) fn all() -> Vec<c_int> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.collect()
}

const GET_FLAGS: c_int = 3;
const SET_FLAGS: c_int = 4;
const NONBLOCK: c_int = 0o4000;

/// True if calls do not wait.
pub(crate) fn is_nonblocking(descriptor: c_int) -> bool {
    // SAFETY: asks for flags only.
    let flags = unsafe { fcntl(descriptor, GET_FLAGS, 0) };
    flags >= 0 && flags & NONBLOCK != 0
}

/// What may be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

/// For what it was opened.
pub(crate) fn access(descriptor: c_int) -> Access {
    const ACCESS: c_int = 3;
    const READ_ONLY: c_int = 0;
    const WRITE_ONLY: c_int = 1;
    // SAFETY: asks for flags only.
    let flags = unsafe { fcntl(descriptor, GET_FLAGS, 0) };
    Access {
        reads: flags >= 0 && flags & ACCESS != WRITE_ONLY,
        writes: flags >= 0 && flags & ACCESS != READ_ONLY,
    }
}

/// From now on calls do not wait, or do again.
pub(crate) fn set_nonblocking(descriptor: c_int, nonblocking: bool) {
    // SAFETY: asks for flags only.
    let flags = unsafe { fcntl(descriptor, GET_FLAGS, 0) };
    let flags = if nonblocking {
        flags | NONBLOCK
    } else {
        flags & !NONBLOCK
    };
    // SAFETY: sets a flag of the caller's own descriptor.
    unsafe { fcntl(descriptor, SET_FLAGS, flags) };
}

const SOCKET: c_int = 1;
const TCP: c_int = 6;

fn option<const N: usize>(descriptor: c_int, level: c_int, name: c_int) -> Option<[u8; N]> {
    let mut value = [0_u8; N];
    let mut length = N as u32;
    // SAFETY: there is as much room as is said.
    let result = unsafe {
        getsockopt(
            descriptor,
            level,
            name,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (result == 0).then_some(value)
}

fn number(descriptor: c_int, name: c_int) -> Option<c_int> {
    option(descriptor, SOCKET, name).map(c_int::from_ne_bytes)
}

/// `AF_INET` and its kin.
pub(crate) fn family(socket: c_int) -> Option<c_int> {
    const DOMAIN: c_int = 39;
    number(socket, DOMAIN)
}

/// True for a stream over IP.
pub(crate) fn is_tcp(socket: c_int) -> bool {
    const PROTOCOL: c_int = 38;
    number(socket, PROTOCOL) == Some(TCP)
}

/// True if connections come to it.
pub(crate) fn listens(socket: c_int) -> bool {
    const ACCEPT_CONN: c_int = 30;
    number(socket, ACCEPT_CONN) == Some(1)
}

/// True for a stream over IP from which nothing new can come: the other end is
/// closed.
pub(crate) fn has_ended(socket: c_int) -> bool {
    const INFO: c_int = 11;
    // TIME_WAIT, CLOSE, CLOSE_WAIT, LAST_ACK, CLOSING
    const ENDED: [u8; 5] = [6, 7, 8, 9, 11];
    let state: Option<[u8; 1]> = option(socket, TCP, INFO);
    state.is_some_and(|[state]| ENDED.contains(&state))
}

/// The process at the other end of a local socket, 0 if there is none.
pub(crate) fn peer_process(socket: c_int) -> u32 {
    const PEER_CREDENTIALS: c_int = 17;
    let credentials: Option<[u8; 12]> = option(socket, SOCKET, PEER_CREDENTIALS);
    credentials.map_or(0, |bytes| {
        u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    })
}

/// What went wrong with a connection, once.
pub(crate) fn take_error(socket: c_int) -> c_int {
    const ERROR: c_int = 4;
    number(socket, ERROR).unwrap_or_default()
}

/// How long a socket's calls wait for input, or for room for output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Receive,
    Send,
}

/// Nothing for what is no socket, and where there is no limit.
pub(crate) fn limit_ns(descriptor: c_int, limit: Limit) -> Option<u64> {
    let name = match limit {
        Limit::Receive => 20,
        Limit::Send => 21,
    };
    let value: [u8; 16] = option(descriptor, SOCKET, name)?;
    let word = |from: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&value[from..from + 8]);
        u64::from_ne_bytes(bytes)
    };
    let length = word(0)
        .saturating_mul(1_000_000_000)
        .saturating_add(word(8).saturating_mul(1000));
    (length > 0).then_some(length)
}

/// Makes a TCP socket acknowledge at once what it has received.
pub(crate) fn acknowledge(socket: c_int) {
    const QUICK_ACK: c_int = 12;
    let yes: c_int = 1;
    // SAFETY: the value is as long as is said.
    unsafe { setsockopt(socket, TCP, QUICK_ACK, (&raw const yes).cast(), 4) };
}

/// An address of a socket over IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(crate) ip: IpAddr,
    pub(crate) port: u16,
}

impl Address {
    /// Nothing if it is none over IP.
    ///
    /// # Safety
    ///
    /// There must be so many bytes.
    pub(crate) unsafe fn read(address: *const c_void, length: u32) -> Option<Self> {
        if address.is_null() || !(2..=128).contains(&length) {
            return None;
        }
        // SAFETY: the caller vouches for it.
        let bytes = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length as usize) };
        Self::parse(bytes)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        const INET: u16 = 2;
        const INET6: u16 = 10;
        let port = u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]);
        let ip = match u16::from_ne_bytes([bytes[0], bytes[1]]) {
            INET => {
                let ip: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
                IpAddr::V4(Ipv4Addr::from(ip))
            }
            INET6 => {
                let ip: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
                IpAddr::V6(Ipv6Addr::from(ip))
            }
            _ => return None,
        };
        let ip = ip.to_canonical();
        Some(Self { ip, port })
    }

    pub(crate) fn is_loopback(&self) -> bool {
        self.ip.is_loopback() || self.ip.is_unspecified()
    }
}

type Ask = unsafe extern "C" fn(c_int, *mut c_void, *mut u32) -> c_int;

fn address(socket: c_int, ask: Ask) -> Option<Address> {
    let mut bytes = [0_u8; 128];
    let mut length = 128;
    // SAFETY: there is as much room as is said.
    let result = unsafe { ask(socket, bytes.as_mut_ptr().cast(), &raw mut length) };
    (result == 0)
        .then(|| Address::parse(&bytes[..length as usize]))
        .flatten()
}

/// Where a socket is.
pub(crate) fn own_address(socket: c_int) -> Option<Address> {
    address(socket, getsockname)
}

/// What it is connected to.
pub(crate) fn peer_address(socket: c_int) -> Option<Address> {
    address(socket, getpeername)
}

/// How much a stream has sent, or is yet to send, that has not been
/// acknowledged.
pub(crate) fn unacknowledged(socket: c_int) -> c_int {
    const OUTPUT_QUEUE: c_ulong = 0x5411;
    let mut count: c_int = 0;
    // SAFETY: the system writes one number.
    unsafe { ioctl(socket, OUTPUT_QUEUE, &raw mut count) };
    count
}
