//! Who is behind a descriptor: managed threads only, or somebody outside, who
//! keeps real time.
//!
//! As long as the process has no children, nobody but itself has the other
//! ends of what it has made: pipes, pairs of sockets, `eventfd`s, `timerfd`s, and, if both
//! addresses are its own, connections. What it was given when it began, and
//! what leads to others, is outside.

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::fs;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::descriptor::{self, Address, Identity, Kind, PollFd};
use crate::handover::Slot;
use crate::me::Inside;
use crate::raw;
use crate::real::{errno, set_errno};
use crate::state::{self, State};
use crate::thread::{Reason, ThreadId};

const UNIX: c_int = 1;
const INET: c_int = 2;
const INET6: c_int = 10;

/// Counts what can change who is behind a descriptor.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Something has changed.
pub(super) fn has_changed() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// What the process has before it begins is not of its own making.
pub(crate) fn remember_inherited() {
    let found = descriptor::all().into_iter().filter_map(descriptor::look);
    let inherited: BTreeSet<_> = found.map(|(_, identity)| identity).collect();
    state::lock().io.inherited = inherited;
}

/// A managed thread has made a descriptor.
pub(super) fn was_made(number: c_int) {
    has_changed();
    let _inside = Inside::enter();
    let mut state = state::lock();
    if !state.is_process
        && let Some((_, identity)) = descriptor::look(number)
    {
        state.io.made.insert(identity);
    }
}

/// A socket's peer, or one of many.
pub(super) fn sends_to(socket: c_int, address: Address) {
    let _inside = Inside::enter();
    let Some((_, identity)) = descriptor::look(socket) else {
        return;
    };
    let mut state = state::lock();
    let known = state.io.sent_to.entry(identity).or_default();
    if !known.contains(&address) {
        known.push(address);
        has_changed();
    }
}

/// A socket has an address of its own now, if it has one over IP.
pub(super) fn has_address(socket: c_int) {
    let _inside = Inside::enter();
    state::lock().io.own.extend(descriptor::own_address(socket));
}

/// The calling thread has a connection, or something has come in. If that is
/// from outside, the run depends on it, though nobody may have waited.
pub(super) fn has_met(slot: &'static Slot, number: c_int) {
    // The owner of any other world is told of waits only.
    if !crate::process::is_managed() {
        return;
    }
    let _inside = Inside::enter();
    let Some((kind @ (Kind::Pipe | Kind::Socket), identity)) = descriptor::look(number) else {
        return;
    };
    let mut state = state::lock();
    // Who is there does not change, but by children, who are outside anyway.
    if !state.io.met.insert(identity) {
        return;
    }
    let before = errno();
    let is_inside = match kind {
        _ if state.io.inherited.contains(&identity) => false,
        // Also one with a path: who has the other end has written to it.
        Kind::Pipe => keeps_both_ends(number, identity),
        _ if descriptor::is_tcp(number) => {
            state.io.own.extend(descriptor::own_address(number));
            state.are_peers_own(number, identity)
        }
        _ => state.judge(number, kind, identity),
    };
    if !is_inside {
        state.note_inexact_once(slot.id, Reason::Io);
    }
    set_errno(before);
}

/// True for what the process was given when it began.
pub(super) fn is_inherited(number: c_int) -> bool {
    let _inside = Inside::enter();
    let Some((_, identity)) = descriptor::look(number) else {
        return false;
    };
    state::lock().io.inherited.contains(&identity)
}

impl State {
    /// True if only managed threads can make one of these ready.
    pub(super) fn is_all_inside(&mut self, asks: &[PollFd]) -> bool {
        !raw::has_children() && asks.iter().all(|ask| self.is_inside(ask.descriptor))
    }

    /// The threads that wait for something that may come from outside.
    pub(crate) fn wait_for_outside(&mut self) -> Vec<ThreadId> {
        let waiters = self.io.waiters.iter();
        let all: Vec<_> = waiters
            .flat_map(|waiter| {
                let asks = waiter.asks.iter();
                asks.map(|ask| (waiter.thread, ask.descriptor))
            })
            .collect();
        let any = !all.is_empty() && raw::has_children();
        let outside = all
            .into_iter()
            .filter(|&(_, number)| any || !self.is_inside(number));
        let mut threads: Vec<_> = outside.map(|(thread, _)| thread).collect();
        threads.dedup();
        threads
    }

    fn is_inside(&mut self, number: c_int) -> bool {
        let Some((kind, identity)) = descriptor::look(number) else {
            // It is closed: nothing comes of it.
            return true;
        };
        let at = CHANGES.load(Ordering::Relaxed);
        if let Some(&(known, then, verdict)) = self.io.verdicts.get(&number)
            && (known, then) == (identity, at)
        {
            return verdict;
        }
        let verdict = self.judge(number, kind, identity);
        self.io.verdicts.insert(number, (identity, at, verdict));
        verdict
    }

    fn judge(&mut self, number: c_int, kind: Kind, identity: Identity) -> bool {
        let is_ours = if self.is_process {
            !self.io.inherited.contains(&identity)
        } else {
            self.io.made.contains(&identity)
        };
        if !is_ours {
            return false;
        }
        match kind {
            Kind::File => true,
            Kind::Device => false,
            // One with a path may be anybody's; and an orphan of the process
            // may have the other end of one without.
            Kind::Pipe => {
                descriptor::name(number).starts_with("pipe:") && keeps_both_ends(number, identity)
            }
            Kind::Socket => self.is_socket_inside(number, identity),
            Kind::Anonymous => match descriptor::name(number).as_str() {
                "anon_inode:[eventfd]" => true,
                "anon_inode:[timerfd]" => self.io.timers.contains_key(&number),
                "anon_inode:[eventpoll]" => {
                    let watched = descriptor::watched(number);
                    watched.into_iter().all(|number| self.is_inside(number))
                }
                _ => false,
            },
        }
    }

    fn is_socket_inside(&mut self, socket: c_int, identity: Identity) -> bool {
        match descriptor::family(socket) {
            Some(UNIX) => {
                let peer = descriptor::peer_process(socket);
                descriptor::listens(socket) || peer == 0 || peer == process::id()
            }
            Some(INET | INET6) => {
                descriptor::listens(socket)
                    || descriptor::has_ended(socket)
                    || self.are_peers_own(socket, identity)
            }
            _ => false,
        }
    }

    /// True if all that a socket over IP is connected to, or sends to, are
    /// sockets of this process, or have been.
    fn are_peers_own(&mut self, socket: c_int, identity: Identity) -> bool {
        let sent_to = self.io.sent_to.get(&identity);
        let mut peers = sent_to.cloned().unwrap_or_default();
        peers.extend(descriptor::peer_address(socket));
        let own = descriptor::own_address(socket);
        let is_one = |peer: &Address, one: &Address| {
            one.port == peer.port
                && (one.ip == peer.ip
                    || one.ip.is_unspecified() && is_local(*peer, own)
                    || peer.ip.is_unspecified())
        };
        let known = &self.io.own;
        peers.retain(|peer| !known.iter().any(|one| is_one(peer, one)));
        if peers.is_empty() {
            return true;
        }
        // It takes long where there are many.
        self.io.own.extend(own_addresses());
        let is_udp = !descriptor::is_tcp(socket);
        peers.iter().all(|peer| {
            self.io.own.iter().any(|one| is_one(peer, one))
                || is_udp && peer.is_loopback() && is_nobody(peer.port)
        })
    }
}

/// True if the other end of a pipe is open in this process, or nowhere.
fn keeps_both_ends(pipe: c_int, identity: Identity) -> bool {
    if descriptor::is_ready(pipe, 0) {
        return true;
    }
    let here = descriptor::access(pipe);
    let mut all = descriptor::all().into_iter();
    all.any(|number| {
        // One that was opened for both has both ends itself.
        let there = descriptor::access(number);
        (here.reads && there.writes || here.writes && there.reads)
            && descriptor::look(number).is_some_and(|(_, other)| other == identity)
    })
}

fn is_local(peer: Address, own: Option<Address>) -> bool {
    peer.is_loopback() || own.is_some_and(|own| own.ip == peer.ip)
}

/// Where the sockets of this process are.
fn own_addresses() -> Vec<Address> {
    let sockets = descriptor::all().into_iter().filter(|&number| {
        let kind = descriptor::look(number).map(|(kind, _)| kind);
        kind == Some(Kind::Socket) && matches!(descriptor::family(number), Some(INET | INET6))
    });
    sockets.filter_map(descriptor::own_address).collect()
}

/// True if no process has this port for datagrams.
fn is_nobody(port: u16) -> bool {
    let wanted = format!(":{port:04X}");
    let is_there = |path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut locals = text
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().nth(1));
        locals.any(|local| local.ends_with(&wanted))
    };
    !is_there("/proc/net/udp") && !is_there("/proc/net/udp6")
}
