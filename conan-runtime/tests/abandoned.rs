//! Sequences that leave suspended threads behind, a thousand of them in one
//! process.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::sync::{Condvar, Mutex, mpsc};

use conan_runtime::engine::engine;
use conan_runtime::{ErrorKind, Plan, Script, Sequence, Settings, compare, outcome, run, time};

/// Three threads that nobody wakes, each in something else, and one that ends.
fn plan(plan: &mut Plan) {
    let never = plan.share((Mutex::new(false), Condvar::new()));
    plan.thread("in a condition variable".to_owned(), move |conan| {
        conan.at_tick(1, 1, 1);
        conan.exc_monitor(2, 1, || {
            let mut woken = never.0.lock().unwrap();
            while !*woken {
                woken = never.1.wait(woken).unwrap();
            }
            outcome!(())
        });
        Ok(())
    });
    plan.thread("in a lock".to_owned(), |conan| {
        conan.at_tick(1, 3, 1);
        conan.exc_monitor(4, 1, || {
            let lock = Mutex::new(());
            let _first = lock.lock().unwrap();
            let _second = lock.lock().unwrap();
            outcome!(())
        });
        Ok(())
    });
    plan.thread("in a channel".to_owned(), |conan| {
        conan.at_tick(1, 5, 1);
        conan.exc_monitor(6, 1, || {
            let (_sender, receiver) = mpsc::channel::<u32>();
            outcome!(receiver.recv())
        });
        Ok(())
    });
    plan.thread("ends".to_owned(), |conan| {
        conan.at_tick(2, 7, 1);
        conan.value_check(8, 1, || compare!(time(), 2));
        Ok(())
    });
}

#[test]
fn a_thousand_sequences_that_abandon_three_threads_each_are_all_the_same() {
    static SEQUENCES: [Sequence; 1] = [Sequence {
        name: "abandons",
        line: 1,
        conditions: &[],
        ticks: 2,
        stays: &[],
        wake_times: &[],
        explore: None,
        hot_spots: &[],
        build: plan,
    }];
    static SCRIPT: Script = Script {
        path: "abandoned.conan",
        file: "abandoned.conan",
        source: "",
        ticktime: 1000,
        sequences: &SEQUENCES,
    };
    let settings = Settings {
        engine: engine("virtual").expect("it runs here"),
        ticktime: None,
    };
    let mut first = None;
    for number in 0..1000 {
        let report = run(&SCRIPT, &SEQUENCES[0], settings);
        let kinds: Vec<_> = report.failures.iter().map(|failure| failure.kind).collect();
        assert_eq!(kinds, [ErrorKind::Liveness; 3], "run {number}: {report}");
        assert_eq!(report.totals.test_cases, 4);
        let text = report.to_json().to_string();
        assert_eq!(
            *first.get_or_insert_with(|| text.clone()),
            text,
            "run {number}"
        );
    }
}
