//! An execution of an exploration ends soon after a panic has ended a thread of
//! the script; a plain run shows all that is wrong.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use conan_runtime::engine::engine;
use conan_runtime::explore::{Finding, explore};
use conan_runtime::{ErrorKind, Failure, Plan, Script, Sequence, Settings, outcome, run};

/// Rounds of threads that wait in a loop.
static ROUNDS: AtomicUsize = AtomicUsize::new(0);

fn waits_in_a_loop(plan: &mut Plan) {
    plan.thread("waits".to_owned(), |conan| {
        conan.at_tick(1, 3, 1);
        loop {
            ROUNDS.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_micros(100));
        }
    });
}

/// A panic that nothing catches.
fn outside(plan: &mut Plan) {
    plan.thread("panics".to_owned(), |conan| {
        conan.at_tick(1, 2, 1);
        panic!("outside any template")
    });
    waits_in_a_loop(plan);
}

fn fail() {
    panic!("inside a template")
}

/// A panic that is required.
fn inside(plan: &mut Plan) {
    plan.thread("panics".to_owned(), |conan| {
        conan.at_tick(1, 2, 1);
        conan.exc_monitor_panic(2, 9, Some("inside"), || {
            fail();
            outcome!(())
        });
        Ok(())
    });
    plan.thread("works".to_owned(), |conan| {
        conan.at_tick(1, 3, 1);
        for _ in 0..1000 {
            ROUNDS.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_micros(100));
        }
        Ok(())
    });
}

const fn sequence(name: &'static str, build: fn(&mut Plan)) -> Sequence {
    Sequence {
        name,
        line: 1,
        conditions: &[],
        ticks: 1,
        stays: &[],
        wake_times: &[],
        explore: None,
        hot_spots: &[],
        build,
    }
}

static SEQUENCES: [Sequence; 2] = [sequence("outside", outside), sequence("inside", inside)];

static SCRIPT: Script = Script {
    path: "cut_short.conan",
    file: "cut_short.conan",
    source: "",
    ticktime: 1000,
    sequences: &SEQUENCES,
};

fn kinds(failures: &[Failure]) -> Vec<ErrorKind> {
    failures.iter().map(|failure| failure.kind).collect()
}

// One test: the rounds of both are counted in one place.
#[test]
fn a_panic_outside_any_template_ends_an_execution_and_not_a_plain_run() {
    let explored = |index: usize| {
        ROUNDS.store(0, Ordering::SeqCst);
        let fixed = "fixed 1".parse().expect("a search");
        explore(&SCRIPT, &SEQUENCES[index], &fixed, None, "", &mut ())
    };
    let outside = explored(0);
    let rounds = ROUNDS.load(Ordering::SeqCst);
    let Finding::Failed(failed) = &outside.finding else {
        panic!("{outside}")
    };
    // In the execution itself, in those that make it simpler, and in the one that
    // is shown. To the end of a tick it would be 10,000 in each.
    assert!(rounds < 5_000, "{rounds} rounds");
    assert_eq!(kinds(&failed.report.failures), [ErrorKind::Exception]);

    let inside = explored(1);
    assert!(!inside.has_failed(), "{inside}");
    assert_eq!(ROUNDS.load(Ordering::SeqCst), 1000);

    let settings = Settings {
        engine: engine("virtual").expect("it runs here"),
        ticktime: None,
    };
    let report = run(&SCRIPT, &SEQUENCES[0], settings);
    assert_eq!(
        kinds(&report.failures),
        [ErrorKind::Exception, ErrorKind::Liveness]
    );
}
