//! What sockets of this process send each other over IP.
//!
//! Mostly it has arrived when the call that sent it returns: the system
//! delivers it on the same processor. Not always: a busy system has a thread
//! of its own do that, and TCP holds a small piece back until the one before
//! it has been acknowledged, which the receiver puts off for as long as 40 ms.
//! Before anybody concludes that nothing comes, all of it shall have arrived.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};

use super::descriptor::{self, Kind, PollFd};
use crate::lock::Lock;
use crate::raw::Processors;

/// Something was sent since it was last made sure that all has arrived.
static SENT: AtomicBool = AtomicBool::new(false);
/// The same for what TCP holds back.
static HELD_BACK: AtomicBool = AtomicBool::new(false);

/// The processors on which something was sent.
static ON: Lock<Vec<Processors>> = Lock::new(Vec::new());

/// Packets that follow one another: a connection takes three, and each of them
/// is sent when the one before has arrived.
const GENERATIONS: u8 = 8;

/// A packet that is not there after so long, in nanoseconds of real time, is
/// lost.
const LOST_NS: u64 = 1_000_000_000;

/// Rounds of acknowledging, at most.
const ROUNDS: u32 = 50;

/// A socket has sent something, was connected or closed.
pub(super) fn sent() {
    SENT.store(true, Ordering::Relaxed);
    HELD_BACK.store(true, Ordering::Relaxed);
    let here = Processors::present();
    let mut on = ON.lock();
    if !on.contains(&here) {
        on.push(here);
    }
}

/// Waits until what was sent has arrived. The caller is inside the engine.
pub(super) fn arrive() {
    if !SENT.swap(false, Ordering::Relaxed) {
        return;
    }
    let on = std::mem::take(&mut *ON.lock());
    if on == [Processors::present()] {
        follow();
        return;
    }
    let allowed = Processors::allowed();
    for processor in on {
        processor.confine();
        follow();
    }
    allowed.confine();
}

/// Sends a packet of its own after the others, on the same processor, whose
/// queue keeps the order. If it is there at once, so are the others.
fn follow() -> Option<()> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    socket.connect(socket.local_addr().ok()?).ok()?;
    socket.set_nonblocking(true).ok()?;
    for generation in 0..GENERATIONS {
        socket.send(&[generation]).ok()?;
        let mut byte = [0];
        if socket.recv(&mut byte).is_ok() {
            if generation == 0 {
                break;
            }
            continue;
        }
        let number = std::os::fd::AsRawFd::as_raw_fd(&socket);
        descriptor::ask(&mut [PollFd::new(number, PollFd::IN)], LOST_NS);
        socket.recv(&mut byte).ok()?;
    }
    Some(())
}

/// Makes TCP send what it holds back. False if there is no more of that.
pub(super) fn flush(rounds: u32) -> bool {
    if rounds > ROUNDS || !HELD_BACK.swap(false, Ordering::Relaxed) {
        return false;
    }
    let streams: Vec<_> = descriptor::all()
        .into_iter()
        .filter(|&number| {
            let kind = descriptor::look(number).map(|(kind, _)| kind);
            kind == Some(Kind::Socket) && descriptor::is_tcp(number)
        })
        .collect();
    let held = || -> i64 {
        let held = streams
            .iter()
            .map(|&socket| descriptor::unacknowledged(socket));
        held.map(i64::from).sum()
    };
    let before = held();
    if before == 0 {
        return false;
    }
    for &socket in &streams {
        descriptor::acknowledge(socket);
    }
    SENT.store(true, Ordering::Relaxed);
    ON.lock().push(Processors::present());
    arrive();
    if held() != before {
        HELD_BACK.store(true, Ordering::Relaxed);
    }
    true
}
