//! How the executable is started once more, so that it runs one sequence.

use std::cell::Cell;
use std::ffi::OsString;
use std::os::unix::process::parent_id;
use std::process::{self, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, io, thread};

/// The variable by which a new process knows that it is one: the number of the
/// process that has started it. A process that it starts itself is none.
const MARK: &str = "CONAN_FRESH";

/// What else must not be in its environment: it only does what it is asked for.
const OTHERS: [&str; 5] = [
    "CONAN_REPORT",
    "CONAN_PROGRESS",
    "CONAN_EXPLORE",
    "CONAN_REPLAY",
    "CONAN_SEQUENCE",
];

/// True if the executable is a driver, whose `main` is ours.
static IS_DRIVER: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// True while the calling thread runs a `#[test]` of a script.
    static IS_TEST: Cell<bool> = const { Cell::new(false) };
}

/// The executable is a driver: started once more, it comes to our `main`.
pub(crate) fn be_a_driver() {
    IS_DRIVER.store(true, Ordering::Relaxed);
}

/// Runs a `#[test]` of a script. Started once more for the test of this name,
/// the executable comes to the same place.
pub(crate) fn with_test<R>(run: impl FnOnce() -> R) -> R {
    let before = IS_TEST.replace(true);
    let result = run();
    IS_TEST.set(before);
    result
}

/// The process that has started this one by [`command`], if one has.
pub(super) fn parent() -> Option<u32> {
    let parent = env::var(MARK).ok()?.parse().ok()?;
    (parent == parent_id()).then_some(parent)
}

/// The command that starts the executable once more.
pub(super) fn command() -> io::Result<Command> {
    let arguments = arguments().ok_or_else(|| {
        io::Error::other("it is not known how to run this test in a process of its own")
    })?;
    let mut command = Command::new(env::current_exe()?);
    command.args(arguments).env(MARK, process::id().to_string());
    for name in OTHERS {
        command.env_remove(name);
    }
    Ok(command)
}

fn arguments() -> Option<Vec<OsString>> {
    if IS_DRIVER.load(Ordering::Relaxed) {
        return Some(Vec::new());
    }
    if !IS_TEST.get() {
        return None;
    }
    // The test harness of Rust calls the thread of a test like the test, unless
    // all tests run on the first thread.
    let current = thread::current();
    let name = current.name().filter(|name| *name != "main")?;
    let words = [name, "--exact", "--nocapture", "--include-ignored"];
    Some(words.map(OsString::from).to_vec())
}
