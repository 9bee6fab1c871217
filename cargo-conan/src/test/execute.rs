//! Runs one test in a process of its own.

#[cfg(target_os = "linux")]
use std::fs::File;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

use conan_preload::{Account, Hang, Inexact, Scheduled};

use super::build::Binary;
use super::explore::Explored;
use super::library::{Library, Settings};
use super::list::Test;
use super::original::Originals;
use super::output::Written;
#[cfg(target_os = "linux")]
use super::output::read_both;
use super::random::at_fixed_addresses;
use crate::run::interrupt::{self, Group, Running};

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
    /// The name of a process that it has started, and that lives on and holds its
    /// output open, if there is such.
    pub(super) leaks: Option<String>,
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
    /// The process has said nothing: it was ended by force, or by itself in a way of
    /// its own. And how.
    Unknown(String),
    /// The process was not asked.
    Unasked,
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

/// A process that has come to its end.
pub(super) struct Ran {
    pub(super) status: ExitStatus,
    pub(super) written: Written,
}

/// Runs tests, one after the other.
pub(super) struct Executor<'l> {
    library: Option<&'l Library>,
    originals: Originals,
}

impl<'l> Executor<'l> {
    /// With the engine, if there is a library.
    pub(super) fn new(library: Option<&'l Library>) -> Self {
        Self {
            library,
            originals: Originals::default(),
        }
    }

    /// Runs a test to its end; in the default order, if there is no wish. The
    /// number is of this process only.
    pub(super) fn execute(
        &mut self,
        test: &Test<'_>,
        number: usize,
        wish: Option<&Wish>,
    ) -> io::Result<Outcome> {
        let Some(library) = self.library else {
            let begun = Instant::now();
            let output = directly(test, None)?;
            return Ok(outcome(
                output,
                begun.elapsed(),
                Understood::nothing(Exactness::Unasked),
            ));
        };
        let path = library.account(number);
        let settings = library.settings(&path, &test.full_name(), wish);
        let original = self.originals.of(test, library);
        let begun = Instant::now();
        let copied = match (original, &test.name) {
            (Some(original), Some(name)) => original.copy(name, &settings),
            _ => Ok(None),
        };
        let output = copied.and_then(|copied| match copied {
            Some(output) => Ok(output),
            None => directly(test, Some((library, &settings))),
        });
        let real = begun.elapsed();
        let ended = output.as_ref().ok().and_then(|it| it.status.code());
        if ended.is_none() && interrupt::is_stopping() {
            let _ = fs::remove_file(&path);
            return Err(io::ErrorKind::Interrupted.into());
        }
        let output = output?;
        let account = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(&path);
        let account = Account::parse(&account);
        if let Some(Account::Refused(reason)) = account {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let understood = Understood::from(account, output.status);
        Ok(outcome(output, real, understood))
    }
}

/// Runs a test in a process that was started for it.
fn directly(test: &Test<'_>, engine: Option<(&Library, &Settings)>) -> io::Result<Ran> {
    let mut command = native(test.binary);
    if let Some(name) = &test.name {
        command.args(["--nocapture", "--exact", "--include-ignored", name]);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let started = match engine {
        Some((library, settings)) => {
            library.load_into(&mut command);
            command.envs(settings.iter().cloned());
            at_fixed_addresses(|| interrupt::start(&mut command, Group::Ours))
        }
        None => interrupt::start(&mut command, Group::Ours),
    };
    output(started?)
}

/// What a process leaves that was started.
#[cfg(target_os = "linux")]
fn output(mut running: Running) -> io::Result<Ran> {
    let (stdout, stderr) = (running.stdout.take(), running.stderr.take());
    let written = match (stdout.map(OwnedFd::from), stderr.map(OwnedFd::from)) {
        (Some(stdout), Some(stderr)) => {
            let pipes = [stdout, stderr].map(File::from);
            read_both(pipes, || Ok(running.try_wait()?.is_some()))?
        }
        _ => Written::default(),
    };
    let status = running.wait()?;
    Ok(Ran { status, written })
}

/// The same, to the end of its output.
#[cfg(not(target_os = "linux"))]
fn output(running: Running) -> io::Result<Ran> {
    let output = running.output()?;
    let written = Written {
        stdout: output.stdout,
        stderr: output.stderr,
        leaks: None,
    };
    Ok(Ran {
        status: output.status,
        written,
    })
}

/// What came of a test.
fn outcome(ran: Ran, real: Duration, understood: Understood) -> Outcome {
    let Understood {
        time,
        trace,
        exactness,
        hang,
        scheduled,
    } = understood;
    let verdict = match hang {
        Some(hang) => Verdict::Hung(hang),
        None if ran.status.success() => Verdict::Passed,
        None => Verdict::Failed(described(ran.status)),
    };
    Outcome {
        verdict,
        real,
        time,
        exactness,
        trace,
        scheduled,
        explored: None,
        leaks: ran.written.leaks,
        stdout: String::from_utf8_lossy(&ran.written.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&ran.written.stderr).into_owned(),
    }
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
            None if !status.success() => Self::nothing(Exactness::Unknown(described(status))),
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
