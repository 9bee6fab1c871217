//! A process that another one of the same executable has started to have
//! something done there, and that is connected to it by descriptor 0.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use crate::me::Inside;
use crate::raw::SignalMask;

unsafe extern "C" {
    fn dup2(from: c_int, to: c_int) -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
}

const PR_SET_PDEATHSIG: c_int = 1;
const SIGKILL: usize = 9;

/// Takes the connection from descriptor 0, where the program then finds
/// nothing to read. From now on the process ends with the thread that has
/// started it. It takes signals as any other, whoever had blocked them there.
///
/// To be called by the first thread, before there are others.
pub fn connection_to_parent() -> io::Result<OwnedFd> {
    let _inside = Inside::enter();
    // SAFETY: asks for a signal, and has no pointers.
    unsafe { prctl(PR_SET_PDEATHSIG, SIGKILL) };
    SignalMask::of(0).restore();
    let connection = io::stdin().as_fd().try_clone_to_owned()?;
    let nothing = File::open("/dev/null")?;
    // SAFETY: both are descriptors, and nobody owns 0 but the whole process.
    if unsafe { dup2(nothing.as_raw_fd(), 0) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(connection)
}
