//! What is known of a signal.

use std::ffi::c_int;
use std::process;

use super::COUNT;

/// The system's `siginfo_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Info {
    pub(super) signal: c_int,
    error: c_int,
    pub(super) code: c_int,
    filler: c_int,
    /// The process that has sent it, and its user, if a process has.
    sender: [u32; 2],
    value: usize,
    rest: [u64; 12],
}

/// Who has sent a signal, as the system has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// `kill`.
    User = 0,
    /// `sigqueue`.
    Queue = -1,
    /// `pthread_kill`.
    Thread = -6,
    /// The system.
    Kernel = 0x80,
}

unsafe extern "C" {
    fn getuid() -> u32;
}

impl Info {
    /// A signal of this process. Nothing if there is no such signal.
    pub(super) fn new(signal: c_int, code: Code, value: usize) -> Option<Self> {
        let is_one = signal > 0 && (signal as usize) < COUNT;
        is_one.then(|| Self {
            signal,
            error: 0,
            code: code as c_int,
            filler: 0,
            // SAFETY: has no arguments.
            sender: [process::id(), unsafe { getuid() }],
            value,
            rest: [0; 12],
        })
    }

    /// True if an instruction has caused it, and no process has sent it.
    pub(crate) fn comes_of_an_instruction(&self) -> bool {
        self.code > 0 && self.code != Code::Kernel as c_int
    }

    /// True if the process itself has sent it, or its own alarm.
    pub(super) fn is_own(&self) -> bool {
        self.code == Code::Kernel as c_int || self.code <= 0 && self.sender[0] == process::id()
    }
}
