//! How the command ends. The codes are documented in the CLI reference.

use std::fmt::Display;
use std::process::ExitCode;

use crate::run::interrupt;

/// The exit code of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Nothing was found.
    Fine = 0,
    /// A test failed, a mutant survived, or `fmt --check` found something to
    /// do.
    Failed = 1,
    /// A script or the command line is wrong, or a file cannot be read or
    /// written.
    Wrong = 2,
    /// The driver did not compile.
    NotCompiled = 3,
    /// There is no verdict: a replay did not reproduce its execution, or the
    /// command stopped before it knew.
    Undecided = 4,
    /// Tests failed or did not compile, as `cargo test` says it.
    TestsFailed = 101,
    /// The command received SIGINT or SIGTERM.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command stopped: what was printed already says what is wrong.
pub(crate) type Stop<T> = Result<T, Exit>;

/// Prints an error that is not about a place in a script. After an interruption
/// it prints nothing: what fails then fails because child processes were ended.
pub(crate) fn error(message: impl Display) -> Exit {
    if interrupt::is_interrupted() {
        return Exit::Interrupted;
    }
    let style = anstyle::AnsiColor::Red.on_default().bold();
    crate::output::err(format_args!("{style}error{style:#}: {message}\n"));
    Exit::Wrong
}
