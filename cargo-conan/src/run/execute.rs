//! Runs the driver and hands on its reports as they come.

use std::env;
use std::ffi::OsStr;
use std::fmt::{self, Display, Formatter};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use conan_protocol::driver::REFUSED;
use serde_json::Value;

use super::interrupt::{self, Group};
use super::reports::Printer;
use super::scratch::Scratch;
use crate::cli::{ClockArgs, Format};
use crate::exit::{Exit, Stop, error};
use crate::files;

/// How often to look for a new report.
const PERIOD: Duration = Duration::from_millis(20);

/// What came of all sequences.
pub(crate) struct Outcome {
    pub(crate) failed: bool,
}

/// How a driver came to its end.
#[derive(Debug)]
pub(crate) enum Ended {
    /// By itself, and in which sequence, if it was at one.
    Itself(ExitStatus, Option<Begun>),
    /// It was told to: its reports said enough, or the command must stop.
    Stopped,
    /// It was told to: its time was up.
    TimedOut,
}

/// A sequence that a driver has begun and has not reported.
#[derive(Debug, Clone)]
pub(crate) struct Begun {
    pub(crate) script: String,
    pub(crate) sequence: String,
    pub(crate) line: u64,
}

impl Begun {
    /// Nothing if the line says something else.
    fn parse(line: &str) -> Option<Self> {
        // Reports may be long, and are many.
        if !line.starts_with("{\"begins\":") {
            return None;
        }
        let value: Value = serde_json::from_str(line).ok()?;
        let begins = &value["begins"];
        Some(Self {
            script: begins["script"].as_str()?.to_owned(),
            sequence: begins["sequence"].as_str()?.to_owned(),
            line: begins["line"].as_u64()?,
        })
    }
}

impl Display for Begun {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            script,
            sequence,
            line,
        } = self;
        write!(f, "the sequence `{sequence}` ({script}:{line})")
    }
}

/// What is to be said of a driver that has ended too early: how, in which sequence,
/// and what of `missing` sequences had not been done, in words.
pub(crate) fn broken_off(how: &str, begun: Option<&Begun>, missing: usize, done: &str) -> String {
    match begun {
        Some(begun) => {
            format!("the driver ended ({how}) in {begun}, before {missing} of the sequences {done}")
        }
        None => format!(
            "the driver ended ({how}) before {missing} of the sequences {done}, \
             while none of them ran"
        ),
    }
}

/// A driver that is yet to be run.
pub(crate) struct Driver {
    command: Command,
    reports: PathBuf,
}

/// Runs the driver to its end and prints its reports.
pub(crate) fn execute(
    driver: &Path,
    scratch: &Scratch,
    clock: &ClockArgs,
    format: Format,
    sequences: usize,
) -> Stop<Outcome> {
    let mut driver = Driver::new(driver, scratch, clock);
    if format != Format::Human {
        driver = driver.on_stderr();
    }
    interrupt::remove_with_us(&scratch.reports);
    let mut printer = Printer::new(format);
    let ended = driver.run(None, |line| {
        printer.report(line);
        ControlFlow::Continue(())
    })?;
    let _ = fs::remove_file(&scratch.reports);
    let Ended::Itself(status, begun) = ended else {
        return Err(stopped(&printer, sequences));
    };
    if has_refused(status) {
        // The driver has said itself what is wrong with its settings.
        return Err(Exit::Wrong);
    }
    let missing = sequences.saturating_sub(printer.count());
    if missing > 0 {
        let broken_off = || {
            printer.broken_off(missing, &described(status), begun.as_ref());
            Exit::Failed
        };
        if interrupt::unless_stopped(broken_off) != Exit::Failed {
            return Err(stopped(&printer, sequences));
        }
    } else if !status.success() && !printer.failed() {
        printer.ended_badly(&described(status));
    }
    printer.totals();
    let failed = printer.failed() || missing > 0 || !status.success();
    Ok(Outcome { failed })
}

/// True if a driver could not do what it was asked for. It has said why.
pub(crate) fn has_refused(status: ExitStatus) -> bool {
    status.code() == Some(REFUSED.into())
}

/// The command was stopped before all sequences had reported.
fn stopped(printer: &Printer, sequences: usize) -> Exit {
    printer.stopped(sequences);
    printer.totals();
    interrupt::exit(printer.failed())
}

impl Driver {
    /// The driver with what it is told by the environment.
    pub(crate) fn new(driver: &Path, scratch: &Scratch, clock: &ClockArgs) -> Self {
        let mut command = Command::new(driver);
        command
            .current_dir(&scratch.package_root)
            .env("CONAN_PARENT", process::id().to_string())
            .stdin(Stdio::null());
        if let Some(clock) = &clock.clock {
            command.env("CONAN_CLOCK", clock);
        }
        if let Some(ticktime) = clock.ticktime {
            command.env("CONAN_TICKTIME", ticktime.to_string());
        }
        Self {
            command,
            reports: scratch.reports.clone(),
        }
    }

    /// The same, told one thing more.
    pub(crate) fn told(mut self, variable: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(variable, value);
        self
    }

    /// The same for a mutant, which may run without an end: it is given up
    /// sooner than a component, unless the user says how soon.
    pub(crate) fn of_mutant(self) -> Self {
        const PATIENCE: &str = "CONAN_PATIENCE";
        match env::var_os(PATIENCE) {
            Some(_) => self,
            None => self.told(PATIENCE, "2"),
        }
    }

    /// The same, beside others of its kind.
    pub(crate) fn reporting_to(mut self, reports: PathBuf) -> Self {
        self.reports = reports;
        self
    }

    /// The same, where data on standard output is ours alone.
    pub(crate) fn on_stderr(mut self) -> Self {
        self.command.stdout(Stdio::from(io::stderr()));
        self
    }

    /// The same, for a run that nobody watches.
    pub(crate) fn unheard(mut self) -> Self {
        self.command
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self
    }

    /// Runs it to its end, or until its time is up or `report` has heard
    /// enough. All of that on one thread, which the driver takes for its parent.
    pub(crate) fn run(
        mut self,
        limit: Option<Duration>,
        mut report: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Stop<Ended> {
        let reports = &self.reports;
        self.command.env("CONAN_REPORT", reports);
        let cannot = |failure| files::cannot_write(reports, &failure);
        fs::write(reports, "").map_err(cannot)?;
        let mut reader = BufReader::new(File::open(reports).map_err(cannot)?);
        let mut child = interrupt::start(&mut self.command, Group::Own).map_err(|failure| {
            interrupt::unless_stopped(|| error(format_args!("cannot start the driver: {failure}")))
        })?;
        let start = Instant::now();
        let mut line = String::new();
        let mut begun = None;
        loop {
            let is_stopped = interrupt::must_stop();
            if is_stopped {
                child.end();
            }
            let ended = child.try_wait();
            while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
                // A line without its end is still being written.
                if !line.ends_with('\n') {
                    break;
                }
                if let Some(next) = Begun::parse(&line) {
                    begun = Some(next);
                    line.clear();
                    continue;
                }
                let is_under_way = ["progress", "found"]
                    .iter()
                    .any(|kind| line.starts_with(&format!("{{\"{kind}\":")));
                if !is_under_way {
                    begun = None;
                }
                if report(&line).is_break() {
                    if matches!(ended, Ok(None)) {
                        child.end();
                    }
                    return Ok(Ended::Stopped);
                }
                line.clear();
            }
            match ended {
                // It may have come to its end before.
                _ if is_stopped => return Ok(Ended::Stopped),
                Ok(None) if limit.is_some_and(|limit| start.elapsed() > limit) => {
                    child.end();
                    return Ok(Ended::TimedOut);
                }
                Ok(None) => thread::sleep(PERIOD),
                Ok(Some(status)) => return Ok(Ended::Itself(status, begun)),
                Err(failure) => {
                    return Err(error(format_args!("cannot wait for the driver: {failure}")));
                }
            }
        }
    }
}

/// A driver's end in words.
pub(crate) fn described(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}
