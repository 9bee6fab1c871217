//! Sequences on the `wall` clock, without a script: what drivers rely on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex};

use conan_runtime::engine::engine;
use conan_runtime::{
    ErrorKind, Plan, Report, Script, Sequence, Settings, Stays, Verdict, WakeTimes, compare,
    outcome, run, ticks, time,
};

/// Runs a sequence of two ticks.
fn run_plan(build: fn(&mut Plan)) -> Report {
    run_with(build, &[], &[])
}

fn run_with(
    build: fn(&mut Plan),
    stays: &'static [Stays],
    wake_times: &'static [WakeTimes],
) -> Report {
    let sequences = Box::leak(Box::new([Sequence {
        name: "sequence",
        line: 1,
        conditions: &[],
        ticks: 2,
        stays,
        wake_times,
        explore: None,
        hot_spots: &[],
        build,
    }]));
    let script: &'static Script = Box::leak(Box::new(Script {
        path: "script.conan",
        file: "copy.conan",
        source: "#begin\n#end\n",
        ticktime: 40,
        sequences,
    }));
    let settings = Settings {
        engine: engine("wall").expect("there is a wall clock"),
        ticktime: None,
    };
    run(script, &sequences[0], settings)
}

/// A gate that nobody opens unless a test does.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn pass(&self) {
        let open = self.open.lock().expect("nobody panics");
        drop(self.opened.wait_while(open, |open| !*open));
    }

    fn open(&self) {
        *self.open.lock().expect("nobody panics") = true;
        self.opened.notify_all();
    }
}

#[track_caller]
fn only_failure(report: &Report) -> &conan_runtime::Failure {
    match report.failures.as_slice() {
        [one] => one,
        several => panic!("expected one failure, not {several:#?}"),
    }
}

#[test]
fn threads_run_at_their_ticks_and_wake_when_they_are_woken() {
    let report = run_plan(|plan| {
        let gate = plan.share(Gate::default());
        plan.thread("waiter", {
            let gate = gate.clone();
            move |conan| {
                conan.at_tick(1, 1, 1);
                gate.pass();
                conan.value_check(2, 1, || compare!(time(), 2));
                Ok(())
            }
        });
        plan.thread("opener", move |conan| {
            conan.at_tick(2, 3, 1);
            conan.exc_monitor(4, 1, || outcome!(gate.open()));
            Ok(())
        });
    });
    assert_eq!(report.verdict(), Verdict::Passed, "{report}");
    assert_eq!(report.totals.test_cases, 2);
}

#[test]
fn a_thread_that_never_wakes_is_a_liveness_error_with_its_place_and_time() {
    let report = run_plan(|plan| {
        let gate = plan.share(Gate::default());
        plan.thread("lost", move |conan| {
            conan.at_tick(2, 5, 3);
            conan.exc_monitor(6, 9, || outcome!(gate.pass()));
            conan.exc_monitor(7, 9, || outcome!(()));
            Ok(())
        });
    });
    let failure = only_failure(&report);
    assert_eq!(failure.kind, ErrorKind::Liveness);
    assert_eq!(failure.thread.as_deref(), Some("lost"));
    assert_eq!(failure.tick, 2);
    assert_eq!((failure.place.line, failure.place.column), (6, 9));
    // The call that hangs has begun to run, what follows it has not.
    assert_eq!(report.totals.test_cases, 1);
}

#[test]
fn a_failed_check_does_not_stop_its_thread() {
    let report = run_plan(|plan| {
        plan.thread("a", |conan| {
            conan.at_tick(1, 1, 1);
            conan.value_check(1, 1, || compare!(1, 2));
            conan.exc_monitor(2, 1, || outcome!(Err::<(), _>("no")));
            conan.exc_monitor(3, 1, || outcome!(panic!("oh")));
            conan.value_check(4, 1, || compare!(3, 4));
            Ok(())
        });
    });
    assert_eq!(report.totals.test_cases, 4);
    assert_eq!(report.totals.value_errors, 2);
    assert_eq!(report.totals.exception_errors, 2);
    let lines: Vec<u32> = report.failures.iter().map(|f| f.place.line).collect();
    assert_eq!(lines, [1, 2, 3, 4]);
}

#[test]
fn a_thread_whose_code_panics_or_fails_ends() {
    let report = run_plan(|plan| {
        plan.thread("panics", |conan| {
            conan.at_tick(1, 1, 1);
            assert_ne!(time(), 1, "outside");
            conan.value_check(2, 1, || compare!(1, 1));
            Ok(())
        });
        plan.thread("fails", |conan| {
            conan.at_tick(1, 3, 1);
            "x".parse::<u32>()?;
            conan.value_check(4, 1, || compare!(1, 1));
            Ok(())
        });
    });
    assert_eq!(report.totals.exception_errors, 2, "{report}");
    assert_eq!(report.totals.test_cases, 0, "{report}");
}

#[test]
fn who_stays_must_be_suspended_at_the_end() {
    const STAYS: &[Stays] = &[Stays {
        thread: "guest",
        line: 7,
        column: 8,
    }];
    let suspended = run_with(
        |plan| {
            let gate = plan.share(Gate::default());
            plan.thread("guest", move |conan| {
                conan.at_tick(1, 1, 1);
                gate.pass();
                Ok(())
            });
        },
        STAYS,
        &[],
    );
    assert_eq!(suspended.verdict(), Verdict::Passed, "{suspended}");
    let ended = run_with(
        |plan| {
            plan.thread("guest", |conan| {
                conan.at_tick(1, 1, 1);
                Ok(())
            });
        },
        STAYS,
        &[],
    );
    let failure = only_failure(&ended);
    assert_eq!(failure.kind, ErrorKind::Liveness);
    assert_eq!(failure.place.line, 7);
}

#[test]
fn wake_times_that_nobody_takes_are_left_over() {
    let report = run_with(
        |plan| {
            plan.thread("a", |conan| {
                conan.at_tick(1, 1, 1);
                conan.wake_check(1, 1, &conan_runtime::Wake::Take("w"));
                Ok(())
            });
        },
        &[],
        &[WakeTimes {
            name: "w",
            line: 9,
            column: 1,
            times: &[1, 2],
        }],
    );
    let failure = only_failure(&report);
    assert_eq!(failure.kind, ErrorKind::Value);
    assert_eq!(failure.place.line, 9);
}

#[test]
fn checks_outside_threads_see_the_tick_at_rest() {
    let report = run_plan(|plan| {
        let gate = plan.share(Gate::default());
        plan.thread("guest", {
            let gate = gate.clone();
            move |conan| {
                conan.at_tick(1, 1, 1);
                gate.pass();
                Ok(())
            }
        });
        plan.checks(move |conan| {
            conan.at_rest(1, 2, 1);
            conan.suspended(2, 1, &["guest"]);
            conan.finished(3, 1, &["guest"]);
            conan.exc_monitor(4, 1, || outcome!(gate.open()));
            conan.at_rest(2, 5, 1);
            conan.finished(5, 1, &["guest"]);
            Ok(())
        });
    });
    let failure = only_failure(&report);
    assert_eq!((failure.kind, failure.place.line), (ErrorKind::Value, 3));
}

#[test]
fn setup_and_teardown_that_panic_are_exception_errors() {
    let setup = run_plan(|_| panic!("no component today"));
    let failure = only_failure(&setup);
    assert_eq!(failure.kind, ErrorKind::Exception);
    assert_eq!(failure.actual.as_deref(), Some("panic: no component today"));

    let teardown = run_plan(|plan| {
        plan.thread("a", |conan| {
            conan.at_tick(1, 1, 1);
            Ok(())
        });
        plan.teardown(|| panic!("not clean"));
    });
    assert_eq!(only_failure(&teardown).kind, ErrorKind::Exception);
}

#[test]
fn teardown_runs_after_a_failure_too() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let report = run_plan(|plan| {
        let gate = plan.share(Gate::default());
        plan.thread("lost", move |conan| {
            conan.at_tick(1, 1, 1);
            gate.pass();
            Ok(())
        });
        plan.teardown(|| {
            RUNS.fetch_add(1, Ordering::SeqCst);
        });
    });
    assert_eq!(report.totals.liveness_errors, 1);
    assert_eq!(RUNS.load(Ordering::SeqCst), 1);
}

#[test]
fn a_component_is_dropped_after_its_sequence_and_owned_parts_with_their_thread() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Ordering::SeqCst);
        }
    }
    let report = run_plan(|plan| {
        let shared = plan.share(Counted);
        let (sender, receiver) = mpsc::channel::<u32>();
        plan.thread("owner", move |conan| {
            let _shared = &*shared;
            let sender = sender;
            conan.at_tick(1, 1, 1);
            let _ = sender.send(1);
            Ok(())
        });
        plan.thread("other", move |conan| {
            conan.at_tick(1, 2, 1);
            conan.value_check(2, 1, || compare!(receiver.iter().count(), 1));
            conan.value_check(3, 1, || compare!(DROPS.load(Ordering::SeqCst), 0));
            Ok(())
        });
    });
    assert_eq!(report.verdict(), Verdict::Passed, "{report}");
    assert_eq!(DROPS.load(Ordering::SeqCst), 1);
}

#[test]
fn abandoned_threads_do_no_harm_to_the_next_sequence() {
    static LATE: Mutex<Option<Arc<Gate>>> = Mutex::new(None);
    let first = run_plan(|plan| {
        let gate = plan.share(Gate::default());
        *LATE.lock().expect("nobody panics") = Some(gate.clone());
        plan.thread("lost", move |conan| {
            conan.at_tick(1, 1, 1);
            gate.pass();
            conan.value_check(2, 1, || compare!(1, 2));
            panic!("woken after the end");
        });
    });
    assert_eq!(first.totals.liveness_errors, 1);
    let second = run_plan(|plan| {
        plan.thread("a", |conan| {
            conan.at_tick(1, 1, 1);
            let gate = LATE.lock().expect("nobody panics").take();
            gate.expect("the first sequence left it").open();
            conan.at_tick(2, 2, 1);
            conan.value_check(2, 1, || compare!(time(), 2));
            conan.value_check(3, 1, || compare!(ticks(3).as_millis(), 120));
            Ok(())
        });
    });
    assert_eq!(second.verdict(), Verdict::Passed, "{second}");
    assert_eq!(second.totals.test_cases, 2);
}
