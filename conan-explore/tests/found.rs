//! Which search finds what, in how many executions. Seeds are fixed, and so
//! are the numbers, as long as std's primitives wait and wake as they do.

mod common;

use common::programs::{self, Failing};
use common::{find, passes};
use conan_explore::{Bound, Dfs, End, Explorer, Failure, Fixed, History, Pct, Pos, Random, Why};

/// Random walk, PCT, POS, history, DFS, and DFS with two preemptions: each
/// finds the failure in so many executions; where there is a 0, it would need
/// more than 400.
#[track_caller]
fn check(program: &impl Failing, executions: [u64; 6]) {
    let searches = [
        ("random", Explorer::new(Random::new(1))),
        ("pct", Explorer::new(Pct::new(1, 3))),
        ("pos", Explorer::new(Pos::new(1))),
        ("history", Explorer::new(History::new(1))),
        ("dfs", Explorer::new(Dfs::new())),
        ("dfs 2", Explorer::new(Dfs::new().preemptions(2))),
    ];
    for ((name, explorer), executions) in searches.into_iter().zip(executions) {
        if executions == 0 {
            continue;
        }
        let mut explorer = explorer.executions(executions).replays(0);
        let exploration = explorer.explore(program);
        assert!(
            matches!(exploration.end, End::Failed(_)),
            "{name}: {exploration:?}"
        );
        assert_eq!(exploration.counts.inexact, 0, "{name}");
        assert_eq!(exploration.counts.diverged, 0, "{name}");
    }
}

#[test]
fn two_locks_in_two_orders() {
    check(&programs::ab_ba(), [2, 6, 8, 2, 2, 2]);
}

#[test]
fn a_notification_before_the_wait() {
    check(&programs::lost_notify(), [1, 3, 2, 1, 5, 5]);
}

#[test]
fn a_notification_to_a_waiter_of_the_wrong_sort() {
    check(&programs::wrong_waiter(1, 2, false), [29, 46, 64, 17, 0, 0]);
    check(&programs::wrong_waiter(2, 2, false), [34, 35, 10, 80, 1, 1]);
}

#[test]
fn a_check_and_an_act_under_one_lock_but_not_at_one_time() {
    check(&programs::check_then_act(true), [2, 2, 5, 2, 2, 2]);
}

#[test]
fn a_buffer_without_synchronisation() {
    check(&programs::unsynchronised_buffer(), [1, 2, 1, 1, 7, 7]);
}

#[test]
fn two_stores_that_are_seen_one_without_the_other() {
    check(&programs::reorder(3), [6, 5, 1, 6, 0, 235]);
    check(&programs::reorder(10), [18, 15, 2, 7, 0, 0]);
}

#[test]
fn two_stages_of_one_value() {
    check(&programs::two_stage(1), [3, 6, 1, 3, 2, 2]);
    check(&programs::two_stage(3), [3, 24, 4, 3, 0, 0]);
}

#[test]
fn a_value_under_two_locks() {
    check(&programs::wrong_lock(1), [6, 6, 12, 6, 2, 2]);
    check(&programs::wrong_lock(3), [2, 2, 4, 2, 91, 61]);
}

#[test]
fn a_lock_taken_for_others_while_another_one_is_held() {
    check(&programs::carter(), [2, 6, 1, 2, 2, 2]);
}

#[test]
fn a_lock_that_is_never_given_back() {
    check(&programs::phase(), [1, 1, 1, 1, 1, 1]);
}

#[test]
fn more_taken_from_an_account_than_there_is() {
    check(&programs::account(), [2, 6, 8, 2, 2, 2]);
}

#[test]
fn philosophers_with_a_fork_each() {
    check(&programs::dining(4), [9, 48, 4, 9, 0, 319]);
}

#[test]
fn a_semaphore_that_looks_without_its_lock() {
    check(&programs::semaphore(4), [9, 0, 172, 9, 0, 0]);
}

#[test]
fn the_default_schedule_alone_finds_little() {
    passes(&programs::ab_ba(), Fixed, 2);
    passes(&programs::reorder(3), Fixed, 2);
    find(&programs::phase(), Fixed, 2);
}

#[test]
fn sections_under_a_lock_that_nobody_else_wants_change_places_as_a_whole() {
    let exploration = passes(&programs::check_then_act(false), Dfs::new(), 100);
    assert!(matches!(exploration.end, End::Exhausted { .. }));
    assert_eq!(exploration.counts.schedules, 2);
}

#[test]
fn notify_all_has_nobody_wait_for_ever() {
    let exploration = passes(&programs::wrong_waiter(1, 2, true), Random::new(1), 300);
    assert!(matches!(
        exploration.end,
        End::BoundReached(Bound::Executions)
    ));
    let search = Dfs::new().preemptions(1);
    let exploration = passes(&programs::wrong_waiter(1, 1, true), search, 3000);
    assert!(matches!(exploration.end, End::Exhausted { .. }));
}

#[test]
fn a_right_program_passes() {
    for exploration in [
        passes(&programs::producer_consumer(2), Random::new(1), 100),
        passes(&programs::producer_consumer(2), Pct::new(1, 3), 100),
        passes(&programs::producer_consumer(2), Pos::new(1), 100),
        passes(&programs::producer_consumer(2), History::new(1), 100),
        passes(&programs::producer_consumer(2), Dfs::new(), 100),
    ] {
        assert_eq!(exploration.counts.executions, 100);
        assert_eq!(exploration.counts.diverged, 0);
    }
}

#[test]
fn a_wait_that_ends_for_no_reason_is_tried_if_wanted() {
    let program = programs::waits_once();
    let without = Explorer::new(Dfs::new()).explore(&program);
    let End::Exhausted { spurious, .. } = without.end else {
        panic!("{without:?}");
    };
    assert_eq!(spurious, 0);
    let with = Explorer::new(Dfs::new()).spurious(1).explore(&program);
    let End::Failed(found) = with.end else {
        panic!("{with:?}");
    };
    assert!(found.failure.to_string().contains("woken, but not open"));
    for found in [
        find(&programs::lost_notify(), Random::new(5), 100).0,
        *found,
    ] {
        let shrunk = found.shrunk.expect("it fails again");
        assert!(shrunk.trace.deviations() <= 2, "{:?}", shrunk.trace);
    }
}

#[test]
fn a_search_that_finds_nothing_says_how_far_it_came() {
    let exploration = passes(&programs::points(2, 5), Random::new(1), 50);
    let counts = exploration.counts;
    assert_eq!(counts.executions, 50);
    assert!(counts.schedules <= 50);
    assert!(counts.longest >= 6 && counts.decisions >= 50 * 6);
    assert!(counts.estimate.is_some());
    let mut left = 7;
    let stopped = Explorer::new(Dfs::new()).explore_while(&programs::points(2, 5), |_| {
        left -= 1;
        left > 0
    });
    assert!(matches!(stopped.end, End::BoundReached(Bound::Stopped)));
    assert_eq!(stopped.counts.executions, 7);
}

#[test]
fn a_lost_wake_and_a_cycle_are_told_apart() {
    assert_eq!(why(&programs::ab_ba()), Why::Cycle);
    assert_eq!(why(&programs::dining(4)), Why::Cycle);
    assert_eq!(why(&programs::phase()), Why::Cycle);
    assert_eq!(why(&programs::lost_notify()), Why::LostWake);
    let program = programs::wrong_waiter(1, 2, false);
    assert_eq!(why(&program), Why::NeverWoken);
}

fn why(program: &impl Failing) -> Why {
    match find(program, Random::new(1), 99).0.failure {
        Failure::Suspended(suspended) => suspended.why,
        other => panic!("{other}"),
    }
}
