//! Failing schedules become simple ones.

mod common;

use common::find;
use common::programs::{self, Failing};
use conan_explore::{Failure, History, Outcome, Pct, Random, Shrunk, replay};

/// Makes what several searches find simpler; the most preemptions and other
/// deviations that are left.
#[track_caller]
fn shrunk(program: &impl Failing) -> (usize, usize) {
    let mut most = (0, 0);
    for seed in 0..6 {
        let (found, _) = match seed % 3 {
            0 => find(program, Random::new(seed), 1000),
            1 => find(program, History::new(seed), 1000),
            _ => find(program, Pct::new(seed, 3), 1000),
        };
        let shrunk: Shrunk<Failure> = found.shrunk.expect("it fails again");
        assert!(shrunk.failure.is_like(&found.failure));
        assert!(shrunk.replays <= 300);
        assert!(shrunk.trace.preemptions() <= found.trace.preemptions());
        let replayed = replay(program, &shrunk.token);
        assert!(replayed.fits);
        assert_eq!(replayed.trace, shrunk.trace);
        let Outcome::Failed(failure) = replayed.verdict.outcome else {
            panic!("{:?}", replayed.verdict);
        };
        assert!(failure.is_like(&found.failure));
        let preemptions = shrunk.trace.preemptions();
        let others = shrunk.trace.deviations() - preemptions;
        most = (most.0.max(preemptions), most.1.max(others));
    }
    most
}

#[test]
fn one_preemption_is_left_where_one_is_needed() {
    assert_eq!(shrunk(&programs::ab_ba()), (1, 0));
    assert_eq!(shrunk(&programs::check_then_act(true)), (1, 0));
    assert_eq!(shrunk(&programs::account()), (1, 0));
    assert_eq!(shrunk(&programs::unsynchronised_buffer()), (1, 0));
    assert_eq!(shrunk(&programs::wrong_lock(3)), (1, 0));
    assert_eq!(shrunk(&programs::carter()), (1, 0));
    assert_eq!(shrunk(&programs::reorder(3)), (1, 0));
}

#[test]
fn no_preemption_is_left_where_none_is_needed() {
    assert_eq!(shrunk(&programs::phase()), (0, 0));
    // Who notifies goes first; or nobody has to, and who waits is the second.
    assert_eq!(shrunk(&programs::lost_notify()), (0, 1));
    assert_eq!(shrunk(&programs::wrong_waiter(1, 2, false)).0, 0);
}

#[test]
fn philosophers_need_to_be_interrupted_once() {
    // The one who takes its left fork is interrupted, then the others come in
    // the order in which each has to wait for the one before.
    let (preemptions, others) = shrunk(&programs::dining(4));
    assert_eq!(preemptions, 1);
    assert!(others <= 3, "{others}");
}

#[test]
fn a_schedule_is_left_as_it_is_without_replays() {
    let mut explorer = conan_explore::Explorer::new(Random::new(1)).replays(0);
    let conan_explore::End::Failed(found) = explorer.explore(&programs::ab_ba()).end else {
        panic!("two locks in two orders");
    };
    assert!(found.shrunk.is_none());
}

#[test]
fn a_deadlock_stays_the_one_that_was_found() {
    // Each in a line of its own; the second one needs no preemption.
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let (found, _) = find(&programs::two_deadlocks(), Random::new(seed), 1000);
        let threads = |failure: &Failure| match failure {
            Failure::Suspended(suspended) => suspended.threads.len(),
            other => panic!("{other}"),
        };
        let shrunk = found.shrunk.expect("it fails again");
        assert_eq!(threads(&found.failure), threads(&shrunk.failure));
        seen.insert(threads(&found.failure));
    }
    assert_eq!(seen, [1, 2].into(), "each of them is found");
}
