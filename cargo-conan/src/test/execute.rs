//! Runs one test in a process of its own.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use conan_preload::{Account, Hang, Inexact, MEMORY, SCHEDULE, Scheduled};

use super::build::Binary;
use super::explore::Explored;
use super::library::Library;
use super::list::Test;
use super::random::at_fixed_addresses;
use crate::run::interrupt::{self, Group};

/// What came of a test.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    /// The time that passed here.
    pub(super) real: Duration,
    /// The time that passed for the test; nothing if nobody knows.
    pub(super) time: Option<Duration>,
    pub(super) exactness: Exactness,
    /// Tells one course of events from another.
    pub(super) trace: Option<String>,
    /// What was decided, if it was asked to follow a schedule.
    pub(super) scheduled: Option<Scheduled>,
    /// If this is one execution of many.
    pub(super) explored: Option<Explored>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// The schedule that a test is to follow, as the library understands it.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) schedule: String,
    /// Where the search keeps what it has tried, if it does.
    pub(super) memory: Option<PathBuf>,
}

/// How a test ended.
#[derive(Debug)]
pub(super) enum Verdict {
    Passed,
    /// And how its process did.
    Failed(String),
    /// Every thread was suspended for good.
    Hung(Hang),
}

/// How far the run depended on the test alone.
#[derive(Debug)]
pub(super) enum Exactness {
    Exact,
    Inexact(Vec<Inexact>),
    /// The process ended by force and has said nothing, or was not asked.
    Unknown,
    /// The engine had no part in it, and why.
    Native(String),
}

/// A binary as cargo would run it.
pub(super) fn native(binary: &Binary) -> Command {
    let mut command = Command::new(&binary.path);
    command
        .current_dir(&binary.folder)
        .envs(binary.environment.iter().map(|(name, value)| (name, value)));
    command
}

/// Runs a test to its end; in the default order, if there is no wish.
pub(super) fn execute(
    test: &Test<'_>,
    library: Option<&Library>,
    number: usize,
    wish: Option<&Wish>,
) -> io::Result<Outcome> {
    let mut command = native(test.binary);
    if let Some(name) = &test.name {
        command.args(["--exact", name, "--nocapture"]);
        if test.is_ignored {
            command.arg("--include-ignored");
        }
    }
    let path = library.map(|library| library.account(number));
    if let (Some(library), Some(path)) = (library, &path) {
        library.preload(&mut command, path, &test.full_name());
    }
    if let Some(wish) = wish {
        command.env(SCHEDULE, &wish.schedule);
        command.envs(wish.memory.iter().map(|memory| (MEMORY, memory)));
    }
    let begun = Instant::now();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let started = match library {
        Some(_) => at_fixed_addresses(|| interrupt::start(&mut command, Group::Ours)),
        None => interrupt::start(&mut command, Group::Ours),
    };
    let output = started?.output()?;
    let real = begun.elapsed();
    let understood = match path {
        None => Understood::nothing(Exactness::Unknown),
        Some(path) => {
            let account = fs::read_to_string(&path).unwrap_or_default();
            let _ = fs::remove_file(&path);
            let account = Account::parse(&account);
            if let Some(Account::Refused(reason)) = account {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
            }
            Understood::from(account, output.status)
        }
    };
    let Understood {
        time,
        trace,
        exactness,
        hang,
        scheduled,
    } = understood;
    let verdict = match hang {
        Some(hang) => Verdict::Hung(hang),
        None if output.status.success() => Verdict::Passed,
        None => Verdict::Failed(described(output.status)),
    };
    Ok(Outcome {
        verdict,
        real,
        time,
        exactness,
        trace,
        scheduled,
        explored: None,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// What an account says.
pub(super) struct Understood {
    time: Option<Duration>,
    trace: Option<String>,
    exactness: Exactness,
    pub(super) hang: Option<Hang>,
    scheduled: Option<Scheduled>,
}

impl Understood {
    fn nothing(exactness: Exactness) -> Self {
        Self {
            time: None,
            trace: None,
            exactness,
            hang: None,
            scheduled: None,
        }
    }

    pub(super) fn from(account: Option<Account>, status: ExitStatus) -> Self {
        match account {
            Some(Account::Managed {
                time,
                trace,
                inexact,
                hang,
                scheduled,
            }) => {
                // The harness waits on, with a time-out of its own.
                let idle = hang.iter().flat_map(|hang| &hang.threads).skip(1);
                let idle = idle.map(|thread| thread.waited).min().unwrap_or_default();
                let exactness = if inexact.is_empty() {
                    Exactness::Exact
                } else {
                    Exactness::Inexact(inexact)
                };
                Self {
                    time: Some(time.saturating_sub(idle)),
                    trace: Some(trace),
                    exactness,
                    hang,
                    scheduled,
                }
            }
            Some(Account::Unmanaged(reason) | Account::Refused(reason)) => {
                Self::nothing(Exactness::Native(reason))
            }
            None if !status.success() => Self::nothing(Exactness::Unknown),
            None => {
                let reason = "the process left no account".to_owned();
                Self::nothing(Exactness::Native(reason))
            }
        }
    }
}

/// How a process ended.
pub(super) fn described(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}
