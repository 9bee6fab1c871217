//! What is asked of the runtime: by the environment and by the script.

use std::env;

use conan_protocol::replay::OPTIONS;

use crate::explore::Exploring;
#[cfg(conan_kernel)]
use crate::explore::doubt;
#[cfg(conan_kernel)]
use crate::fresh::{Process, Request, Way};
use crate::left::{self, Before};
use crate::ran::Ran;
use crate::record::Recorder;
use crate::report::{Report, Verdict};
use crate::run::{Settings, run};
use crate::script::{Script, Sequence};

/// How sequences are explored, in place of what their scripts say; `off` for
/// not at all.
const EXPLORE: &str = "CONAN_EXPLORE";

/// The sequence and the schedule that are run, `name:token`, and nothing else.
const REPLAY: &str = "CONAN_REPLAY";

/// The name of the only sequence that is run.
const SEQUENCE: &str = "CONAN_SEQUENCE";

/// What the environment asks for.
#[derive(Debug)]
pub(crate) struct Asked {
    settings: Settings,
    exploring: Option<Explore>,
    /// The only sequence that is run.
    sequence: Option<String>,
    /// The sequence's name, and the token.
    replay: Option<(String, String)>,
    /// What a replay of an execution needs besides the token.
    #[cfg_attr(not(conan_kernel), allow(dead_code))]
    replay_options: String,
}

#[derive(Debug)]
enum Explore {
    Off,
    So(Exploring),
}

impl Asked {
    pub(crate) fn from_env() -> Result<Self, String> {
        let settings = Settings::from_env()?;
        let exploring = match env::var(EXPLORE) {
            Ok(text) if text.trim() == "off" => Some(Explore::Off),
            Ok(text) => {
                let parsed = text.parse();
                Some(Explore::So(
                    parsed.map_err(|error| format!("{EXPLORE}: {error}"))?,
                ))
            }
            Err(_) => None,
        };
        let replay = match env::var(REPLAY) {
            Ok(text) => Some(parts(&text)?),
            Err(_) => None,
        };
        if settings.engine.name() != "virtual"
            && (replay.is_some() || matches!(exploring, Some(Explore::So(_))))
        {
            let clock = settings.engine.name();
            return Err(format!(
                "schedules can be explored and replayed on the clock `virtual` only, not on `{clock}`"
            ));
        }
        Ok(Self {
            settings,
            exploring,
            sequence: env::var(SEQUENCE).ok(),
            replay,
            replay_options: env::var(OPTIONS).unwrap_or_default(),
        })
    }

    /// True if time is virtual.
    pub(crate) fn is_virtual(&self) -> bool {
        self.settings.engine.name() == "virtual"
    }

    /// False if only other sequences are to be run.
    pub(crate) fn is_wanted(&self, sequence: &Sequence) -> bool {
        self.only().is_none_or(|name| name == sequence.name)
    }

    /// The name of the only sequence that is to be run, if there is such.
    pub(crate) fn only(&self) -> Option<&str> {
        let replayed = self.replay.as_ref().map(|(name, _)| name);
        replayed.or(self.sequence.as_ref()).map(String::as_str)
    }

    /// Runs a sequence in the way that is asked for.
    pub(crate) fn run(
        &self,
        script: &'static Script,
        sequence: &'static Sequence,
        recorder: &Recorder,
    ) -> Result<Ran, String> {
        if let Some((name, token)) = &self.replay
            && name == sequence.name
        {
            return self.replay(script, sequence, token);
        }
        match self.exploring_of(sequence)? {
            Some(exploring) => Ok(self.explore(script, sequence, &exploring, recorder)),
            None => Ok(Ran::Once(Box::new(self.run_once(script, sequence)))),
        }
    }

    /// Runs a sequence once. If it fails beside threads that other sequences have
    /// left suspended, it runs once more in a new process, and only that result
    /// counts.
    fn run_once(&self, script: &'static Script, sequence: &'static Sequence) -> Report {
        let before = Before::of(sequence.name);
        let mut report = run(script, sequence, self.settings);
        if report.verdict() == Verdict::Failed && before.was_used() {
            report = self.run_alone(script, sequence, report);
            if report.verdict() == Verdict::Passed {
                before.excuse();
                report.notes.push(format!(
                    "it failed beside a thread that {} had left suspended in the same process; \
                     this report is of a new process",
                    left::in_words()
                ));
            }
        }
        if report.was_refused && report.verdict() == Verdict::Failed {
            let note = "the system refused to start a thread, which may be why it failed";
            report.notes.push(note.to_owned());
        }
        report
    }

    /// The report of a new process, or the same one if there can be none.
    #[cfg(conan_kernel)]
    fn run_alone(
        &self,
        script: &'static Script,
        sequence: &'static Sequence,
        mut report: Report,
    ) -> Report {
        let request = Request {
            script,
            sequence,
            ticktime: self.settings.ticktime,
            way: Way::Once,
        };
        let process = Process::start().map_err(|error| error.to_string());
        match process.and_then(|mut process| process.execute(&request, None)) {
            Ok(answer) => answer.report,
            Err(_) => {
                report.notes.push(doubt());
                report
            }
        }
    }

    #[cfg(not(conan_kernel))]
    fn run_alone(&self, _: &'static Script, _: &'static Sequence, report: Report) -> Report {
        report
    }

    fn exploring_of(&self, sequence: &Sequence) -> Result<Option<Exploring>, String> {
        match (&self.exploring, sequence.explore) {
            (Some(Explore::Off), _) | (None, None) => Ok(None),
            (Some(Explore::So(exploring)), _) => Ok(Some(exploring.clone())),
            // Where there is no other clock, the default order is all there is.
            (None, Some(_)) if !self.is_virtual() => Ok(None),
            (None, Some(words)) => {
                let parsed = words.parse();
                let exploring = parsed
                    .map_err(|error| format!("#explore {words} ({}): {error}", sequence.name))?;
                Ok(Some(exploring))
            }
        }
    }

    #[cfg(conan_kernel)]
    fn explore(
        &self,
        script: &'static Script,
        sequence: &'static Sequence,
        exploring: &Exploring,
        recorder: &Recorder,
    ) -> Ran {
        let mut progress = recorder.progress(sequence.name);
        let explored = crate::explore::explore(
            script,
            sequence,
            exploring,
            self.settings.ticktime,
            &self.replay_options,
            &mut progress,
        );
        Ran::Explored(Box::new(explored))
    }

    #[cfg(conan_kernel)]
    fn replay(
        &self,
        script: &'static Script,
        sequence: &'static Sequence,
        token: &str,
    ) -> Result<Ran, String> {
        let ticktime = self.settings.ticktime;
        let steps = match &self.exploring {
            Some(Explore::So(exploring)) => exploring.steps,
            Some(Explore::Off) | None => Exploring::default().steps,
        };
        let replayed = crate::explore::replay(script, sequence, token, steps, ticktime)
            .map_err(|error| format!("{REPLAY}: {error}"))?;
        Ok(Ran::Replayed(Box::new(replayed)))
    }

    #[cfg(not(conan_kernel))]
    fn explore(
        &self,
        script: &'static Script,
        sequence: &'static Sequence,
        _: &Exploring,
        _: &Recorder,
    ) -> Ran {
        Ran::Once(Box::new(run(script, sequence, self.settings)))
    }

    #[cfg(not(conan_kernel))]
    fn replay(&self, _: &'static Script, _: &'static Sequence, _: &str) -> Result<Ran, String> {
        Err(format!("{REPLAY}: schedules cannot be replayed here"))
    }
}

/// `name:token`
fn parts(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once(':');
    let (name, token) =
        parts.ok_or_else(|| format!("{REPLAY}: `{text}` is not like `sequence:token`"))?;
    Ok((name.to_owned(), token.to_owned()))
}
