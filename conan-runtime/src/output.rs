//! Standard output, whose lock a thread that is suspended for good may hold.

use std::fs::File;
use std::io::{self, Write};

use crate::left;

/// Prints to standard output. Where a thread may hold its lock for ever, it is
/// written to as to a file.
pub(crate) fn say(text: &str) {
    if left::is_any() {
        #[cfg(unix)]
        if write(&io::stdout(), text).is_ok() {
            return;
        }
    }
    print!("{text}");
}

#[cfg(unix)]
fn write(stream: &impl std::os::fd::AsFd, text: &str) -> io::Result<()> {
    let descriptor = stream.as_fd().try_clone_to_owned()?;
    File::from(descriptor).write_all(text.as_bytes())
}

/// Ends the process, as failed, if a thread that is suspended for good holds
/// the lock of standard output or of standard error: the test harness would
/// wait for it for ever. The text is the report of the test that has failed.
#[cfg(conan_kernel)]
pub(crate) fn end_if_it_is_held(text: &str) {
    if !left::is_any() {
        return;
    }
    let streams: [(&str, fn()); 2] = [
        ("output", || drop(io::stdout().lock())),
        ("error", || drop(io::stderr().lock())),
    ];
    if let Some((name, _)) = streams.iter().find(|(_, lock)| is_held(*lock)) {
        let message = format!(
            "{text}\nerror: a thread that {} has left suspended holds the lock of standard {name}; \
             the test harness would wait for it for ever, so the process ends here, without the \
             other tests\n",
            left::in_words()
        );
        let _ = write(&io::stderr(), &message);
        std::process::exit(101);
    }
}

/// True if a thread that takes a lock of the process, and gives it back, would
/// be suspended for good. A thread outside any sequence that has the lock for a
/// moment is waited for.
#[cfg(conan_kernel)]
fn is_held(lock: fn()) -> bool {
    let Ok(mut world) = conan_kernel::World::open(conan_kernel::Fifo) else {
        return false;
    };
    let Ok(thread) = world.spawn("asks for a lock", lock) else {
        return false;
    };
    world.run(u64::MAX);
    !world.have_ended(&[thread])
}
