//! A process that ends with the one that has started it.
//!
//! The parent may be killed, so that it cannot end its children. Linux sends them
//! a signal then, if they have asked for one. It does so when the *thread* ends that
//! has started them: the command waits for a process on the thread that started it.
//! A pipe from the parent would do, too, but a thread of the process would have to
//! read it, and the engine would have to tell that thread from those that may wake
//! its own.

use crate::raw;

/// Has the system kill the calling process as soon as its parent ends, which is the
/// process of this number. If that process has ended already, the calling one ends
/// at once. If it is not the parent, as for a process that a component has started,
/// nothing happens. To be called on the first thread.
pub fn end_with_parent(parent: u32) {
    if raw::parent() == parent {
        raw::kill_with_parent();
    }
    // From here on the system sees to it. Until now the parent could have ended.
    if raw::parent() != parent && !raw::is_process(parent) {
        // SAFETY: ends the process.
        unsafe { _exit(ORPHANED) }
    }
}

/// The exit code of a process whose parent was gone before it began.
const ORPHANED: i32 = 130;

unsafe extern "C" {
    fn _exit(code: i32) -> !;
}
