//! What came of the tests, as they end and as a whole.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use conan_preload::{Hang, Inexact, Reason};

use super::args::Request;
use super::execute::{Exactness, Outcome, Verdict};
use super::list::Test;
use super::{hang, json, lines};
use crate::check::counted;
use crate::cli::Format;
use crate::github::{self, Level};
use crate::output;
use crate::run::interrupt;

/// Prints what comes of tests, and adds it up.
pub(super) struct Report<'t> {
    format: Format,
    /// The user wants to see the output of tests that pass, too.
    shows_output: bool,
    /// What cargo was told besides which tests.
    options: Vec<String>,
    begun: Instant,
    ignored: usize,
    not_started: usize,
    /// How many tests were to be run.
    chosen: usize,
    pub(super) results: Vec<(&'t Test<'t>, Outcome)>,
}

/// The sums of a report.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) ignored: usize,
    pub(super) exact: usize,
    /// Of the tests of which both times are known.
    pub(super) real: Duration,
    pub(super) time: Duration,
}

impl<'t> Report<'t> {
    pub(super) fn new(request: &Request, binaries: usize, tests: usize, ignored: usize) -> Self {
        let shown = ["--nocapture", "--no-capture", "--show-output"];
        if request.format == Format::Human {
            let binaries = match binaries {
                1 => "1 binary".to_owned(),
                _ => format!("{binaries} binaries"),
            };
            let clock = if request.wall { "real" } else { "virtual" };
            let how = match &request.exploring {
                Some(exploring) => format!(
                    ", up to {} of each by `{}` with seed {}",
                    counted_executions(exploring.executions),
                    exploring.strategy,
                    exploring.seed
                ),
                None => String::new(),
            };
            output::err(format_args!(
                "     Running {} of {binaries} in {clock} time{how}\n",
                counted(tests, "test")
            ));
        }
        Self {
            format: request.format,
            shows_output: request.says(&shown) || request.replay.is_some(),
            options: {
                let random = request.random.option().into_iter();
                let others = request.without_selection().into_iter();
                let others = others.map(|word| word.to_string_lossy().into_owned());
                random.chain(others).collect()
            },
            begun: Instant::now(),
            chosen: tests,
            ignored,
            not_started: 0,
            results: Vec::new(),
        }
    }

    /// A test takes long.
    pub(super) fn slow(&self, test: &Test<'_>) {
        if self.format == Format::Human {
            let style = AnsiColor::Yellow.on_default().bold();
            let name = test.full_name();
            output::err(format_args!("{style}        SLOW{style:#} {name}\n"));
        }
    }

    /// A test could not be started; why was said.
    pub(super) fn not_started(&mut self) {
        self.not_started += 1;
    }

    /// A test has ended.
    pub(super) fn ended(&mut self, test: &'t Test<'t>, outcome: Outcome) {
        match self.format {
            Format::Human => self.human(test, &outcome),
            Format::Json => output::out(format_args!("{}\n", json::test(test, &outcome))),
            format @ (Format::Short | Format::Github) => {
                lines::test(
                    format,
                    test,
                    &outcome,
                    self.replay(test, &outcome).as_deref(),
                );
            }
        }
        self.results.push((test, outcome));
    }

    fn human(&self, test: &Test<'_>, outcome: &Outcome) {
        output::err(format_args!("{}", line(test, outcome)));
        let has_passed = matches!(outcome.verdict, Verdict::Passed);
        if has_passed && !self.shows_output {
            return;
        }
        for (what, text) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
            let text = without_harness(text);
            if !text.trim().is_empty() {
                output::err(format_args!("--- {what} of {}\n", test.full_name()));
                output::err(format_args!("{}\n", text.trim_matches('\n')));
            }
        }
        if let Some(text) = why(&outcome.verdict) {
            output::err(format_args!("---\n{text}"));
        }
        if let Some(text) = self.found(test, outcome) {
            output::err(format_args!("{text}"));
        }
        if !has_passed {
            output::err(format_args!("\n"));
        }
    }

    /// How to see a failure again, if that took some finding; or that this is
    /// not what was to be seen again.
    fn found(&self, test: &Test<'_>, outcome: &Outcome) -> Option<String> {
        let (execution, token) = outcome.explored.as_ref()?.failed.as_ref()?;
        let which = match execution {
            0 => "the first execution, in the default order".to_owned(),
            _ => format!("execution {}", execution + 1),
        };
        if token.is_none() {
            return Some(format!(
                "found in {which}; its process has ended by force, and left nothing to replay\n"
            ));
        }
        let replay = self.replay(test, outcome)?;
        let mut text = format!("found in {which}\nreplay: {replay}\n");
        if matches!(outcome.exactness, Exactness::Inexact(_)) {
            text.push_str("note: that execution was not exact: a replay may be another one\n");
        }
        Some(text)
    }

    /// The command that repeats the execution of a test that has failed.
    fn replay(&self, test: &Test<'_>, outcome: &Outcome) -> Option<String> {
        let (_, token) = outcome.explored.as_ref()?.failed.as_ref()?;
        let token = token.as_ref()?;
        let mut words = vec!["test".to_owned(), "--replay".to_owned(), token.clone()];
        words.extend(self.options.iter().chain(&test.binary.selection).cloned());
        words.extend(test.name.clone());
        Some(conan_protocol::replay::command(&words))
    }

    /// True if any test has failed.
    pub(super) fn failed(&self) -> bool {
        self.sums().failed > 0
    }

    fn sums(&self) -> Totals {
        let mut totals = Totals {
            ignored: self.ignored,
            failed: self.not_started,
            ..Totals::default()
        };
        for (_, outcome) in &self.results {
            match outcome.verdict {
                Verdict::Passed => totals.passed += 1,
                _ => totals.failed += 1,
            }
            if matches!(outcome.exactness, Exactness::Exact) {
                totals.exact += 1;
            }
            if let Some(time) = outcome.time {
                totals.time += time;
                totals.real += outcome.real;
            }
        }
        totals
    }

    /// The end of the report.
    pub(super) fn totals(&self) {
        let totals = self.sums();
        let stopped = self.stopped();
        match self.format {
            Format::Human => self.human_totals(&totals, stopped.as_deref()),
            Format::Json => {
                let mut totals = json::totals(&totals, self.begun.elapsed());
                totals["stopped"] = stopped.into();
                output::out(format_args!("{totals}\n"));
            }
            Format::Short => {
                let Totals {
                    passed,
                    failed,
                    ignored,
                    ..
                } = totals;
                let stopped = stopped.map_or_else(String::new, |text| format!("; {text}"));
                output::out(format_args!(
                    "{passed} passed, {failed} failed, {ignored} ignored{stopped}\n"
                ));
            }
            Format::Github => {
                if let Some(text) = stopped {
                    github::annotate(Level::Warning, None, "", &text);
                }
            }
        }
    }

    /// Which part of the tests has run, if the command was stopped.
    fn stopped(&self) -> Option<String> {
        let run = self.results.len() + self.not_started;
        (interrupt::must_stop() && run < self.chosen)
            .then(|| format!("stopped when {run} of {} tests had run", self.chosen))
    }

    fn human_totals(&self, totals: &Totals, stopped: Option<&str>) {
        let failed: Vec<_> = self
            .results
            .iter()
            .filter(|(_, outcome)| !matches!(outcome.verdict, Verdict::Passed))
            .collect();
        let mut text = "------------\n".to_owned();
        let Totals {
            passed, ignored, ..
        } = *totals;
        let run = counted(self.results.len(), "test");
        let style = verdict_style(totals.failed == 0);
        let _ = writeln!(
            text,
            "{style}     Summary{style:#} [{}] {run} run: {passed} passed, {} failed, {ignored} ignored; {} of {} exact",
            seconds(self.begun.elapsed()),
            totals.failed,
            totals.exact,
            self.results.len(),
        );
        let saved = totals.time.saturating_sub(totals.real);
        if saved > Duration::ZERO {
            let (time, real) = (seconds(totals.time), seconds(totals.real));
            let saved = seconds(saved);
            let _ = writeln!(
                text,
                "             {time} of virtual time took {real}: {saved} saved"
            );
        }
        let explored = self.results.iter().filter_map(|it| it.1.explored.as_ref());
        let (executions, schedules, inexact) =
            explored.fold((0, 0, 0), |(executions, schedules, inexact), one| {
                (
                    executions + one.executions,
                    schedules + one.schedules,
                    inexact + one.inexact,
                )
            });
        if executions > 0 {
            let executions = counted_executions(executions);
            let schedules = counted_of(schedules, "different schedule");
            let _ = writeln!(
                text,
                "             {executions}, {schedules}; {inexact} not exact. There may be more schedules"
            );
        }
        if let Some(stopped) = stopped {
            let _ = writeln!(text, "             {stopped}");
        }
        output::err(format_args!("{text}"));
        for (test, outcome) in failed {
            output::err(format_args!("{}", line(test, outcome)));
        }
    }
}

/// `PASS [   0.006s for    5.000s] package test::name`
fn line(test: &Test<'_>, outcome: &Outcome) -> String {
    let (style, word) = match &outcome.verdict {
        Verdict::Passed => (verdict_style(true), "PASS"),
        Verdict::Failed(_) => (verdict_style(false), "FAIL"),
        Verdict::Hung(_) => (verdict_style(false), "HANG"),
    };
    let real = seconds(outcome.real);
    let time = outcome.time.map_or_else(|| "?".to_owned(), seconds);
    let mut text = format!(
        "{style}        {word}{style:#} [{real:>8} for {time:>9}] {}",
        test.full_name()
    );
    if let Some(explored) = &outcome.explored {
        let executions = counted_executions(explored.executions);
        let schedules = counted_of(explored.schedules, "different schedule");
        let _ = write!(text, ": {executions}, {schedules}");
        if explored.inexact > 0 {
            let _ = write!(text, ", {} not exact", explored.inexact);
        }
    }
    if let Some(why) = not_exact(&outcome.exactness) {
        let _ = write!(text, " ({why})");
    }
    if let Some(process) = &outcome.leaks {
        let _ = write!(
            text,
            " (leaks: `{process}` lives on and holds its output open)"
        );
    }
    text.push('\n');
    text
}

fn counted_executions(executions: u64) -> String {
    counted_of(executions, "execution")
}

fn counted_of(count: u64, what: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), what)
}

/// Why a run was not exact, if it was not.
pub(super) fn not_exact(exactness: &Exactness) -> Option<String> {
    match exactness {
        Exactness::Exact | Exactness::Unasked => None,
        Exactness::Unknown(how) => Some(format!(
            "not known to be exact: the process ended by force ({how})"
        )),
        Exactness::Native(reason) => Some(format!("not in virtual time: {reason}")),
        Exactness::Inexact(all) => {
            let mut reasons = reasons(all);
            let more = reasons.len().saturating_sub(2);
            reasons.truncate(2);
            let mut text = format!("not exact: {}", reasons.join("; "));
            if more > 0 {
                let _ = write!(text, "; and {more} more");
            }
            Some(text)
        }
    }
}

/// The same without leaving any reason out.
pub(super) fn not_exact_in_full(exactness: &Exactness) -> Option<String> {
    match exactness {
        Exactness::Inexact(all) => Some(format!("not exact: {}", reasons(all).join("; "))),
        other => not_exact(other),
    }
}

/// The reasons in words, each once.
fn reasons(all: &[Inexact]) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for inexact in all {
        let reason = described(inexact);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}

fn described(inexact: &Inexact) -> String {
    let thread = hang::named(inexact.thread.as_deref());
    let what = match inexact.reason {
        Reason::Running => "computed or polled for long",
        Reason::Blocked => "waited for something outside",
        Reason::WokeOutside => "woke a thread outside",
        Reason::WokenFromOutside => "was woken from outside",
        Reason::Io => "had to do with somebody outside, at a descriptor",
        Reason::Room => "filled the buffers of a connection",
        Reason::Signal => return "a signal came from outside".to_owned(),
        Reason::Process => return "started another process".to_owned(),
        Reason::Random => return "drew the system's random numbers".to_owned(),
    };
    format!("{thread} {what}")
}

/// What is to be said about a test that did not pass.
pub(super) fn why(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Passed => None,
        Verdict::Failed(how) => Some(format!("the test failed: {how}\n")),
        Verdict::Hung(threads) => {
            let why = described_threads(threads);
            Some(format!("the test hangs: {why}\n{}", hang::text(threads)))
        }
    }
}

/// Why a test hangs, in a sentence.
pub(super) fn described_threads(threads: &Hang) -> String {
    if threads.is_alive {
        "threads only yield or wait for time to pass, and nothing comes of it"
    } else {
        "every thread is suspended, and nothing is left that could wake one"
    }
    .to_owned()
}

/// What the harness says about the one test of its process goes without
/// saying; its minute is of virtual time.
fn without_harness(text: &str) -> String {
    let is_harness = |line: &str| {
        line == "running 1 test"
            || line.starts_with("test ") && line.ends_with(" has been running for over 60 seconds")
    };
    let lines = text.lines().filter(|line| !is_harness(line));
    lines.map(|line| format!("{line}\n")).collect()
}

fn verdict_style(fine: bool) -> Style {
    let color = if fine {
        AnsiColor::Green
    } else {
        AnsiColor::Red
    };
    color.on_default().bold()
}

fn seconds(time: Duration) -> String {
    format!("{:.3}s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_has_every_reason_and_the_text_the_first_two() {
        let of = |reason| Inexact {
            reason,
            thread: Some("worker".to_owned()),
        };
        let all = [Reason::Running, Reason::Io, Reason::Io, Reason::Random];
        let exactness = Exactness::Inexact(all.map(of).to_vec());
        assert_eq!(
            not_exact(&exactness).as_deref(),
            Some(
                "not exact: thread `worker` computed or polled for long; \
                 thread `worker` had to do with somebody outside, at a descriptor; and 1 more"
            )
        );
        assert_eq!(
            not_exact_in_full(&exactness).as_deref(),
            Some(
                "not exact: thread `worker` computed or polled for long; \
                 thread `worker` had to do with somebody outside, at a descriptor; \
                 drew the system's random numbers"
            )
        );
        assert_eq!(not_exact_in_full(&Exactness::Exact), None);
    }
}
