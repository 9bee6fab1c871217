//! Tests under many schedules: each execution is a process of its own.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use conan_preload::Scheduled;

use super::SLOW;
use super::execute::{Exactness, Executor, Outcome, Verdict, Wish};
use super::library::Library;
use super::list::Test;
use super::report::Report;
use crate::exit::error;
use crate::run::interrupt;

/// What is to be explored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exploring {
    /// Executions of each test, at most.
    pub(super) executions: u64,
    pub(super) strategy: String,
    pub(super) seed: u64,
}

/// Who can decide, each execution on its own or after those before it.
pub(super) const STRATEGIES: [&str; 5] = ["random", "pct", "pos", HISTORY, "fixed"];

/// The one that remembers: its executions come one after the other.
const HISTORY: &str = "history";

impl Exploring {
    /// One of the executions, as the library understands it. The first takes
    /// the default order, and has had so many turns.
    fn execution(&self, execution: u64, turns: u64) -> String {
        let Self { strategy, seed, .. } = self;
        match (execution, strategy.as_str()) {
            (0, _) => "fixed:0:0".to_owned(),
            (_, "pct") => format!("pct:{seed}:{execution}:{turns}"),
            _ => format!("{strategy}:{seed}:{execution}"),
        }
    }
}

/// What was found out about a test.
#[derive(Debug)]
pub(super) struct Explored {
    /// Executions, up to the first that has failed.
    pub(super) executions: u64,
    /// Different schedules among them.
    pub(super) schedules: u64,
    /// How many of them were not exact.
    pub(super) inexact: u64,
    /// The execution that has failed, counted from 0, and how to get there
    /// again.
    pub(super) failed: Option<(u64, Option<String>)>,
}

/// Explores all tests, and reports each when it is done.
pub(super) fn explore<'t>(
    tests: &'t [Test<'t>],
    exploring: &Exploring,
    library: &Library,
    workers: usize,
    report: &mut Report<'t>,
) {
    let campaign = Campaign {
        exploring,
        library,
        tests,
        courses: Mutex::new(tests.iter().map(|_| Course::default()).collect()),
        changed: Condvar::new(),
        processes: AtomicUsize::new(0),
    };
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, campaign) = (sender.clone(), &campaign);
            scope.spawn(move || campaign.work(&sender));
        }
        drop(sender);
        let mut slow = HashSet::new();
        loop {
            match receiver.recv_timeout(Duration::from_secs(1)) {
                Ok((index, Ok(outcome))) => report.ended(&tests[index], outcome),
                Ok((_, Err(_))) if interrupt::must_stop() => {}
                Ok((index, Err(failure))) => {
                    let name = tests[index].full_name();
                    error(format_args!("cannot run {name}: {failure}"));
                    report.not_started();
                }
                Err(RecvTimeoutError::Timeout) => {
                    for index in campaign.slow() {
                        if slow.insert(index) {
                            report.slow(&tests[index]);
                        }
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
}

/// All tests, and how far each has come.
struct Campaign<'c> {
    exploring: &'c Exploring,
    library: &'c Library,
    tests: &'c [Test<'c>],
    courses: Mutex<Vec<Course>>,
    /// An execution has ended: there may be another one to begin.
    changed: Condvar,
    processes: AtomicUsize,
}

/// How far the exploration of one test has come.
#[derive(Default)]
struct Course {
    /// When the first execution began.
    since: Option<Instant>,
    /// How many executions have begun; those before are done or run.
    begun: u64,
    running: Vec<(u64, Instant)>,
    /// What is known of each execution that has ended and has left an account.
    ended: Vec<(u64, Seen)>,
    /// The very first one.
    first: Option<Outcome>,
    /// The first that has failed, as far as is known.
    failed: Option<(u64, Outcome)>,
    /// There will be no more executions than those that have begun.
    is_given_up: bool,
    is_reported: bool,
}

/// An execution that has ended.
struct Seen {
    time: Duration,
    hash: Option<u64>,
    is_exact: bool,
}

/// Whether a test has to be executed once more.
enum Next {
    Now,
    /// That depends on executions that have not ended.
    Later,
    Never,
}

impl Campaign<'_> {
    fn courses(&self) -> MutexGuard<'_, Vec<Course>> {
        self.courses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, sender: &Sender<(usize, io::Result<Outcome>)>) {
        let mut executor = Executor::new(Some(self.library));
        while let Some((index, execution, wish)) = self.take() {
            let process = self.processes.fetch_add(1, Ordering::Relaxed);
            let outcome = executor.execute(&self.tests[index], process, Some(&wish));
            if let Some(result) = self.ended(index, execution, outcome) {
                let _ = sender.send((index, result));
            }
        }
    }

    /// The next execution, of the first test that has one.
    fn take(&self) -> Option<(usize, u64, Wish)> {
        let mut courses = self.courses();
        loop {
            if interrupt::must_stop() {
                self.changed.notify_all();
                return None;
            }
            let mut waits = false;
            for (index, course) in courses.iter_mut().enumerate() {
                match course.next(self.exploring) {
                    Next::Never => {}
                    Next::Later => waits = true,
                    Next::Now => {
                        let execution = course.begun;
                        course.since.get_or_insert_with(Instant::now);
                        course.begun += 1;
                        course.running.push((execution, Instant::now()));
                        return Some((index, execution, self.wish(index, course, execution)));
                    }
                }
            }
            if !waits {
                return None;
            }
            let changed = self.changed.wait(courses);
            courses = changed.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The first execution takes the default order.
    fn wish(&self, index: usize, course: &Course, execution: u64) -> Wish {
        let remembers = execution > 0 && self.exploring.strategy == HISTORY;
        Wish {
            schedule: self.exploring.execution(execution, course.turns()),
            memory: remembers.then(|| self.library.memory(index)),
        }
    }

    /// Takes note of an execution. What came of the test, if that is known now.
    fn ended(
        &self,
        index: usize,
        execution: u64,
        outcome: io::Result<Outcome>,
    ) -> Option<io::Result<Outcome>> {
        let mut courses = self.courses();
        let course = &mut courses[index];
        course.running.retain(|(running, _)| *running != execution);
        let failure = match outcome {
            Ok(outcome) => {
                course.note(execution, outcome);
                None
            }
            Err(failure) => {
                course.is_given_up = true;
                Some(Err(failure))
            }
        };
        let is_done =
            course.running.is_empty() && matches!(course.next(self.exploring), Next::Never);
        let result = match failure {
            _ if course.is_reported => None,
            None if is_done => course.outcome(self.exploring).map(Ok),
            failure => failure,
        };
        course.is_reported |= result.is_some();
        drop(courses);
        self.changed.notify_all();
        result
    }

    /// Tests of which an execution takes long.
    fn slow(&self) -> Vec<usize> {
        let courses = self.courses();
        let is_slow = |course: &Course| course.running.iter().any(|it| it.1.elapsed() >= SLOW);
        let all = courses.iter().enumerate();
        all.filter(|it| is_slow(it.1)).map(|it| it.0).collect()
    }
}

impl Course {
    fn next(&self, exploring: &Exploring) -> Next {
        // Those before the one that has failed are done anyway: of all that
        // fail, the first is reported, however many run at a time.
        if self.is_given_up || self.failed.is_some() || self.begun == exploring.executions {
            return Next::Never;
        }
        let waits = match exploring.strategy.as_str() {
            HISTORY => !self.running.is_empty(),
            _ => self.begun > 0 && self.ended.is_empty(),
        };
        if waits { Next::Later } else { Next::Now }
    }

    /// Takes note of what came of an execution.
    fn note(&mut self, execution: u64, outcome: Outcome) {
        let seen = Seen {
            time: outcome.time.unwrap_or_default(),
            hash: outcome.scheduled.as_ref().map(|scheduled| scheduled.hash),
            is_exact: !matches!(outcome.exactness, Exactness::Inexact(_)),
        };
        self.ended.push((execution, seen));
        // Nobody decides there.
        self.is_given_up |= matches!(outcome.exactness, Exactness::Native(_));
        let is_first = self
            .failed
            .as_ref()
            .is_none_or(|(other, _)| execution < *other);
        if matches!(outcome.verdict, Verdict::Passed) {
            if execution == 0 {
                self.first = Some(outcome);
            }
        } else if is_first {
            self.failed = Some((execution, outcome));
        }
    }

    /// Decisions about who runs next in the first execution.
    fn turns(&self) -> u64 {
        let first = self
            .first
            .as_ref()
            .and_then(|first| first.scheduled.as_ref());
        first.map_or(1, |scheduled| scheduled.turns.max(1))
    }

    /// What came of the test as a whole.
    fn outcome(&mut self, exploring: &Exploring) -> Option<Outcome> {
        let failed = self.failed.take();
        let last = failed
            .as_ref()
            .map_or(u64::MAX, |(execution, _)| *execution);
        self.ended.retain(|(execution, _)| *execution <= last);
        let hashes: HashSet<u64> = self.ended.iter().filter_map(|it| it.1.hash).collect();
        let inexact = self.ended.iter().filter(|it| !it.1.is_exact).count();
        let turns = self.turns();
        let (outcome, failed) = match failed {
            Some((execution, outcome)) => {
                let token = token(exploring, execution, turns, outcome.scheduled.as_ref());
                (outcome, Some((execution, token)))
            }
            None => (self.first.take()?, None),
        };
        Some(Outcome {
            // Executions run side by side.
            real: self.since.map(|since| since.elapsed()).unwrap_or_default(),
            time: outcome
                .time
                .map(|_| self.ended.iter().map(|it| it.1.time).sum()),
            explored: Some(Explored {
                executions: self.ended.len() as u64,
                schedules: hashes.len() as u64,
                inexact: inexact as u64,
                failed,
            }),
            ..outcome
        })
    }
}

/// How to get to an execution again: by its decisions, or, if those are many
/// or the process could not say any more, by the search that has taken them.
fn token(
    exploring: &Exploring,
    execution: u64,
    turns: u64,
    scheduled: Option<&Scheduled>,
) -> Option<String> {
    if let Some(token) = scheduled.and_then(|scheduled| scheduled.token.clone()) {
        return Some(token);
    }
    // What it decides depends on all before.
    if execution > 0 && exploring.strategy == HISTORY {
        return None;
    }
    let token = exploring.execution(execution, turns);
    Some(match scheduled {
        Some(scheduled) => format!("{token}:{:08x}", scheduled.hash >> 32),
        None => token,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_an_exploration_is_that_which_passed() {
        let passed = |real| Outcome {
            verdict: Verdict::Passed,
            real: Duration::from_secs(real),
            time: Some(Duration::ZERO),
            exactness: Exactness::Exact,
            trace: None,
            scheduled: None,
            explored: None,
            leaks: None,
            stdout: String::new(),
            stderr: String::new(),
        };
        let exploring = Exploring {
            executions: 2,
            strategy: "random".to_owned(),
            seed: 1,
        };
        // Two executions of 600 seconds side by side, which began 700 seconds
        // ago.
        let mut course = Course {
            since: Instant::now().checked_sub(Duration::from_secs(700)),
            ..Course::default()
        };
        course.note(0, passed(600));
        course.note(1, passed(600));
        let outcome = course.outcome(&exploring).expect("an outcome");
        assert!(outcome.real >= Duration::from_secs(700), "{outcome:?}");
        assert!(outcome.real < Duration::from_secs(1200), "{outcome:?}");
    }
}
