//! The innermost frames of a thread that has crashed.
//!
//! To name functions takes memory and locks, and the thread may have crashed in the
//! allocator. So a copy of the process does it, as `fork` makes one, which is given
//! some time and is killed then: the process itself goes on to its end.
//!
//! A stack that has overflowed has a hundred thousand frames. The copy cuts its own
//! off: it puts a zero, where stacks end, in place of a return address.

use std::backtrace::Backtrace;
use std::ffi::{c_int, c_void};

use super::{MILLISECOND_NS, Reporter, STANDARD_ERROR, frames};
use crate::raw;

/// So many frames are looked at, with those of the handler and of std.
const LOOKED_AT: usize = 64;

/// How long the copy may take, in milliseconds: reading a large program's debug
/// information takes a while.
const PATIENCE_MS: u32 = 10_000;

/// How much of the stack it takes to name functions, in bytes. Nothing is named where
/// there is less.
const STACK: usize = 128 * 1024;

/// Writes the frames of the calling thread to standard error, and runs `then`, in a
/// copy of the process. Returns in the process itself only.
pub(super) fn in_copy(reporter: &dyn Reporter, then: impl FnOnce()) {
    match raw::copy_process() {
        0 => {
            raw::kill_with_parent();
            if raw::room_on_signal_stack().is_none_or(|room| room >= STACK) {
                write_frames(reporter);
            }
            then();
            raw::exit(0);
        }
        copy if copy > 0 => {
            for _ in 0..PATIENCE_MS {
                if raw::has_ended(copy) {
                    return;
                }
                raw::pause(MILLISECOND_NS);
            }
            raw::kill(copy);
        }
        // The system refuses. What is known has been said.
        _ => {}
    }
}

fn write_frames(reporter: &dyn Reporter) {
    cut_off();
    let text = Backtrace::force_capture().to_string();
    let mut frames = frames::of_program(&text);
    reporter.see(&mut frames);
    raw::write(STANDARD_ERROR, frames::text(&frames).as_bytes());
}

type Visit = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_Backtrace(visit: Visit, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
    fn _Unwind_GetCFA(frame: *mut c_void) -> usize;
}

/// A frame, by its number, and where its address was found.
struct Sought {
    left: usize,
    place: usize,
}

/// Ends the calling thread's stack after the last frame that is looked at.
fn cut_off() {
    unsafe extern "C" fn visit(frame: *mut c_void, sought: *mut c_void) -> c_int {
        const GO_ON: c_int = 0;
        const STOP: c_int = 5;
        // SAFETY: the pointer is the one that is given below.
        let sought = unsafe { &mut *sought.cast::<Sought>() };
        sought.left -= 1;
        if sought.left > 0 {
            return GO_ON;
        }
        // SAFETY: the unwinder's own frame.
        let (address, top) = unsafe { (_Unwind_GetIP(frame), _Unwind_GetCFA(frame)) };
        let place = top - size_of::<usize>();
        // SAFETY: the unwinder has read the address that a function returns to from
        // there, unless a signal has interrupted that function.
        if unsafe { (place as *const usize).read() } == address {
            sought.place = place;
            return STOP;
        }
        sought.left = 1;
        GO_ON
    }
    let mut sought = Sought {
        left: LOOKED_AT,
        place: 0,
    };
    // SAFETY: `visit` gets back the pointer.
    unsafe { _Unwind_Backtrace(visit, (&raw mut sought).cast()) };
    if sought.place != 0 {
        // SAFETY: a return address on the calling thread's stack; the function above
        // it does not return, for this process ends before.
        unsafe { (sought.place as *mut usize).write(0) };
    }
}
