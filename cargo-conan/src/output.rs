//! Printing. A reader that has gone away (`| head`) is no reason to panic.

use std::fmt::Arguments;
use std::io::Write;
use std::process;

use crate::exit::Exit;

/// Prints to standard output.
pub(crate) fn out(text: Arguments<'_>) {
    let mut stdout = anstream::stdout().lock();
    if stdout
        .write_fmt(text)
        .and_then(|()| stdout.flush())
        .is_err()
    {
        // Nobody reads any more; there is nobody to tell, either.
        crate::run::interrupt::clean_up();
        process::exit(Exit::Fine as i32);
    }
}

/// Prints to standard error.
pub(crate) fn err(text: Arguments<'_>) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_fmt(text);
}
