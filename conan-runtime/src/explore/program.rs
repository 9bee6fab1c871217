//! A sequence as a program that can be executed again and again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conan_explore::{
    Abreast, Bound, Counts, Dfs, End, Explorer, Fixed, Found, History, Mixed, Outcome, Pct, Pos,
    Program, Random, Schedule, Shard, Single, Token, Verdict,
};

use super::explored::{ALL_MADE, Explored, Failed, Finding, Replayed};
use super::exploring::{By, Exploring};
use super::steps::Steps;
use super::tick_order::TickOrder;
use crate::engine::{Scheduled, with_same_threads};
use crate::hot_spot::{HotSpot, Reached};
use crate::report::{Report, Verdict as Judged};
use crate::run::run_on;
use crate::script::{Script, Sequence};

/// Threads that are suspended for good stay until the process ends, and the
/// system does not let a process have any number of them.
const MOST_ABANDONED: u64 = 10_000;

/// Explores the schedules of a sequence. `watch` is told how far it has come
/// after each execution.
pub fn explore(
    script: &'static Script,
    sequence: &'static Sequence,
    exploring: &Exploring,
    ticktime: Option<u64>,
    mut watch: impl FnMut(&Counts),
) -> Explored {
    with_same_threads(|| {
        let program = Sequenced::new(script, sequence, exploring.steps, ticktime);
        let began = Instant::now();
        let limit = exploring.seconds.map(Duration::from_secs_f64);
        let mut explorer = explorer(exploring);
        let exploration = explorer.explore_while(&program, |counts| {
            watch(counts);
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
                Finding::BoundReached(reached(bound, is_full))
            }
            End::Impossible(reason) => Finding::Impossible(reason),
        };
        Explored {
            script,
            sequence,
            exploring: exploring.clone(),
            counts: exploration.counts,
            test_cases: program.test_cases.get(),
            finding,
        }
    })
}

/// Executes a sequence once more, with the decisions of a token.
pub fn replay(
    script: &'static Script,
    sequence: &'static Sequence,
    token: &str,
    ticktime: Option<u64>,
) -> Result<Replayed, String> {
    let token: Token = token
        .parse()
        .map_err(|error| format!("`{token}`: {error}"))?;
    let steps = Exploring::default().steps;
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

fn reached(bound: Bound, is_full: bool) -> String {
    match bound {
        Bound::Executions => ALL_MADE.to_owned(),
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

fn failed(program: &Sequenced, found: Found<Report>) -> Failed {
    let is_replayed = found.shrunk.is_some();
    let (found_preemptions, found_deviations) =
        (found.trace.preemptions(), found.trace.deviations());
    let (token, trace, report) = match found.shrunk {
        Some(shrunk) => (shrunk.token, shrunk.trace, shrunk.failure),
        None => (found.token, found.trace, found.failure),
    };
    let (again, noted) = program.replay_noting(&token);
    let is_again = again.fits && key(&again.report) == key(&report);
    let tick_order = (is_again && trace.preemptions() == 0)
        .then(|| program.tick_order(&noted))
        .flatten();
    let (report, steps) = if is_again {
        (again.report, again.steps)
    } else {
        (report, String::new())
    };
    Failed {
        report,
        execution: found.execution,
        token: format!("{}:{token}", program.sequence.name),
        preemptions: trace.preemptions(),
        deviations: trace.deviations(),
        found_preemptions,
        found_deviations,
        is_replayed,
        steps,
        tick_order,
    }
}

struct Sequenced {
    script: &'static Script,
    sequence: &'static Sequence,
    steps: u64,
    ticktime: Option<u64>,
    /// Threads that were left suspended.
    abandoned: Cell<u64>,
    /// Test cases of the first execution.
    test_cases: Cell<u64>,
    /// The hot spots of `#sometimes` that were reached.
    reached: RefCell<BTreeSet<&'static str>>,
}

impl Sequenced {
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
            test_cases: Cell::new(0),
            reached: RefCell::default(),
        }
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
        if self.test_cases.get() == 0 {
            self.test_cases.set(report.totals.test_cases);
        }
        self.reached.borrow_mut().extend(&report.reached);
        report
    }

    /// The order of threads inside a tick that makes these steps fail, if the
    /// default order passes.
    fn tick_order(&self, failing: &Steps) -> Option<TickOrder> {
        let steps = Arc::new(Steps::default());
        let schedule = Single::of(Fixed, 0).strategy();
        let report = self.execute_noting(schedule, Some(Arc::clone(&steps)));
        let has_passed = report.verdict() == Judged::Passed;
        has_passed.then(|| TickOrder::between(failing, &steps))?
    }

    /// Executes the schedule of a token, and notes it step by step.
    fn replay(&self, token: &Token) -> Replayed {
        self.replay_noting(token).0
    }

    /// The same, with the steps as they were noted.
    fn replay_noting(&self, token: &Token) -> (Replayed, Arc<Steps>) {
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
        let replayed = Replayed {
            steps: steps.table(&self.script.codes()),
            order: steps.order(),
            report: report.expect("the last execution has a report"),
            fits: replayed.fits,
        };
        (replayed, steps)
    }
}

/// What makes two failures the same: the kind and the place of the first error.
fn key(report: &Report) -> Option<(&'static str, crate::event::Place)> {
    let first = report.failures.first()?;
    Some((first.kind.name(), first.place))
}

impl Program for Sequenced {
    type Failure = Report;

    fn execute(&self, schedule: Schedule) -> Verdict<Report> {
        judged(self.execute_noting(schedule, None), |_| ())
    }

    fn are_alike(&self, one: &Report, other: &Report) -> bool {
        key(one) == key(other)
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
struct Noting<'p> {
    program: &'p Sequenced,
    steps: Arc<Steps>,
    /// The report of the last execution, if it has passed.
    passed: RefCell<Option<Report>>,
}

impl Program for Noting<'_> {
    type Failure = Report;

    fn execute(&self, schedule: Schedule) -> Verdict<Report> {
        self.steps.clear();
        let steps = Some(Arc::clone(&self.steps));
        let report = self.program.execute_noting(schedule, steps);
        judged(report, |report| *self.passed.borrow_mut() = Some(report))
    }

    fn are_alike(&self, one: &Report, other: &Report) -> bool {
        key(one) == key(other)
    }
}
