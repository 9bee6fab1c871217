//! A sequence as a program that can be executed again and again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conan_explore::{
    Abreast, Bound, Counts, Dfs, End, Explorer, Fixed, Found, History, Mixed, Outcome, Pct, Pos,
    Program, Random, Schedule, Shard, Token, Verdict,
};

use conan_protocol::replay::{self, SEPARATOR};

use super::explored::{Explored, Failed, Finding, Replayed};
use super::exploring::{By, Exploring};
use super::steps::Steps;
use crate::engine::{Scheduled, with_same_threads};
use crate::event::{ErrorKind, Failure, Place};
use crate::hot_spot::{HotSpot, Reached};
use crate::report::{Report, Verdict as Judged};
use crate::run::run_on;
use crate::script::{Script, Sequence};

/// Threads that are suspended for good stay until the process ends, and the
/// system does not let a process have any number of them.
const MOST_ABANDONED: u64 = 10_000;

/// Is told how far an exploration has come.
pub trait Watch {
    /// After each execution.
    fn executed(&mut self, counts: &Counts);

    /// After the first execution that has failed, counted from 0: its report,
    /// and the command that replays it. To make its schedule simpler may take
    /// long.
    fn has_failed(&mut self, execution: u64, report: &Report, replay: &str);
}

/// Explores the schedules of a sequence. `replay_options` is what a replay needs
/// besides the token, as [`OPTIONS`] has it.
///
/// [`OPTIONS`]: conan_protocol::replay::OPTIONS
pub fn explore(
    script: &'static Script,
    sequence: &'static Sequence,
    exploring: &Exploring,
    ticktime: Option<u64>,
    replay_options: &str,
    watch: &mut dyn Watch,
) -> Explored {
    with_same_threads(|| {
        let mut program = Sequenced::new(script, sequence, exploring.steps, ticktime);
        replay_options.clone_into(&mut program.replay_options);
        program.watch = Some(RefCell::new(watch));
        let began = Instant::now();
        let limit = exploring.seconds.map(Duration::from_secs_f64);
        let mut explorer = explorer(exploring);
        let exploration = explorer.explore_while(&program, |counts| {
            if let Some(watch) = &program.watch {
                watch.borrow_mut().executed(counts);
            }
            limit.is_none_or(|limit| began.elapsed() < limit)
                && program.abandoned.get() < MOST_ABANDONED
        });
        let missing = program.missing();
        let finding = match exploration.end {
            End::Exhausted { .. } | End::BoundReached(_) if !missing.is_empty() => {
                Finding::Unreached(missing)
            }
            End::Failed(found) => Finding::Failed(Box::new(failed(&program, *found))),
            End::Exhausted { bounds, .. } => Finding::Exhausted(bounds),
            End::BoundReached(bound) => {
                let is_full = program.abandoned.get() >= MOST_ABANDONED;
                Finding::BoundReached(reached(bound, exploring, is_full))
            }
            End::Impossible(reason) => Finding::Impossible(reason),
        };
        Explored {
            script,
            sequence,
            exploring: exploring.clone(),
            counts: exploration.counts,
            finding,
        }
    })
}

/// Executes a sequence once more, with the decisions of a token.
pub fn replay(
    script: &'static Script,
    sequence: &'static Sequence,
    token: &str,
    steps: u64,
    ticktime: Option<u64>,
) -> Result<Replayed, String> {
    let token: Token = token
        .parse()
        .map_err(|error| format!("`{token}`: {error}"))?;
    if token.has_hooks() && !conan_kernel::fine::is_present() {
        let message = "the token was recorded with `--fine`; replay it with the same \
                       `--fine` and `--instrument` options";
        return Err(message.to_owned());
    }
    let program = Sequenced::new(script, sequence, steps, ticktime);
    Ok(with_same_threads(|| program.replay(&token)))
}

fn explorer(exploring: &Exploring) -> Explorer {
    let seed = exploring.seed;
    let explorer = match exploring.by {
        By::Mixed => Explorer::new(Mixed::new(seed)),
        By::Random => Explorer::new(Random::new(seed)),
        By::Pct => Explorer::new(Pct::new(seed, exploring.depth)),
        By::Pos => Explorer::new(Pos::new(seed)),
        By::Abreast => Explorer::new(Abreast::new(seed)),
        By::History => Explorer::new(History::new(seed)),
        By::Fixed => Explorer::new(Fixed),
        By::Dfs => Explorer::new(match exploring.preemptions {
            Some(bound) => Dfs::new().preemptions(bound),
            None => Dfs::new(),
        }),
    };
    let (index, count) = exploring.shard;
    explorer
        .executions(exploring.executions)
        .spurious(exploring.spurious)
        .shard(Shard { index, count })
}

fn reached(bound: Bound, exploring: &Exploring, is_full: bool) -> String {
    match bound {
        Bound::Executions => format!("{} executions were asked for", exploring.executions),
        Bound::Stopped if is_full => {
            format!(
                "{MOST_ABANDONED} threads are suspended for good, which is enough for a process"
            )
        }
        Bound::Stopped => "the time was up".to_owned(),
        Bound::NotExact => {
            "nothing was left to try, but some executions were not exact, or not repeatable"
                .to_owned()
        }
    }
}

fn failed(program: &Sequenced<'_>, found: Found<Report>) -> Failed {
    let is_replayed = found.shrunk.is_some();
    let (found_preemptions, found_deviations) =
        (found.trace.preemptions(), found.trace.deviations());
    let (token, trace, report) = match found.shrunk {
        Some(shrunk) => (shrunk.token, shrunk.trace, shrunk.failure),
        None => (found.token, found.trace, found.failure),
    };
    let again = program.replay(&token);
    let (report, steps) = if again.fits && are_alike(&report, &again.report) {
        (again.report, again.steps)
    } else {
        (report, String::new())
    };
    Failed {
        report,
        execution: found.execution,
        token: program.named(&token),
        replay: program.replay_command(&token),
        preemptions: trace.preemptions(),
        deviations: trace.deviations(),
        found_preemptions,
        found_deviations,
        is_replayed,
        steps,
    }
}

struct Sequenced<'w> {
    script: &'static Script,
    sequence: &'static Sequence,
    steps: u64,
    ticktime: Option<u64>,
    /// Threads that were left suspended.
    abandoned: Cell<u64>,
    /// The hot spots of `#sometimes` that were reached.
    reached: RefCell<BTreeSet<&'static str>>,
    /// What a replay needs besides the token.
    replay_options: String,
    watch: Option<RefCell<&'w mut dyn Watch>>,
}

impl Sequenced<'_> {
    fn new(
        script: &'static Script,
        sequence: &'static Sequence,
        steps: u64,
        ticktime: Option<u64>,
    ) -> Self {
        Self {
            script,
            sequence,
            steps,
            ticktime,
            abandoned: Cell::new(0),
            reached: RefCell::default(),
            replay_options: String::new(),
            watch: None,
        }
    }

    /// The token with the sequence's name, as `cargo conan replay` takes it.
    fn named(&self, token: &Token) -> String {
        format!("{}:{token}", self.sequence.name)
    }

    /// The command that replays an execution.
    fn replay_command(&self, token: &Token) -> String {
        let mut options = vec![self.replay_options.clone()];
        if self.steps != Exploring::default().steps {
            options.extend(["--steps".to_owned(), self.steps.to_string()]);
        }
        if let Some(ticktime) = self.ticktime {
            options.extend(["--ticktime".to_owned(), ticktime.to_string()]);
        }
        let options = options.join(&SEPARATOR.to_string());
        replay::of_script(self.script.path, &self.named(token), &options)
    }

    /// The hot spots that no execution has reached, and one should have.
    fn missing(&self) -> Vec<HotSpot> {
        let reached = self.reached.borrow();
        let spots = self.sequence.hot_spots.iter().copied();
        let wanted = spots.filter(|spot| spot.reached == Reached::Sometimes);
        wanted.filter(|spot| !reached.contains(spot.name)).collect()
    }

    fn execute_noting(&self, schedule: Schedule, steps: Option<Arc<Steps>>) -> Report {
        let engine = Scheduled {
            schedule,
            limit: self.steps,
            steps,
        };
        let report = run_on(self.script, self.sequence, &engine, self.ticktime);
        self.abandoned.set(self.abandoned.get() + report.abandoned);
        self.reached.borrow_mut().extend(&report.reached);
        report
    }

    /// Executes the schedule of a token, and notes it step by step.
    fn replay(&self, token: &Token) -> Replayed {
        let steps = Arc::new(Steps::default());
        let noting = Noting {
            program: self,
            steps: Arc::clone(&steps),
            passed: RefCell::default(),
        };
        let replayed = conan_explore::replay(&noting, token);
        let report = match replayed.verdict.outcome {
            Outcome::Failed(report) => Some(report),
            Outcome::Passed | Outcome::Impossible(_) => noting.passed.take(),
        };
        Replayed {
            steps: steps.table(&self.script.codes()),
            order: steps.order(),
            report: report.expect("the last execution has a report"),
            fits: replayed.fits,
        }
    }
}

/// What makes two errors the same: their kind, the place in the script, and the
/// place in the code where the thread panicked or is blocked.
fn key(failure: &Failure) -> (ErrorKind, Place, Option<&str>) {
    let is_place = |note: &&String| {
        let places = ["panicked at ", "blocked at "];
        places.iter().any(|place| note.starts_with(place))
    };
    let place = failure.notes.iter().find(is_place);
    (failure.kind, failure.place, place.map(String::as_str))
}

/// True if two executions have failed for the same reason, as far as the reports
/// tell: the first error is the same, and the second execution has none that
/// the first one has not.
fn are_alike(one: &Report, other: &Report) -> bool {
    let known: Vec<_> = one.failures.iter().map(key).collect();
    let mut others = other.failures.iter().map(key);
    match (known.first(), others.next()) {
        (Some(one), Some(other)) => *one == other && others.all(|error| known.contains(&error)),
        (one, other) => one.is_none() && other.is_none(),
    }
}

impl Program for Sequenced<'_> {
    type Failure = Report;

    fn execute(&self, schedule: Schedule) -> Verdict<Report> {
        judged(self.execute_noting(schedule, None), |_| ())
    }

    fn are_alike(&self, one: &Report, other: &Report) -> bool {
        are_alike(one, other)
    }

    fn has_failed(&self, report: &Report, execution: u64, token: &Token) {
        if let Some(watch) = &self.watch {
            let replay = self.replay_command(token);
            watch.borrow_mut().has_failed(execution, report, &replay);
        }
    }
}

fn judged(report: Report, has_passed: impl FnOnce(Report)) -> Verdict<Report> {
    let is_exact = report.inexact.is_empty();
    let outcome = match report.verdict() {
        Judged::Passed => {
            has_passed(report);
            Outcome::Passed
        }
        Judged::Failed => Outcome::Failed(report),
    };
    Verdict { outcome, is_exact }
}

/// The same program, for a replay whose report is wanted in any case.
struct Noting<'p, 'w> {
    program: &'p Sequenced<'w>,
    steps: Arc<Steps>,
    /// The report of the last execution, if it has passed.
    passed: RefCell<Option<Report>>,
}

impl Program for Noting<'_, '_> {
    type Failure = Report;

    fn execute(&self, schedule: Schedule) -> Verdict<Report> {
        self.steps.clear();
        let steps = Some(Arc::clone(&self.steps));
        let report = self.program.execute_noting(schedule, steps);
        judged(report, |report| *self.passed.borrow_mut() = Some(report))
    }

    fn are_alike(&self, one: &Report, other: &Report) -> bool {
        are_alike(one, other)
    }
}
