//! A sequence as a program that can be executed again and again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use conan_explore::{
    Fixed, Outcome, Program, Schedule, Single, Token, Verdict, learn_from, learned,
};

use super::explored::Replayed;
use super::steps::{Outline, Steps};
use super::tick_order::{Course, TickOrder};
use conan_kernel::Strategy;

use crate::engine::Scheduled;
use crate::event::{ErrorKind, Failure, Place};
use crate::fresh::{Process, Request, Way, room};
use crate::hot_spot::{HotSpot, Reached};
use crate::left::{self, Before};
use crate::report::{Report, Verdict as Judged};
use crate::run::run_on;
use crate::script::{Script, Sequence};

/// A sequence whose executions do not disturb each other.
///
/// They are made in this process, one after the other, which is quick. Threads
/// that one of them leaves suspended for good stay, with the locks that they
/// hold. So a failure in a process in which there are such threads is not
/// believed: the execution is made once more in a new process, and only the
/// result there counts. Once the two results were different, every execution is
/// made in a process without such threads.
pub(super) struct Sequenced {
    pub(super) script: &'static Script,
    pub(super) sequence: &'static Sequence,
    pub(super) steps: u64,
    pub(super) ticktime: Option<u64>,
    /// A new process, for the next execution that is made in one.
    process: RefCell<Option<Process>>,
    /// How many executions came to something else in a new process.
    disturbed: Cell<u64>,
    /// True if executions were made in new processes because there is no room
    /// for more threads in this one.
    has_moved: Cell<bool>,
    /// Test cases of the first execution.
    test_cases: Cell<u64>,
    /// True if an execution was not exact: others will not be, either.
    is_busy: Cell<bool>,
    /// True if a thread that is left behind in this process may still compute.
    still_computes: Cell<bool>,
    /// The hot spots of `#sometimes` that were reached.
    reached: RefCell<BTreeSet<&'static str>>,
}

/// What came of an execution, and its steps if they were noted.
struct Executed {
    report: Report,
    steps: Option<Outline>,
}

impl Executed {
    /// True if it may be the process that is to blame.
    fn is_doubtful(&self) -> bool {
        self.report.was_refused || self.report.verdict() == Judged::Failed
    }

    fn is_like(&self, other: &Self) -> bool {
        self.report.was_refused == other.report.was_refused
            && are_alike(&self.report, &other.report)
    }

    fn outcome(&self) -> Outcome<()> {
        match self.report.verdict() {
            _ if self.report.was_refused => Outcome::Refused,
            Judged::Passed => Outcome::Passed,
            Judged::Failed => Outcome::Failed(()),
        }
    }
}

impl Sequenced {
    pub(super) fn new(
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
            process: RefCell::default(),
            disturbed: Cell::new(0),
            has_moved: Cell::new(false),
            test_cases: Cell::new(0),
            is_busy: Cell::new(false),
            still_computes: Cell::new(false),
            reached: RefCell::default(),
        }
    }

    /// The hot spots that no execution has reached, and one should have.
    pub(super) fn missing(&self) -> Vec<HotSpot> {
        let reached = self.reached.borrow();
        let spots = self.sequence.hot_spots.iter().copied();
        let wanted = spots.filter(|spot| spot.reached == Reached::Sometimes);
        wanted.filter(|spot| !reached.contains(spot.name)).collect()
    }

    /// What there is to say about where executions were made.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let disturbed = self.disturbed.get();
        if disturbed > 0 {
            let executions = if disturbed == 1 {
                "1 execution".to_owned()
            } else {
                format!("{disturbed} executions")
            };
            notes.push(format!(
                "{executions} failed only beside a thread that {} had left suspended in the same \
                 process; that does not count, and later executions were made in processes \
                 without such threads",
                left::in_words()
            ));
        }
        if self.has_moved.get() {
            notes.push(format!(
                "{} threads that never end are left behind in the process; later executions were \
                 made in new ones",
                conan_kernel::left_behind()
            ));
        }
        notes
    }

    /// Executes the sequence once. Nothing but a reason if a new process for it
    /// has ended.
    fn execute_once(&self, schedule: &Schedule, notes: bool) -> Result<Executed, String> {
        let executed = self.believed(schedule, notes)?;
        if self.test_cases.get() == 0 {
            self.test_cases.set(executed.report.totals.test_cases);
        }
        if !executed.report.inexact.is_empty() {
            self.is_busy.set(true);
        }
        self.reached.borrow_mut().extend(&executed.report.reached);
        Ok(executed)
    }

    fn believed(&self, schedule: &Schedule, notes: bool) -> Result<Executed, String> {
        let is_full = conan_kernel::left_behind() as u64 >= room();
        if is_full || self.still_computes.get() || self.disturbed.get() > 0 {
            match self.new_process() {
                Ok(process) => {
                    self.has_moved.set(is_full || self.has_moved.get());
                    return self.elsewhere(process, schedule, notes);
                }
                Err(error) if self.disturbed.get() > 0 => {
                    return Err(format!("a new process could not be started: {error}"));
                }
                Err(_) => {}
            }
        }
        let before = Before::of(self.sequence.name);
        let mut executed = self.here(schedule.clone(), notes, self.is_busy.get());
        if executed.report.abandoned > 0 && !executed.report.inexact.is_empty() {
            self.still_computes.set(true);
        }
        if !before.was_used() || !executed.is_doubtful() {
            return Ok(executed);
        }
        let Ok(process) = self.new_process() else {
            executed.report.notes.push(doubt());
            return Ok(executed);
        };
        schedule.again();
        let again = self.elsewhere(process, schedule, notes)?;
        if !again.is_like(&executed) {
            before.excuse();
            self.disturbed.set(self.disturbed.get() + 1);
        }
        Ok(again)
    }

    /// In this process.
    fn here(&self, schedule: Schedule, notes: bool, is_busy: bool) -> Executed {
        let steps = notes.then(Arc::<Steps>::default);
        let engine = Scheduled {
            schedule,
            limit: self.steps,
            is_busy,
            steps: steps.clone(),
        };
        let report = run_on(self.script, self.sequence, &engine, self.ticktime);
        let steps = steps.map(|steps| steps.outline(&self.script.codes()));
        Executed { report, steps }
    }

    fn new_process(&self) -> io::Result<Process> {
        let kept = self.process.take();
        kept.map_or_else(Process::start, Ok)
    }

    /// In a new process; in one more, if an execution that was made there
    /// before may be to blame for what comes of this one.
    fn elsewhere(
        &self,
        mut process: Process,
        schedule: &Schedule,
        notes: bool,
    ) -> Result<Executed, String> {
        let was_used = process.left() > 0;
        let executed = self.ask(&mut process, schedule, notes)?;
        if !was_used || !executed.is_doubtful() {
            self.keep(process);
            return Ok(executed);
        }
        drop(process);
        let process = Process::start();
        let mut process =
            process.map_err(|error| format!("a new process could not be started: {error}"))?;
        schedule.again();
        let again = self.ask(&mut process, schedule, notes)?;
        if !again.is_like(&executed) {
            self.disturbed.set(self.disturbed.get() + 1);
        }
        self.keep(process);
        Ok(again)
    }

    /// Keeps a process for the next execution, if it can have one.
    fn keep(&self, process: Process) {
        let most = match self.disturbed.get() {
            0 if self.has_moved.get() => room(),
            _ => 1,
        };
        if process.left() < most {
            self.process.replace(Some(process));
        }
    }

    fn ask(
        &self,
        process: &mut Process,
        schedule: &Schedule,
        notes: bool,
    ) -> Result<Executed, String> {
        let request = Request {
            script: self.script,
            sequence: self.sequence,
            ticktime: self.ticktime,
            way: Way::Explored {
                steps: self.steps,
                spurious: schedule.spurious(),
                learned: learned(),
                notes,
                has_more: schedule.has_more(),
                is_busy: self.is_busy.get(),
            },
        };
        let answer = process.execute(&request, Some(schedule.clone()))?;
        Ok(Executed {
            report: answer.report,
            steps: notes.then_some(answer.steps),
        })
    }

    /// How many test cases an execution has: those of the first one.
    pub(super) fn test_cases(&self) -> u64 {
        self.test_cases.get()
    }

    /// The order of threads inside a tick that makes an execution of this course
    /// fail, if the default order passes.
    pub(super) fn tick_order(&self, failing: &Course) -> Option<TickOrder> {
        let schedule = Single::of(Fixed, 0).strategy();
        let executed = self.execute_once(&schedule, true).ok()?;
        let has_passed = executed.report.verdict() == Judged::Passed;
        let steps = executed.steps.filter(|_| has_passed)?;
        TickOrder::between(failing, &steps.course)
    }

    /// Executes the schedule of a token, and notes it step by step.
    pub(super) fn replay(&self, token: &Token) -> Result<Replayed, String> {
        Ok(self.replay_noting(token)?.0)
    }

    /// The same, with the course that the execution took.
    pub(super) fn replay_noting(&self, token: &Token) -> Result<(Replayed, Course), String> {
        let noting = Noting {
            program: self,
            last: RefCell::new(Err(String::new())),
        };
        let replayed = conan_explore::replay(&noting, token);
        let Executed { report, steps } = noting.last.into_inner()?;
        let Outline {
            table,
            order,
            course,
        } = steps.unwrap_or_default();
        let replayed = Replayed {
            report,
            fits: replayed.fits,
            steps: table,
            order,
        };
        Ok((replayed, course))
    }
}

/// What is said of a failure that may be the fault of what was left behind,
/// where there can be no new process.
pub(crate) fn doubt() -> String {
    format!(
        "a thread that {} has left suspended is in the same process, and may hold what this \
         sequence needs; to be sure, run it alone",
        left::in_words()
    )
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
pub(super) fn are_alike(one: &Report, other: &Report) -> bool {
    let known: Vec<_> = one.failures.iter().map(key).collect();
    let mut others = other.failures.iter().map(key);
    match (known.first(), others.next()) {
        (Some(one), Some(other)) => *one == other && others.all(|error| known.contains(&error)),
        (one, other) => one.is_none() && other.is_none(),
    }
}

impl Program for Sequenced {
    type Failure = Report;

    fn execute(&self, schedule: Schedule) -> Verdict<Report> {
        match self.execute_once(&schedule, false) {
            Ok(executed) => {
                let is_exact = executed.report.inexact.is_empty();
                let outcome = match executed.outcome() {
                    Outcome::Passed => Outcome::Passed,
                    Outcome::Failed(()) => Outcome::Failed(executed.report),
                    Outcome::Impossible(reason) => Outcome::Impossible(reason),
                    Outcome::Refused => Outcome::Refused,
                };
                Verdict { outcome, is_exact }
            }
            Err(reason) => impossible(reason),
        }
    }

    fn are_alike(&self, one: &Report, other: &Report) -> bool {
        are_alike(one, other)
    }
}

fn impossible<F>(reason: String) -> Verdict<F> {
    Verdict {
        outcome: Outcome::Impossible(reason),
        is_exact: true,
    }
}

/// The same program, for a replay whose report is wanted in any case.
struct Noting<'p> {
    program: &'p Sequenced,
    /// What came of the last execution.
    last: RefCell<Result<Executed, String>>,
}

impl Program for Noting<'_> {
    type Failure = ();

    fn execute(&self, schedule: Schedule) -> Verdict<()> {
        let executed = self.program.execute_once(&schedule, true);
        let verdict = match &executed {
            Ok(executed) => Verdict {
                outcome: executed.outcome(),
                is_exact: executed.report.inexact.is_empty(),
            },
            Err(reason) => impossible(reason.clone()),
        };
        *self.last.borrow_mut() = executed;
        verdict
    }

    fn are_alike(&self, (): &(), (): &()) -> bool {
        true
    }
}

/// A new process's own side of executions.
pub(crate) struct Replayer {
    program: Sequenced,
    /// How many executions the process has learned from for it.
    learned: Option<u64>,
}

impl Replayer {
    pub(crate) fn new(request: &Request, steps: u64) -> Self {
        Self {
            program: Sequenced::new(request.script, request.sequence, steps, request.ticktime),
            learned: None,
        }
    }

    /// True if it can serve a request with this limit of steps, too.
    pub(crate) fn is_for(&self, request: &Request, steps: u64) -> bool {
        let program = &self.program;
        std::ptr::eq(program.sequence, request.sequence)
            && program.ticktime == request.ticktime
            && program.steps == steps
    }

    /// Executes the sequence once, after the process has learned from this number
    /// of executions. The steps are noted if they are wanted.
    pub(crate) fn execute(
        &mut self,
        schedule: Schedule,
        executions: u64,
        notes: bool,
        is_busy: bool,
    ) -> (Report, Option<Outline>) {
        if self.learned != Some(executions) {
            learn_from(&self.program, executions);
            self.learned = Some(executions);
        }
        let executed = self.program.here(schedule, notes, is_busy);
        (executed.report, executed.steps)
    }
}
