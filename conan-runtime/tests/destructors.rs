//! What threads do after their code: they drop thread-locals.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::RefCell;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use conan_runtime::engine::{engine, with_same_threads};
use conan_runtime::explore::{Finding, explore};
use conan_runtime::{ErrorKind, Plan, Report, Script, Sequence, Settings, outcome, run};

/// Waits for ever, or for a while, when it is dropped.
enum Waits {
    ForEver,
    AWhile,
}

impl Drop for Waits {
    fn drop(&mut self) {
        match self {
            Self::ForEver => {
                let (_sender, receiver) = mpsc::channel::<()>();
                let _ = receiver.recv();
            }
            Self::AWhile => thread::sleep(Duration::from_millis(1500)),
        }
    }
}

thread_local! {
    static WAITS: RefCell<Option<Waits>> = const { RefCell::new(None) };
}

fn keeps(plan: &mut Plan, waits: fn() -> Waits) {
    plan.thread("keeps".to_owned(), move |conan| {
        conan.at_tick(1, 2, 5);
        conan.exc_monitor(3, 5, || {
            WAITS.set(Some(waits()));
            outcome!(())
        });
        Ok(())
    });
    plan.thread("other".to_owned(), |conan| {
        conan.at_tick(1, 4, 5);
        Ok(())
    });
}

const fn sequence(name: &'static str, build: fn(&mut Plan)) -> Sequence {
    Sequence {
        name,
        line: 1,
        conditions: &[],
        ticks: 2,
        stays: &[],
        wake_times: &[],
        explore: None,
        hot_spots: &[],
        build,
    }
}

static SEQUENCES: [Sequence; 2] = [
    sequence("for_ever", |plan| keeps(plan, || Waits::ForEver)),
    sequence("for_a_while", |plan| keeps(plan, || Waits::AWhile)),
];

static SCRIPT: Script = Script {
    path: "destructors.conan",
    file: "destructors.conan",
    source: "",
    ticktime: 1000,
    sequences: &SEQUENCES,
};

fn report(index: usize) -> Report {
    let settings = Settings {
        engine: engine("virtual").expect("it runs here"),
        ticktime: None,
    };
    run(&SCRIPT, &SEQUENCES[index], settings)
}

#[track_caller]
fn assert_is_suspended(report: &Report) {
    let [failure] = &report.failures[..] else {
        panic!("{report}")
    };
    assert_eq!(failure.kind, ErrorKind::Liveness);
    assert_eq!(failure.thread.as_deref(), Some("keeps"));
    assert_eq!((failure.tick, failure.place.line), (1, 3));
    assert_eq!(
        failure.message,
        "suspended for good in a destructor at its end"
    );
    let blocked = failure
        .notes
        .iter()
        .any(|note| note.starts_with("blocked at"));
    assert!(blocked, "{report}");
}

#[test]
fn a_destructor_of_a_thread_local_that_waits_for_ever_is_a_liveness_error() {
    for _ in 0..3 {
        assert_is_suspended(&report(0));
        // On threads that are used again, too.
        with_same_threads(|| assert_is_suspended(&report(0)));
    }
    let explored = explore(
        &SCRIPT,
        &SEQUENCES[0],
        &"random 20".parse().expect("a search"),
        None,
        "",
        &mut (),
    );
    let Finding::Failed(failed) = &explored.finding else {
        panic!("{explored}")
    };
    assert_eq!(failed.execution, 0);
    assert_is_suspended(&failed.report);
}

#[test]
fn a_destructor_of_a_thread_local_that_comes_to_its_end_is_no_error() {
    assert!(report(1).failures.is_empty(), "{}", report(1));
    with_same_threads(|| assert!(report(1).failures.is_empty(), "{}", report(1)));
}
