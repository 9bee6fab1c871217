//! Which descriptors are devices that random numbers are read from.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use super::descriptor;
use crate::me::Inside;
use crate::state;

/// Most processes open none, and shall not pay for it with every read.
static IS_ANY: AtomicBool = AtomicBool::new(false);

/// A managed thread has opened such a device.
pub(crate) fn is_random_device(number: c_int) {
    let _inside = Inside::enter();
    if let Some((_, identity)) = descriptor::look(number) {
        state::lock().io.random.insert(identity);
        IS_ANY.store(true, Ordering::Relaxed);
    }
}

/// True once somebody has.
pub(crate) fn is_any_random_device() -> bool {
    IS_ANY.load(Ordering::Relaxed)
}

/// True if this is one, or a copy of one.
pub(crate) fn reads_random_device(number: c_int) -> bool {
    let _inside = Inside::enter();
    let Some((_, identity)) = descriptor::look(number) else {
        return false;
    };
    state::lock().io.random.contains(&identity)
}
