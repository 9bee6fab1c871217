//! Printing.
//!
//! Standard output can fail. A pipe is closed when its reader has read enough
//! (`| head`): that is no error, but nothing more can be reported. Every other
//! failure, such as a full disk, loses what was found, and is an error.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

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

/// True if the command prints its results to standard output, and so has no
/// reason to go on without a reader.
static HAS_RESULTS: AtomicBool = AtomicBool::new(false);

/// Says that the command prints its results to standard output: it stops as soon
/// as the reader has gone, even while it prints nothing.
pub(crate) fn has_results() {
    HAS_RESULTS.store(true, Ordering::SeqCst);
}

/// The state of standard output.
pub(crate) fn state() -> Output {
    if HAS_RESULTS.load(Ordering::SeqCst) && is_reader_gone() {
        // Not in place of a failure.
        let (open, closed) = (Output::Open as u8, Output::Closed as u8);
        let _ = STATE.compare_exchange(open, closed, Ordering::SeqCst, Ordering::SeqCst);
    }
    match STATE.load(Ordering::SeqCst) {
        0 => Output::Open,
        1 => Output::Closed,
        _ => Output::Failed,
    }
}

/// True if standard output is a pipe or a socket whose other end was closed.
#[cfg(unix)]
fn is_reader_gone() -> bool {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;
    let stdout = std::io::stdout();
    // Errors are told without being asked for.
    let mut asked = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let looked = poll(&mut asked, PollTimeout::ZERO);
    let told = asked[0].revents().unwrap_or(PollFlags::empty());
    looked.is_ok() && told.contains(PollFlags::POLLERR)
}

#[cfg(not(unix))]
fn is_reader_gone() -> bool {
    false
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
