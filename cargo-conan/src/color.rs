//! Whether to use colours on standard error.

use anstream::{AutoStream, ColorChoice};

/// True if a person is looking.
pub(crate) fn on_stderr() -> bool {
    AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}
