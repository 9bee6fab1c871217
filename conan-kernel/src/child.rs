//! A process that another one of the same executable has started to have
//! something done there, and that is connected to it by descriptor 0.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use crate::me::Inside;
use crate::parent::end_with_parent;
use crate::raw::SignalMask;

unsafe extern "C" {
    fn dup2(from: c_int, to: c_int) -> c_int;
}

/// Takes the connection from descriptor 0, where the program then finds
/// nothing to read. From now on the process ends with the thread that has
/// started it, which is one of the process with this number. It takes signals as
/// any other, whatever that thread had blocked.
///
/// To be called by the first thread, before there are others.
pub fn connection_to_parent(parent: u32) -> io::Result<OwnedFd> {
    let _inside = Inside::enter();
    end_with_parent(parent);
    SignalMask::of(0).restore();
    let connection = io::stdin().as_fd().try_clone_to_owned()?;
    let nothing = File::open("/dev/null")?;
    // SAFETY: both are descriptors, and no value of the process owns descriptor 0.
    if unsafe { dup2(nothing.as_raw_fd(), 0) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(connection)
}
