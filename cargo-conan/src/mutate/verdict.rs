//! What a script says about a mutant.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::{Value, json};

use crate::exit::{Exit, Stop};
use crate::run::execute::{Driver, Ended, described, has_refused};
use crate::run::interrupt;
use crate::run::reports::titled;

/// How long a mutant may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// To be built.
    pub(crate) build: Duration,
    /// To be run.
    pub(crate) run: Duration,
    /// How many sequences must report.
    pub(crate) sequences: usize,
}

/// What came of a mutant.
#[derive(Debug, Clone)]
pub(crate) enum Verdict {
    /// The script fails on it, as it should.
    Killed(Killer),
    /// The script passes, and has not noticed. If the run was not exact, that
    /// is worth knowing.
    Survived { inexact: Vec<String> },
    /// It does not compile, and counts for nothing.
    Unviable,
}

impl Verdict {
    /// True if the driver had to be ended.
    pub(crate) fn is_time_out(&self) -> bool {
        matches!(self, Self::Killed(killer) if killer.kind == TIME_OUT)
    }
}

const TIME_OUT: &str = "time-out";

/// What killed a mutant: the first error of the first sequence that failed.
#[derive(Debug, Clone)]
pub(crate) struct Killer {
    /// `value`, `exception`, `liveness`, `time-out`, or `abort`.
    pub(crate) kind: String,
    pub(crate) message: String,
    /// Where in the script, if a sequence has reported.
    pub(crate) place: Option<Place>,
}

/// A place in a script.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) script: String,
    pub(crate) sequence: String,
    pub(crate) line: u64,
    pub(crate) tick: u64,
    pub(crate) thread: Option<String>,
}

impl Killer {
    /// In one line.
    pub(crate) fn words(&self) -> String {
        let Self {
            kind,
            message,
            place,
        } = self;
        match place {
            Some(place) => {
                let Place {
                    script,
                    sequence,
                    line,
                    ..
                } = place;
                let title = titled(kind);
                format!("{title} in {sequence}, {script}:{line}: {message}")
            }
            None => format!("{kind}: {message}"),
        }
    }

    /// As data.
    pub(crate) fn json(&self) -> Value {
        let place = self.place.as_ref();
        json!({
            "kind": self.kind,
            "message": self.message,
            "script": place.map(|place| &place.script),
            "sequence": place.map(|place| &place.sequence),
            "line": place.map(|place| place.line),
            "tick": place.map(|place| place.tick),
            "thread": place.and_then(|place| place.thread.as_ref()),
        })
    }

    fn of(report: &Value) -> Self {
        let first = &report["errors"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            kind: text(&first["kind"]),
            message: text(&first["message"]),
            place: Some(Place {
                script: text(&report["script"]),
                sequence: text(&report["sequence"]),
                line: first["line"].as_u64().unwrap_or(0),
                tick: first["tick"].as_u64().unwrap_or(0),
                thread: first["thread"].as_str().map(str::to_owned),
            }),
        }
    }
}

/// Runs a driver until a sequence fails, or to its end.
pub(crate) fn judge(driver: Driver, limits: Limits) -> Stop<Verdict> {
    let mut killer = None;
    let mut inexact = Vec::new();
    let mut reported = 0;
    let ended = driver.run(Some(limits.run), |line| {
        let Ok(report) = serde_json::from_str::<Value>(line) else {
            return ControlFlow::Continue(());
        };
        reported += 1;
        if report["verdict"] == "failed" {
            killer = Some(Killer::of(&report));
            return ControlFlow::Break(());
        }
        let whys = report["inexact"].as_array().into_iter().flatten();
        inexact.extend(whys.filter_map(Value::as_str).map(str::to_owned));
        ControlFlow::Continue(())
    })?;
    interrupt::checkpoint()?;
    if let Some(killer) = killer {
        return Ok(Verdict::Killed(killer));
    }
    match ended {
        Ended::Itself(status, _) if has_refused(status) => Err(Exit::Wrong),
        Ended::Itself(status, _) if reported < limits.sequences || !status.success() => {
            let missing = limits.sequences.saturating_sub(reported);
            let how = described(status);
            Ok(Verdict::Killed(Killer {
                kind: "abort".to_owned(),
                message: format!(
                    "the driver ended ({how}) before {missing} of the sequences had reported"
                ),
                place: None,
            }))
        }
        Ended::Itself(_, _) | Ended::Stopped => Ok(Verdict::Survived { inexact }),
        Ended::TimedOut => {
            let seconds = limits.run.as_secs();
            Ok(Verdict::Killed(Killer {
                kind: TIME_OUT.to_owned(),
                message: format!("the driver has not ended after {seconds} s"),
                place: None,
            }))
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::sync::{Mutex, PoisonError};
    use std::time::Instant;

    use super::*;
    use crate::cli::ClockArgs;
    use crate::run::scratch::Scratch;

    /// A minute that no test waits for: whoever takes it is ended.
    const HANGS: &str = "exec sleep 60";

    /// Judges a driver that does what a shell script says; one sequence must
    /// report.
    fn judged(script: &str, run: Duration) -> (Verdict, Duration) {
        // A file cannot be run while it is open for writing, and the child of
        // another test may have inherited it.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let driver = folder.path().join("driver");
        let text = format!("#!/bin/sh\n{script}\n");
        fs::write(&driver, text).expect("a file can be written");
        let permissions = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&driver, permissions).expect("it can be made executable");
        let scratch = scratch(folder.path());
        let clock = ClockArgs {
            clock: None,
            ticktime: None,
        };
        let limits = Limits {
            build: run,
            run,
            sequences: 1,
        };
        let start = Instant::now();
        let driver = Driver::new(&driver, &scratch, &clock).unheard();
        let verdict = judge(driver, limits).expect("the driver can be started");
        (verdict, start.elapsed())
    }

    fn scratch(folder: &Path) -> Scratch {
        Scratch {
            name: "driver".to_owned(),
            root: folder.to_owned(),
            manifest: folder.join("Cargo.toml"),
            target: folder.join("target"),
            reports: folder.join("reports.jsonl"),
            package_root: folder.to_owned(),
            cargo_arguments: Vec::new(),
            environment: Vec::new(),
        }
    }

    fn killer(verdict: Verdict) -> Killer {
        match verdict {
            Verdict::Killed(killer) => killer,
            other => panic!("it should have been killed: {other:?}"),
        }
    }

    fn says(report: &str) -> String {
        format!("echo '{report}' >> \"$CONAN_REPORT\"")
    }

    const SOON: Duration = Duration::from_secs(30);
    const PASSED: &str = r#"{"verdict":"passed","inexact":["it span"]}"#;
    const FAILED: &str = r#"{"verdict":"failed","script":"s.conan","sequence":"waits","errors":[{"kind":"liveness","message":"for good","line":7,"tick":2,"thread":"t"}]}"#;

    #[test]
    fn a_mutant_that_does_not_end_is_killed_by_time_out() {
        let (verdict, took) = judged(HANGS, Duration::from_millis(200));
        assert!(verdict.is_time_out(), "{verdict:?}");
        assert!(took < SOON, "it was waited for: {took:?}");
    }

    #[test]
    fn a_mutant_is_killed_by_the_first_sequence_that_fails() {
        let script = format!("{}\n{}\n{HANGS}", says(PASSED), says(FAILED));
        let (verdict, took) = judged(&script, SOON);
        assert!(took < SOON, "it was waited for: {took:?}");
        let words = killer(verdict).words();
        assert_eq!(words, "liveness error in waits, s.conan:7: for good");
    }

    #[test]
    fn a_mutant_that_ends_the_process_is_killed() {
        for end in ["kill -ABRT $$", "exit 0", "exit 1"] {
            let (verdict, _) = judged(end, SOON);
            let killer = killer(verdict);
            assert_eq!(killer.kind, "abort", "{end}: {killer:?}");
        }
        // It has reported, but did not come to its end.
        let (verdict, _) = judged(&format!("{}\nexit 3", says(PASSED)), SOON);
        assert_eq!(killer(verdict).kind, "abort");
    }

    #[test]
    fn a_mutant_that_passes_survives() {
        let (verdict, _) = judged(&says(PASSED), SOON);
        match verdict {
            Verdict::Survived { inexact } => assert_eq!(inexact, ["it span"]),
            other => panic!("it should have survived: {other:?}"),
        }
    }
}
