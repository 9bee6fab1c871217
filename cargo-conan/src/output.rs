//! Printing.
//!
//! Standard output can fail. A pipe is closed when its reader has read enough
//! (`| head`): that is no error, but nothing more can be reported. Every other
//! failure, such as a full disk, loses what was found, and is an error.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::exit::error;

/// The state of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Output {
    /// Everything so far was written.
    Open,
    /// The reader of the pipe has gone.
    Closed,
    /// Something could not be written. The error was printed.
    Failed,
}

static STATE: AtomicU8 = AtomicU8::new(Output::Open as u8);

/// The state of standard output.
pub(crate) fn state() -> Output {
    match STATE.load(Ordering::SeqCst) {
        0 => Output::Open,
        1 => Output::Closed,
        _ => Output::Failed,
    }
}

/// Prints to standard output. After a failure it does nothing: commands that
/// take long look at [`state`] and stop.
pub(crate) fn out(text: Arguments<'_>) {
    if state() != Output::Open {
        return;
    }
    let mut stdout = anstream::stdout().lock();
    let Err(failure) = stdout.write_fmt(text).and_then(|()| stdout.flush()) else {
        return;
    };
    if failure.kind() == ErrorKind::BrokenPipe {
        STATE.store(Output::Closed as u8, Ordering::SeqCst);
    } else {
        STATE.store(Output::Failed as u8, Ordering::SeqCst);
        error(format_args!("cannot write to standard output: {failure}"));
    }
}

/// Prints to standard error. If that fails, there is no place left to say so;
/// the exit code still tells what was found.
pub(crate) fn err(text: Arguments<'_>) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_fmt(text);
}
