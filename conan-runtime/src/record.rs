//! Reports as data, in a file that the environment names.

use std::env;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
#[cfg(conan_kernel)]
use std::time::{Duration, Instant};

use crate::ran::Ran;
#[cfg(conan_kernel)]
use crate::report::Report;
use crate::script::{Script, Sequence};

/// The variable that names a file to which every report is added, as JSON,
/// one object a line.
const REPORT_FILE: &str = "CONAN_REPORT";

/// The variable that asks for lines about explorations that are under way.
#[cfg(conan_kernel)]
const PROGRESS: &str = "CONAN_PROGRESS";

/// How often an exploration says how far it has come.
#[cfg(conan_kernel)]
const PERIOD: Duration = Duration::from_millis(100);

/// Where reports go, besides to people.
#[derive(Debug)]
pub(crate) struct Recorder {
    path: Option<OsString>,
}

impl Recorder {
    pub(crate) fn from_env() -> Self {
        Self {
            path: env::var_os(REPORT_FILE),
        }
    }

    /// True if there is a file.
    pub(crate) fn is_on(&self) -> bool {
        self.path.is_some()
    }

    /// Adds a report to the file, if there is one.
    pub(crate) fn record(&self, ran: &Ran) -> Result<(), String> {
        match &self.path {
            Some(_) => self.write(&format!("{}\n", ran.to_json())),
            None => Ok(()),
        }
    }

    /// Says in the file that a sequence begins: it may end the process.
    pub(crate) fn begins(&self, script: &Script, sequence: &Sequence) -> Result<(), String> {
        let begins = serde_json::json!({
            "begins": {
                "script": script.path,
                "sequence": sequence.name,
                "line": sequence.line,
            }
        });
        self.write(&format!("{begins}\n"))
    }

    fn write(&self, line: &str) -> Result<(), String> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let opened = OpenOptions::new().create(true).append(true).open(path);
        // One write, so that reports of parallel tests do not mix.
        let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        written.map_err(|error| {
            let path = path.display();
            format!("{REPORT_FILE}: cannot write to {path}: {error}")
        })
    }

    /// Tells from time to time how far an exploration has come.
    #[cfg(conan_kernel)]
    pub(crate) fn progress<'r>(&'r self, sequence: &'r str) -> Progress<'r> {
        Progress {
            recorder: self,
            sequence,
            is_on: self.is_on() && env::var_os(PROGRESS).is_some(),
            last: Instant::now(),
        }
    }
}

/// How far an exploration has come.
#[cfg(conan_kernel)]
pub(crate) struct Progress<'r> {
    recorder: &'r Recorder,
    sequence: &'r str,
    is_on: bool,
    last: Instant,
}

#[cfg(conan_kernel)]
impl crate::explore::Watch for Progress<'_> {
    fn executed(&mut self, counts: &conan_explore::Counts) {
        if !self.is_on || self.last.elapsed() < PERIOD {
            return;
        }
        self.last = Instant::now();
        let line = serde_json::json!({
            "progress": {
                "sequence": self.sequence,
                "executions": counts.executions,
                "schedules": counts.schedules,
                "estimate": counts.estimate,
            }
        });
        // What cannot be written now cannot be written at the end, either,
        // and is said then.
        let _ = self.recorder.write(&format!("{line}\n"));
    }

    fn has_failed(&mut self, execution: u64, report: &Report, replay: &str) {
        if !self.is_on {
            return;
        }
        let line = serde_json::json!({
            "found": {
                "sequence": self.sequence,
                "execution": execution,
                "replay": replay,
                "rendered": format!("{}\nreplay: {replay}\n", report.errors()),
            }
        });
        let _ = self.recorder.write(&format!("{line}\n"));
    }
}
