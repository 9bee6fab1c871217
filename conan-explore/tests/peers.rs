//! What Cooperari (Simões, 2014) was evaluated with, as far as it is hard: many
//! threads in one deadlock. And a correct program that it took for a wrong one.
//! `tests/peers` has the rest, and compares with other tools.

mod common;

use common::programs::{self, Failing};
use common::{find, passes};
use conan_explore::{Dfs, End, Explorer, Mixed, Random};

/// What it was allowed in its own evaluation.
const EXECUTIONS: u64 = 1000;

/// Executions to the failure, at most, over some seeds.
fn most(program: &impl Failing) -> u64 {
    let found = (0..5).map(|seed| {
        let explorer = Explorer::new(Mixed::new(seed)).replays(0);
        let exploration = explorer.executions(EXECUTIONS).explore(program);
        let counts = exploration.counts;
        assert!(matches!(exploration.end, End::Failed(_)), "{counts:?}");
        assert_eq!((counts.inexact, counts.diverged), (0, 0));
        counts.executions
    });
    found.max().unwrap_or(0)
}

#[test]
fn philosophers_however_many() {
    for threads in [2, 4, 8, 16, 32] {
        assert_eq!(most(&programs::dining(threads)), 1, "{threads} threads");
    }
}

#[test]
fn permits_that_are_given_back_at_the_same_time() {
    for threads in [16, 32] {
        let executions = most(&programs::semaphore(threads));
        assert!(executions <= EXECUTIONS, "{threads} threads: {executions}");
    }
}

#[test]
fn a_random_walk_does_not_find_them() {
    passes(&programs::dining(32), Random::new(0), EXECUTIONS);
    passes(&programs::semaphore(32), Random::new(0), EXECUTIONS);
}

/// Explores all of it, and goes about it in other ways as well.
#[track_caller]
fn is_right(program: &impl Failing) {
    passes(program, Random::new(0), EXECUTIONS);
    passes(program, Mixed::new(0), EXECUTIONS);
    let exploration = passes(program, Dfs::new(), 20_000);
    assert!(
        matches!(exploration.end, End::Exhausted { .. }),
        "{exploration:?}"
    );
}

#[test]
fn a_waiter_that_has_given_up_takes_no_notification() {
    is_right(&programs::phantom_at_a_condvar());
    is_right(&programs::phantom(false));
}

#[test]
fn a_queue_that_keeps_it_loses_one() {
    let (found, _) = find(&programs::phantom(true), Mixed::new(0), 1);
    let why = found.failure.to_string();
    assert!(why.contains("thread waits"), "{why}");
}
