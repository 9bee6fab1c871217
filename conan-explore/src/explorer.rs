//! Executes a program under one schedule after the other.

use conan_kernel::{fine, left_behind, stay_aboard};

use crate::digests::Digests;
use crate::learning::{Learning, learn};
use crate::program::{Outcome, Program, Verdict};
use crate::schedule::Schedule;
use crate::search::{Bounds, Progress, Replay, Search};
use crate::shrink::{Shrunk, shrink};
use crate::token::Token;
use crate::trace::Trace;

/// Executions, if nothing else is said.
const EXECUTIONS: u64 = 1000;

/// Replays for making a schedule simpler, if nothing else is said.
const REPLAYS: u64 = 300;

/// The number of threads left behind at which an exploration ends. Such threads,
/// the component's own among them, stay until the process ends, and the system
/// limits the number of threads.
const MOST_LEFT_BEHIND: usize = 10_000;

/// Explores the schedules of programs.
#[derive(Debug)]
pub struct Explorer {
    schedule: Schedule,
    executions: u64,
    replays: u64,
    spurious: u32,
    shard: Shard,
}

/// A part of an exploration, so that several machines can share it: one of
/// `count` parts, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which of them.
    pub index: u64,
    /// How many there are; at least 1.
    pub count: u64,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// The number that the part's own execution has in the whole.
    fn number(self, execution: u64) -> u64 {
        execution * self.count + self.index
    }
}

/// What was found out.
#[derive(Debug, Clone)]
pub struct Exploration<F> {
    /// Why it came to its end.
    pub end: End<F>,
    /// What was done.
    pub counts: Counts,
}

/// Why an exploration came to its end.
#[derive(Debug, Clone)]
pub enum End<F> {
    /// The program fails.
    Failed(Box<Found<F>>),
    /// Every schedule was tried, within these bounds.
    Exhausted {
        /// Those of the search.
        bounds: Bounds,
        /// How many waits could end for no reason.
        spurious: u32,
    },
    /// There was more to try, or may have been.
    BoundReached(Bound),
    /// The program could not be executed, for this reason.
    Impossible(String),
}

/// What ended an exploration early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The number of executions.
    Executions,
    /// Whoever watches it.
    Stopped,
    /// So many threads that never end are left behind by executions that the
    /// system is about to refuse another one.
    Threads,
    /// The system has refused to start a thread.
    Refused,
    /// The search has come to its end, but some executions were not exact, or
    /// went another way though the same was decided, or came to places where
    /// threads meet that were not known before. There may be more.
    NotExact,
}

/// What an exploration has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    /// Executions, with those in which it was learned where threads meet, and
    /// without those for making a schedule simpler.
    pub executions: u64,
    /// Different schedules among them.
    pub schedules: u64,
    /// Decisions in all of them.
    pub decisions: u64,
    /// The largest number of decisions in one of them.
    pub longest: u64,
    /// Executions that were not exact.
    pub inexact: u64,
    /// Executions that went another way though the same was decided.
    pub diverged: u64,
    /// Executions that did the same as another one, in another order.
    pub redundant: u64,
    /// How many schedules there are, as the search estimates it.
    pub estimate: Option<f64>,
}

impl Counts {
    /// Counts an execution.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    fn add(&mut self, schedule: &Schedule, seen: &mut Digests, is_exact: bool) -> Progress {
        schedule.with(|search, trace| {
            let progress = search.end(trace);
            let decisions = trace.taken().len() as u64;
            self.executions += 1;
            self.schedules += u64::from(seen.insert(trace.digest()));
            self.decisions += decisions;
            self.longest = self.longest.max(decisions);
            self.inexact += u64::from(!is_exact);
            self.diverged += u64::from(search.has_diverged());
            self.redundant += u64::from(search.was_redundant());
            let at_least = self.schedules as f64;
            self.estimate = search.estimate().map(|about| about.max(at_least));
            progress
        })
    }
}

/// A failure, and how to get there.
#[derive(Debug, Clone)]
pub struct Found<F> {
    /// What was wrong.
    pub failure: F,
    /// In which execution, counted from 0.
    pub execution: u64,
    /// False if threads did what the engine does not see: the same decisions
    /// may not lead there again.
    pub is_exact: bool,
    /// What was decided.
    pub trace: Trace,
    /// The same, to be kept.
    pub token: Token,
    /// A simpler way to the same failure; nothing if not even a replay of the
    /// same decisions led there.
    pub shrunk: Option<Shrunk<F>>,
}

/// An execution of a schedule that was kept.
#[derive(Debug, Clone)]
pub struct Replayed<F> {
    /// What came of it.
    pub verdict: Verdict<F>,
    /// What was decided.
    pub trace: Trace,
    /// False if the program has come to other points than those at which the
    /// decisions were taken: it is not the program that it was.
    pub fits: bool,
}

impl Explorer {
    /// Explores by this search.
    pub fn new(search: impl Search + 'static) -> Self {
        Self {
            schedule: Schedule::new(search, 0),
            executions: EXECUTIONS,
            replays: REPLAYS,
            spurious: 0,
            shard: Shard::WHOLE,
        }
    }

    /// Ends after so many executions; 1,000 otherwise.
    #[must_use]
    pub fn executions(mut self, executions: u64) -> Self {
        self.executions = executions;
        self
    }

    /// Only the executions of one part; their number is that of all parts
    /// together. A search that remembers what it has tried remembers that of
    /// its own part.
    #[must_use]
    pub fn shard(mut self, shard: Shard) -> Self {
        self.shard = shard;
        self.schedule.with(|search, _| search.share(shard));
        self
    }

    /// Lets so many waits of an execution end for no reason; none otherwise.
    #[must_use]
    pub fn spurious(mut self, spurious: u32) -> Self {
        self.spurious = spurious;
        self.schedule.allow_spurious(spurious);
        self
    }

    /// Replays a failing schedule so many times at most, to make it simpler;
    /// 300 times otherwise.
    #[must_use]
    pub fn replays(mut self, replays: u64) -> Self {
        self.replays = replays;
        self
    }

    /// Executes the program until it fails, or there is nothing left to try,
    /// or a bound is reached.
    pub fn explore<P: Program>(&mut self, program: &P) -> Exploration<P::Failure> {
        self.explore_while(program, |_| true)
    }

    /// The same, as long as `goes_on` says so after an execution.
    pub fn explore_while<P: Program>(
        &mut self,
        program: &P,
        mut goes_on: impl FnMut(&Counts) -> bool,
    ) -> Exploration<P::Failure> {
        stay_aboard(|| self.explore_aboard(program, &mut goes_on))
    }

    // From here on programs are seen from outside: what does not know their
    // types is compiled once for all of them.
    fn explore_aboard<F>(
        &mut self,
        program: &dyn Program<Failure = F>,
        goes_on: &mut dyn FnMut(&Counts) -> bool,
    ) -> Exploration<F> {
        let mut counts = Counts::default();
        let mut seen = Digests::default();
        if let Some(end) = self.learn(program, &mut counts, &mut seen, goes_on) {
            return Exploration { end, counts };
        }
        let learned = counts.executions;
        let end = loop {
            let number = self.shard.number(counts.executions - learned);
            if learned + number >= self.executions {
                break End::BoundReached(Bound::Executions);
            }
            self.schedule.begin(number);
            let verdict = program.execute(self.schedule.clone());
            let progress = counts.add(&self.schedule, &mut seen, verdict.is_exact);
            match verdict.outcome {
                Outcome::Impossible(reason) => break End::Impossible(reason),
                Outcome::Failed(failure) => {
                    let found = (failure, verdict.is_exact);
                    let execution = learned + number;
                    break self.found(program, found, execution, &self.schedule, self.spurious);
                }
                Outcome::Refused => break End::BoundReached(Bound::Refused),
                Outcome::Passed => {}
            }
            if progress == Progress::Exhausted {
                break self.exhausted(&counts);
            }
            if !goes_on(&counts) {
                break End::BoundReached(Bound::Stopped);
            }
            if left_behind() >= MOST_LEFT_BEHIND {
                break End::BoundReached(Bound::Threads);
            }
        };
        Exploration { end, counts }
    }

    /// Learns where threads meet, if code has hooks. Returns how it came to an
    /// end before the search could begin, if it did.
    fn learn<F>(
        &self,
        program: &dyn Program<Failure = F>,
        counts: &mut Counts,
        seen: &mut Digests,
        goes_on: &mut dyn FnMut(&Counts) -> bool,
    ) -> Option<End<F>> {
        let mut learning = Learning::begin()?;
        while let Some(schedule) = learning.next() {
            if counts.executions == self.executions {
                return Some(End::BoundReached(Bound::Executions));
            }
            let verdict = program.execute(schedule.clone());
            counts.add(&schedule, seen, verdict.is_exact);
            match verdict.outcome {
                Outcome::Impossible(reason) => return Some(End::Impossible(reason)),
                Outcome::Failed(failure) => {
                    let found = (failure, verdict.is_exact);
                    let execution = counts.executions - 1;
                    return Some(self.found(program, found, execution, &schedule, 0));
                }
                Outcome::Refused => return Some(End::BoundReached(Bound::Refused)),
                Outcome::Passed => learning.has_passed(),
            }
            if !goes_on(counts) {
                return Some(End::BoundReached(Bound::Stopped));
            }
            if left_behind() >= MOST_LEFT_BEHIND {
                return Some(End::BoundReached(Bound::Threads));
            }
        }
        None
    }

    fn exhausted<F>(&self, counts: &Counts) -> End<F> {
        if counts.inexact + counts.diverged > 0 || fine::waiting() > 0 {
            return End::BoundReached(Bound::NotExact);
        }
        End::Exhausted {
            bounds: self.schedule.with(|search, _| search.bounds()),
            spurious: self.spurious,
        }
    }

    fn found<F>(
        &self,
        program: &dyn Program<Failure = F>,
        (failure, is_exact): (F, bool),
        execution: u64,
        schedule: &Schedule,
        spurious: u32,
    ) -> End<F> {
        let trace = schedule.trace();
        let token = Token::of(&trace, spurious);
        program.has_failed(&failure, execution, &token);
        let shrunk = shrink(program, &failure, &trace, spurious, self.replays, is_exact);
        End::Failed(Box::new(Found {
            failure,
            execution,
            is_exact,
            trace,
            token,
            shrunk,
        }))
    }
}

/// Executes a program once more, with the decisions that a token stands for,
/// and the default after them.
pub fn replay<P: Program>(program: &P, token: &Token) -> Replayed<P::Failure> {
    learn(program);
    let schedule = Schedule::new(Replay::new(token.choices.clone()), token.spurious);
    schedule.begin(0);
    let verdict = program.execute(schedule.clone());
    let trace = schedule.trace();
    Replayed {
        fits: token.fits(&trace),
        verdict,
        trace,
    }
}
