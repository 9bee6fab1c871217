//! The calling thread's stack: walked, and as people read it.
//!
//! To name the functions on a stack takes a hundred times as long as to walk
//! it, and an exploration comes to the same stacks again and again. So each is
//! named once in a process.

use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

use crate::bottom::Bottom;
use crate::interpose;
use crate::lock::Lock;

/// So many stacks are remembered; what comes later is named each time.
const REMEMBERED: usize = 4096;

/// Stacks by their addresses.
static NAMED: Lock<BTreeMap<Vec<usize>, String>> = Lock::new(BTreeMap::new());

/// The stack of a thread at some moment.
pub(crate) struct Stack {
    addresses: Vec<usize>,
    /// Nothing if it was named before.
    backtrace: Option<Backtrace>,
}

impl Stack {
    /// The calling thread's, down to its bottom. The caller is inside the
    /// engine.
    pub(crate) fn here(bottom: &Bottom) -> Self {
        let mut addresses = Vec::with_capacity(64);
        bottom.hidden(|| {
            walk(|address| {
                addresses.push(address);
                true
            });
        });
        // No function of the library's may come in between: whoever looks for
        // the line of an access goes by the engine's own functions above it.
        let backtrace = if NAMED.lock().contains_key(&addresses) {
            None
        } else {
            Some(bottom.hidden(Backtrace::force_capture))
        };
        Self {
            addresses,
            backtrace,
        }
    }

    /// Names and places of its functions, as std prints them.
    pub(crate) fn text(&self) -> String {
        let Some(backtrace) = &self.backtrace else {
            let named = NAMED.lock().get(&self.addresses).cloned();
            return named.unwrap_or_default();
        };
        let text = backtrace.to_string();
        let mut named = NAMED.lock();
        if named.len() < REMEMBERED {
            named.insert(self.addresses.clone(), text.clone());
        }
        text
    }
}

/// Shows the addresses at which the calling thread's functions go on, from the
/// innermost on, as long as `goes_on` wants to see more. Takes no lock and
/// allocates nothing.
pub(crate) fn walk(mut goes_on: impl FnMut(usize) -> bool) {
    // SAFETY: the unwinder's own frame.
    walk_contexts(|context| goes_on(unsafe { _Unwind_GetIP(context) }));
}

/// The same with the unwinder's own frames, which are there during the call.
fn walk_contexts(mut goes_on: impl FnMut(*mut c_void) -> bool) {
    let mut goes_on: &mut dyn FnMut(*mut c_void) -> bool = &mut goes_on;
    // SAFETY: `visit` gets back the pointer to `goes_on`.
    unsafe { _Unwind_Backtrace(visit, (&raw mut goes_on).cast()) };
}

/// A frame of the program, at the call that it is in.
pub(crate) struct Frame {
    /// Its innermost address.
    pub(crate) top: usize,
    /// The registers that a function keeps for its caller.
    saved: [usize; SAVED.len()],
}

impl Frame {
    /// How many of the registers have this value.
    pub(crate) fn keeps(&self, value: usize) -> usize {
        self.saved.iter().filter(|&&saved| saved == value).count()
    }
}

/// The registers that a function keeps for its caller, by their DWARF numbers.
#[cfg(target_arch = "x86_64")]
const SAVED: [c_int; 6] = [3, 6, 12, 13, 14, 15];
#[cfg(target_arch = "aarch64")]
const SAVED: [c_int; 11] = [19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29];

/// The calling thread's frames outside the engine, from the innermost on: those
/// from the caller of the replaced function of libc on. None if that is not one
/// of those that [`interpose::blocks`] knows.
pub(crate) fn program_frames(bottom: &Bottom) -> Vec<Frame> {
    let mut frames = Vec::with_capacity(64);
    let mut is_engines = true;
    bottom.hidden(|| {
        walk_contexts(|context| {
            if is_engines {
                // SAFETY: the unwinder's own frame.
                let address = unsafe { _Unwind_GetIP(context) };
                // The return address may already be the next function's.
                let address = address.wrapping_sub(1);
                // SAFETY: looks up a table.
                let function = unsafe { _Unwind_FindEnclosingFunction(address) };
                is_engines = !interpose::blocks(function as usize);
                return true;
            }
            // SAFETY: the unwinder's own frame, and registers that it knows in
            // every frame.
            let register = |number| unsafe { _Unwind_GetGR(context, number) };
            frames.push(Frame {
                // SAFETY: the unwinder's own frame.
                top: unsafe { _Unwind_GetCFA(context) },
                saved: SAVED.map(register),
            });
            true
        });
    });
    frames
}

type Visit = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_Backtrace(visit: Visit, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
    fn _Unwind_GetCFA(frame: *mut c_void) -> usize;
    fn _Unwind_GetGR(frame: *mut c_void, register: c_int) -> usize;
    fn _Unwind_FindEnclosingFunction(address: usize) -> *mut c_void;
}

unsafe extern "C" fn visit(frame: *mut c_void, goes_on: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const STOP: c_int = 5;
    // SAFETY: the pointer is the one that `walk` gave.
    let goes_on = unsafe { &mut *goes_on.cast::<&mut dyn FnMut(*mut c_void) -> bool>() };
    if goes_on(frame) { GO_ON } else { STOP }
}

#[cfg(test)]
mod tests {
    use super::{NAMED, Stack};
    use crate::bottom::Bottom;

    #[inline(never)]
    fn here() -> Stack {
        Stack::here(&Bottom::default())
    }

    #[test]
    fn a_stack_is_named_once() {
        let mut stacks = Vec::new();
        for _ in 0..2 {
            let stack = here();
            let text = stack.text();
            assert!(text.contains("a_stack_is_named_once"), "{text}");
            stacks.push((stack, text));
        }
        let [(first, text), (second, again)] = &stacks[..] else {
            panic!("two stacks")
        };
        assert_eq!(text, again);
        assert!(first.backtrace.is_some());
        assert!(second.backtrace.is_none());
    }

    #[test]
    fn stacks_that_differ_have_texts_that_differ() {
        let (one, other) = (here(), here());
        assert_ne!(one.addresses, other.addresses);
        assert_ne!(one.text(), other.text());
        assert!(NAMED.lock().len() >= 2);
    }
}
