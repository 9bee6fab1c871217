//! Runs processes, and keeps what they say.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::target;

/// What hangs this long hangs for good. A cold build, and the wait for others
/// who build in the same target directory, must fit in.
pub const LIMIT: Duration = Duration::from_secs(480);

/// A command in a folder, in the environment that all tests have in common.
pub fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    let ours = [
        "CONAN_",
        "INSTA_",
        "NEXTEST",
        "RUST_TEST_",
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
    ];
    for (name, _) in std::env::vars_os() {
        if ours
            .iter()
            .any(|prefix| name.to_string_lossy().starts_with(prefix))
        {
            command.env_remove(name);
        }
    }
    command
        .env("CARGO_TARGET_DIR", target::shared())
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .env(OFFLINE, "true")
        .env("NO_COLOR", "1")
        .env("RUST_BACKTRACE", "0");
    command
}

const OFFLINE: &str = "CARGO_NET_OFFLINE";

/// Runs a command to its end.
pub trait Run {
    /// Runs the command and keeps what it said.
    ///
    /// # Panics
    ///
    /// If it cannot be started, or does not end.
    fn ran(&mut self) -> Ran;
}

impl Run for Command {
    #[track_caller]
    fn ran(&mut self) -> Ran {
        let ran = to_the_end(self);
        // The lock file and the packages of the workspace are enough as a
        // rule; where they are not, cargo must be allowed to fetch.
        if ran.stderr.contains("--offline") {
            return to_the_end(self.env_remove(OFFLINE));
        }
        ran
    }
}

#[track_caller]
fn to_the_end(command: &mut Command) -> Ran {
    let what = described(command);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.unwrap_or_else(|error| panic!("{what} cannot be started: {error}"));
    let id = child.id();
    let (sender, receiver) = mpsc::channel();
    let waiting = thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = receiver.recv_timeout(LIMIT) else {
        let _ = Command::new("kill")
            .args(["-KILL", &id.to_string()])
            .status();
        panic!("{what} has not ended after {LIMIT:?}");
    };
    let _ = waiting.join();
    let output = output.unwrap_or_else(|error| panic!("{what} cannot be waited for: {error}"));
    Ran {
        what,
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn described(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    format!("`{}`", words.join(" "))
}

/// What came of a command.
#[derive(Debug)]
pub struct Ran {
    what: String,
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Ran {
    /// Expects an exit code.
    #[track_caller]
    pub fn exits_with(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "the exit code is wrong; {self}");
        self
    }

    /// Expects `cargo test` to fail.
    #[track_caller]
    pub fn fails(&self) -> &Self {
        assert!(
            self.code.is_some_and(|code| code != 0),
            "it should have failed; {self}"
        );
        self
    }

    /// Expects a text on standard output.
    #[track_caller]
    pub fn prints(&self, text: &str) -> &Self {
        assert!(
            self.stdout.contains(text),
            "{text:?} is not on standard output; {self}"
        );
        self
    }

    /// Expects a whole line on standard output.
    #[track_caller]
    pub fn prints_line(&self, line: &str) -> &Self {
        let found = self.stdout.lines().any(|printed| printed == line);
        assert!(found, "no line {line:?} is on standard output; {self}");
        self
    }

    /// Expects a text on standard error.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(
            self.stderr.contains(text),
            "{text:?} is not on standard error; {self}"
        );
        self
    }

    /// Expects a text to be nowhere.
    #[track_caller]
    pub fn never_mentions(&self, text: &str) -> &Self {
        let somewhere = self.stdout.contains(text) || self.stderr.contains(text);
        assert!(!somewhere, "{text:?} should not be there; {self}");
        self
    }

    /// The lines of standard error that cargo's building did not write.
    pub fn said(&self) -> String {
        let cargos = [
            "Compiling",
            "Finished",
            "Blocking",
            "Locking",
            "Running",
            "Adding",
        ];
        let lines = self.stderr.lines().filter(|line| {
            let word = line.trim_start();
            !cargos.iter().any(|cargo| word.starts_with(cargo))
        });
        lines.map(|line| format!("{line}\n")).collect()
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            code,
            stdout,
            stderr,
        } = self;
        let code = code.map_or("a signal".to_owned(), |code| code.to_string());
        write!(
            f,
            "{what} ended with {code}\n--- stdout\n{stdout}\n--- stderr\n{stderr}\n---"
        )
    }
}
