//! Explores a sequence, and replays what was found.

use std::time::{Duration, Instant};

use conan_explore::{
    Abreast, Bound, Counts, Dfs, End, Explorer, Fixed, Found, History, Mixed, Pct, Pos, Random,
    Shard, Token,
};

use super::explored::{Explored, Failed, Finding, Replayed};
use super::exploring::{By, Exploring};
use super::sequenced::{Sequenced, key};
use crate::engine::with_same_threads;
use crate::report::Report;
use crate::script::{Script, Sequence};

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
        });
        let missing = program.missing();
        let finding = match exploration.end {
            End::Exhausted { .. } | End::BoundReached(_) if !missing.is_empty() => {
                Finding::Unreached(missing)
            }
            End::Failed(found) => Finding::Failed(Box::new(failed(&program, *found))),
            End::Exhausted { bounds, .. } => Finding::Exhausted(bounds),
            End::BoundReached(bound) => Finding::BoundReached(reached(bound, exploring)),
            End::Impossible(reason) => Finding::Impossible(reason),
        };
        Explored {
            script,
            sequence,
            exploring: exploring.clone(),
            counts: exploration.counts,
            finding,
            notes: program.notes(),
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

fn reached(bound: Bound, exploring: &Exploring) -> String {
    match bound {
        Bound::Executions => format!("{} executions were asked for", exploring.executions),
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

fn failed(program: &Sequenced, found: Found<Report>) -> Failed {
    let is_replayed = found.shrunk.is_some();
    let (found_preemptions, found_deviations) =
        (found.trace.preemptions(), found.trace.deviations());
    let (token, trace, report) = match found.shrunk {
        Some(shrunk) => (shrunk.token, shrunk.trace, shrunk.failure),
        None => (found.token, found.trace, found.failure),
    };
    let again = program.replay(&token).ok();
    let again = again.filter(|again| again.fits && key(&again.report) == key(&report));
    let (report, steps) = match again {
        Some(again) => (again.report, again.steps),
        None => (report, String::new()),
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
    }
}
