//! Explores a sequence, and replays what was found.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use conan_explore::{
    Abreast, Bound, Counts, Dfs, End, Explorer, Fixed, Found, History, Mixed, Pct, Pos, Program,
    Random, Schedule, Shard, Token, Verdict,
};

use conan_protocol::replay::{self, SEPARATOR};

use super::explored::{ALL_MADE, Explored, Failed, Finding, Replayed};
use super::exploring::{By, Exploring};
use super::sequenced::{Sequenced, are_alike};
use crate::engine::with_same_threads;
use crate::report::Report;
use crate::script::{Script, Sequence};

/// Is told how far an exploration has come.
pub trait Watch {
    /// After each execution.
    fn executed(&mut self, counts: &Counts);

    /// After the first execution that has failed, counted from 0: its report,
    /// and the command that replays it. To make its schedule simpler may take
    /// long.
    fn has_failed(&mut self, execution: u64, report: &Report, replay: &str);
}

/// Nothing is told.
impl Watch for () {
    fn executed(&mut self, _: &Counts) {}

    fn has_failed(&mut self, _: u64, _: &Report, _: &str) {}
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
        let program = Watched {
            sequenced: Sequenced::new(script, sequence, exploring.steps, ticktime),
            replay_options,
            watch: RefCell::new(watch),
        };
        let began = Instant::now();
        let limit = exploring.seconds.map(Duration::from_secs_f64);
        let mut explorer = explorer(exploring);
        let exploration = explorer.explore_while(&program, |counts| {
            program.watch.borrow_mut().executed(counts);
            limit.is_none_or(|limit| began.elapsed() < limit)
        });
        let missing = program.sequenced.missing();
        let finding = match exploration.end {
            End::Exhausted { .. } | End::BoundReached(_) if !missing.is_empty() => {
                Finding::Unreached(missing)
            }
            End::Failed(found) => Finding::Failed(Box::new(failed(&program, *found))),
            End::Exhausted { bounds, .. } => Finding::Exhausted(bounds),
            End::BoundReached(bound) => Finding::BoundReached(reached(bound)),
            End::Impossible(reason) => Finding::Impossible(reason),
        };
        Explored {
            script,
            sequence,
            exploring: exploring.clone(),
            counts: exploration.counts,
            test_cases: program.sequenced.test_cases(),
            finding,
            notes: program.sequenced.notes(),
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
    with_same_threads(|| program.replay(&token))
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

fn reached(bound: Bound) -> String {
    match bound {
        Bound::Executions => ALL_MADE.to_owned(),
        Bound::Threads => format!(
            "{} threads that never end are left behind, which is enough for a process",
            conan_kernel::left_behind()
        ),
        Bound::Refused => "the system refused to start another thread".to_owned(),
        Bound::Stopped => "the time was up".to_owned(),
        Bound::NotExact => {
            "nothing was left to try, but some executions were not exact, or not repeatable"
                .to_owned()
        }
    }
}

fn failed(program: &Watched<'_>, found: Found<Report>) -> Failed {
    let is_replayed = found.shrunk.is_some();
    let (found_preemptions, found_deviations) =
        (found.trace.preemptions(), found.trace.deviations());
    let (token, trace, report) = match found.shrunk {
        Some(shrunk) => (shrunk.token, shrunk.trace, shrunk.failure),
        None => (found.token, found.trace, found.failure),
    };
    let again = program.sequenced.replay_noting(&token).ok();
    let again = again.filter(|(again, _)| again.fits && are_alike(&report, &again.report));
    let tick_order = match &again {
        Some((_, course)) if trace.preemptions() == 0 => program.sequenced.tick_order(course),
        _ => None,
    };
    let (report, steps) = match again {
        Some((again, _)) => (again.report, again.steps),
        None => (report, String::new()),
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
        tick_order,
    }
}

/// A sequence that is explored, with a watch on it.
struct Watched<'w> {
    sequenced: Sequenced,
    /// What a replay needs besides the token.
    replay_options: &'w str,
    watch: RefCell<&'w mut dyn Watch>,
}

impl Watched<'_> {
    /// The token with the sequence's name, as `cargo conan replay` takes it.
    fn named(&self, token: &Token) -> String {
        format!("{}:{token}", self.sequenced.sequence.name)
    }

    /// The command that replays an execution.
    fn replay_command(&self, token: &Token) -> String {
        let Sequenced {
            steps, ticktime, ..
        } = self.sequenced;
        let mut options = vec![self.replay_options.to_owned()];
        if steps != Exploring::default().steps {
            options.extend(["--steps".to_owned(), steps.to_string()]);
        }
        if let Some(ticktime) = ticktime {
            options.extend(["--ticktime".to_owned(), ticktime.to_string()]);
        }
        let options = options.join(&SEPARATOR.to_string());
        replay::of_script(self.sequenced.script.path, &self.named(token), &options)
    }
}

impl Program for Watched<'_> {
    type Failure = Report;

    fn execute(&self, schedule: Schedule) -> Verdict<Report> {
        self.sequenced.execute(schedule)
    }

    fn are_alike(&self, one: &Report, other: &Report) -> bool {
        self.sequenced.are_alike(one, other)
    }

    fn has_failed(&self, report: &Report, execution: u64, token: &Token) {
        let replay = self.replay_command(token);
        let mut watch = self.watch.borrow_mut();
        watch.has_failed(execution, report, &replay);
    }
}
