//! The calls of this folder by the system's numbers, for those who make them
//! without libc.

use super::{births, reads, sets, timers, writes};

/// Calls the function that takes libc's place, with the registers of a system
/// call as its arguments. Its result is libc's: -1, and `errno`. Nothing if
/// there is no such function.
///
/// # Safety
///
/// As for the call itself.
pub(crate) unsafe fn call(number: isize, args: [usize; 6]) -> Option<isize> {
    let [a0, a1, a2, a3, a4, a5] = args;
    macro_rules! call {
        ($function:path $(, $argument:expr)*) => {
            // SAFETY: the caller vouches for the arguments, which are those of
            // the function of the same name.
            unsafe { $function($($argument as _),*) as isize }
        };
    }
    Some(match number {
        0 => call!(reads::read, a0, a1, a2),
        1 => call!(writes::write, a0, a1, a2),
        3 => call!(births::close, a0),
        7 => call!(sets::poll, a0, a1, a2),
        19 => call!(reads::readv, a0, a1, a2),
        20 => call!(writes::writev, a0, a1, a2),
        22 => call!(births::pipe, a0),
        23 => call!(sets::select, a0, a1, a2, a3, a4),
        41 => call!(births::socket, a0, a1, a2),
        42 => call!(reads::connect, a0, a1, a2),
        43 => call!(reads::accept, a0, a1, a2),
        44 => call!(writes::sendto, a0, a1, a2, a3, a4, a5),
        45 => call!(reads::recvfrom, a0, a1, a2, a3, a4, a5),
        46 => call!(writes::sendmsg, a0, a1, a2),
        47 => call!(reads::recvmsg, a0, a1, a2),
        48 => call!(births::shutdown, a0, a1),
        49 => call!(births::bind, a0, a1, a2),
        50 => call!(births::listen, a0, a1),
        53 => call!(births::socketpair, a0, a1, a2, a3),
        213 => call!(births::epoll_create, a0),
        232 => call!(sets::epoll_wait, a0, a1, a2, a3),
        233 => call!(births::epoll_ctl, a0, a1, a2, a3),
        270 => {
            // SAFETY: the caller vouches for it.
            let mask = unsafe { mask(a5) };
            call!(sets::pselect, a0, a1, a2, a3, a4, mask)
        }
        271 => call!(sets::ppoll, a0, a1, a2, a3),
        281 => call!(sets::epoll_pwait, a0, a1, a2, a3, a4),
        283 => call!(timers::timerfd_create, a0, a1),
        284 => call!(births::eventfd, a0, 0),
        286 => call!(timers::timerfd_settime, a0, a1, a2, a3),
        287 => call!(timers::timerfd_gettime, a0, a1),
        288 => call!(reads::accept4, a0, a1, a2, a3),
        290 => call!(births::eventfd, a0, a1),
        291 => call!(births::epoll_create1, a0),
        293 => call!(births::pipe2, a0, a1),
        441 => call!(sets::epoll_pwait2, a0, a1, a2, a3, a4),
        _ => return None,
    })
}

/// The system's `pselect` has its mask, and the size of that, behind a pointer.
///
/// # Safety
///
/// The pointer must be null or such a one.
unsafe fn mask(pair: usize) -> usize {
    let pair = pair as *const usize;
    if pair.is_null() {
        return 0;
    }
    // SAFETY: the caller vouches for it.
    unsafe { *pair }
}
