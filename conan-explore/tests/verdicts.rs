//! What counts as a failure, and what is said about it.

mod common;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, RwLock, mpsc};
use std::time::Duration;
use std::{panic, thread};

use common::{find, passes, programs};
use conan_explore::{
    Bound, Dfs, End, Explorer, Failure, Fixed, Outcome, Program, Random, Schedule, Stage,
    Suspended, Threads, Verdict, Waits, Why, replay,
};
use conan_kernel::{Choice, Kind, Point, Step, Strategy, point};

/// The failure of the default schedule.
#[track_caller]
fn failure(setup: impl Fn(&mut Stage)) -> Failure {
    find(&Threads::new(setup), Fixed, 1).0.failure
}

#[track_caller]
fn suspended(setup: impl Fn(&mut Stage)) -> Suspended {
    match failure(setup) {
        Failure::Suspended(suspended) => suspended,
        other => panic!("{other}"),
    }
}

#[test]
fn a_panic_is_a_failure_with_thread_message_and_place() {
    let failure = failure(|stage| {
        stage.spawn("calm", || {});
        stage.spawn("nervous", || panic!("number {}", 7));
    });
    let Failure::Panicked(panic) = &failure else {
        panic!("{failure}");
    };
    assert_eq!(panic.thread.as_deref(), Some("nervous"));
    assert_eq!(panic.message, "number 7");
    let text = failure.to_string();
    let start = "thread nervous panicked: number 7, at conan-explore/tests/verdicts.rs:";
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn a_panic_that_a_thread_catches_itself_is_none() {
    let program = Threads::new(|stage: &mut Stage| {
        stage.spawn("careful", || {
            let caught = panic::catch_unwind(|| panic!("caught"));
            assert!(caught.is_err());
        });
    });
    passes(&program, Fixed, 1);
}

#[test]
fn a_panic_that_was_passed_on_is_a_failure() {
    let failure = failure(|stage| {
        stage.spawn("passes on", || {
            panic::resume_unwind(Box::new("from elsewhere"));
        });
    });
    assert_eq!(
        failure.to_string(),
        "thread passes on panicked: from elsewhere"
    );
}

#[test]
fn a_panic_in_a_thread_of_the_component_is_a_failure_unless_ignored() {
    let setup = |stage: &mut Stage| {
        stage.spawn("main", || {
            let child = thread::spawn(|| panic!("in a child"));
            assert!(child.join().is_err());
        });
    };
    let text = failure(setup).to_string();
    let start = "a thread of the component panicked: in a child, at";
    assert!(text.starts_with(start), "{text}");
    passes(&Threads::new(setup).ignore_component_panics(), Fixed, 1);
}

#[test]
fn a_check_is_made_when_all_threads_have_ended() {
    let program = |expected: usize| {
        Threads::new(move |stage: &mut Stage| {
            let count = Arc::new(Mutex::new(0));
            for name in ["a", "b"] {
                let count = count.clone();
                stage.spawn(name, move || *count.lock().unwrap() += 1);
            }
            stage.check(|| Ok(()));
            stage.check(move || match *count.lock().unwrap() {
                count if count == expected => Ok(()),
                count => Err(format!("the count is {count}")),
            });
        })
    };
    passes(&program(2), Dfs::new(), 10);
    let (found, _) = find(&program(3), Dfs::new(), 10);
    assert_eq!(found.failure, Failure::Wrong("the count is 2".to_owned()));
}

#[test]
fn a_check_can_panic_and_can_be_suspended() {
    let text = failure(|stage| stage.check(|| panic!("unchecked"))).to_string();
    assert!(
        text.starts_with("thread check panicked: unchecked"),
        "{text}"
    );
    let suspended = suspended(|stage| {
        let lock = Arc::new(Mutex::new(()));
        let kept = lock.clone();
        stage.spawn("keeps", move || std::mem::forget(kept.lock().unwrap()));
        stage.check(move || lock.lock().map(|_| ()).map_err(|_| String::new()));
    });
    assert_eq!(suspended.threads[0].name.as_deref(), Some("check"));
    assert_eq!(suspended.threads[0].waits, Waits::Lock);
}

#[test]
fn what_a_thread_waits_for_is_read_from_its_stack() {
    let waits = |wait: fn()| {
        let suspended = suspended(move |stage| stage.spawn("waits", wait));
        assert_eq!(suspended.threads.len(), 1);
        assert!(suspended.threads[0].backtrace.is_some());
        suspended.threads[0].waits
    };
    let mutex = || {
        let lock = Mutex::new(());
        let _once = lock.lock();
        let _twice = lock.lock();
    };
    assert_eq!(waits(mutex), Waits::Lock);
    let rwlock = || {
        let lock = RwLock::new(());
        let _read = lock.read();
        let _write = lock.write();
    };
    assert_eq!(waits(rwlock), Waits::Lock);
    let condvar = || {
        let pair = (Mutex::new(()), Condvar::new());
        drop(pair.1.wait(pair.0.lock().unwrap()));
    };
    assert_eq!(waits(condvar), Waits::Signal);
    let channel = || {
        let (_sender, receiver) = mpsc::channel::<()>();
        let _ = receiver.recv();
    };
    assert_eq!(waits(channel), Waits::Signal);
    assert_eq!(waits(thread::park), Waits::Signal);
    let barrier = || {
        std::sync::Barrier::new(2).wait();
    };
    assert_eq!(waits(barrier), Waits::Signal);
}

#[test]
fn who_waits_for_the_end_of_a_thread_that_waits_is_suspended_too() {
    let program = |stage: &mut Stage| {
        stage.spawn("joins", || {
            let child = thread::spawn(|| {
                let lock = Mutex::new(());
                let _once = lock.lock();
                let _twice = lock.lock();
            });
            child.join().unwrap();
        });
    };
    let suspended = suspended(program);
    let waits: Vec<_> = suspended.threads.iter().map(|it| it.waits).collect();
    assert_eq!(waits, [Waits::Join(Some(1)), Waits::Lock]);
    assert_eq!(suspended.why, Why::Cycle);
    let scope = self::suspended(|stage| {
        stage.spawn("scopes", || {
            thread::scope(|scope| {
                scope.spawn(thread::park);
            });
        });
    });
    assert_eq!(scope.threads[0].waits, Waits::Join(None));
}

#[test]
fn a_worker_that_waits_for_work_is_idle_and_no_failure() {
    let program = Threads::new(|stage: &mut Stage| {
        stage.spawn("user", || {
            let (sender, jobs) = mpsc::channel::<u8>();
            let (answer, answers) = mpsc::channel();
            thread::spawn(move || {
                for job in jobs {
                    answer.send(job + 1).unwrap();
                }
            });
            sender.send(1).unwrap();
            assert_eq!(answers.recv(), Ok(2));
            std::mem::forget(sender);
        });
    });
    passes(&program, Random::new(1), 20);
}

#[test]
fn a_thread_of_the_component_that_waits_for_a_lock_for_ever_is_a_failure() {
    let suspended = suspended(|stage| {
        stage.spawn("forgets", || {
            let lock = Arc::new(Mutex::new(()));
            std::mem::forget(lock.lock().unwrap());
            thread::spawn(move || drop(lock.lock()));
        });
    });
    assert_eq!(suspended.why, Why::Cycle);
    let names: Vec<_> = suspended.threads.iter().map(|it| &it.name).collect();
    assert_eq!(names, [&None]);
    let text = Failure::Suspended(suspended).to_string();
    assert!(
        text.ends_with("the component's thread 1 waits for a lock"),
        "{text}"
    );
}

#[test]
fn some_threads_are_suspended_for_good_though_others_go_on() {
    let ticks = || {
        thread::spawn(|| {
            loop {
                thread::sleep(Duration::from_secs(1));
            }
        });
    };
    let suspended = suspended(move |stage| {
        stage.spawn("ticks", ticks);
        stage.spawn("locks itself out", || {
            let lock = Mutex::new(());
            let _once = lock.lock();
            let _twice = lock.lock();
        });
    });
    assert!(suspended.others_go_on);
    assert_eq!(suspended.threads.len(), 1);
    // When the program's own threads have ended, nobody waits for the others.
    let program = Threads::new(move |stage: &mut Stage| stage.spawn("ticks", ticks));
    passes(&program, Fixed, 3);
}

#[test]
fn a_program_without_an_end_is_a_failure() {
    let wait_for_each_other = |stage: &mut Stage| {
        let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        for number in 0..2 {
            let flags = flags.clone();
            stage.spawn(&format!("t{number}"), move || {
                while !flags[1 - number].load(Ordering::SeqCst) {
                    thread::yield_now();
                }
                flags[number].store(true, Ordering::SeqCst);
            });
        }
    };
    let program = Threads::new(wait_for_each_other).steps(5000);
    let (found, executions) = find(&program, Random::new(1), 10);
    assert_eq!(found.failure, Failure::Endless(5000));
    assert_eq!(executions, 1);
}

#[test]
fn a_schedule_that_favours_one_thread_is_no_program_without_an_end() {
    let exploration = passes(&programs::too_polite(100_000), Dfs::new(), 5);
    assert_eq!(exploration.counts.executions, 5);
}

#[test]
fn executions_follow_each_other_though_threads_are_left_behind() {
    let program = programs::ab_ba();
    for _ in 0..50 {
        let (found, executions) = find(&program, Random::new(1), 10);
        assert_eq!(executions, 2);
        assert!(found.shrunk.is_some());
    }
}

#[test]
fn what_the_engine_does_not_see_is_said() {
    // A static: only the first execution does anything.
    static DONE: OnceLock<()> = OnceLock::new();
    let program = Threads::new(|stage: &mut Stage| {
        for name in ["a", "b"] {
            stage.spawn(name, || {
                if DONE.get().is_none() {
                    point();
                    point();
                    let _ = DONE.set(());
                }
            });
        }
    });
    let exploration = Explorer::new(Dfs::new()).explore(&program);
    assert!(exploration.counts.diverged > 0);
    assert!(
        matches!(exploration.end, End::BoundReached(Bound::NotExact)),
        "{exploration:?}"
    );
}

#[test]
fn a_failure_that_does_not_come_again_is_said_to() {
    static DONE: OnceLock<()> = OnceLock::new();
    let program = Threads::new(|stage: &mut Stage| {
        stage.spawn("once", || assert!(DONE.set(()).is_err(), "the first time"));
    });
    let exploration = Explorer::new(Random::new(1)).explore(&program);
    let End::Failed(found) = exploration.end else {
        panic!("{exploration:?}");
    };
    assert!(found.shrunk.is_none());
}

#[test]
fn a_program_that_cannot_be_executed_is_not_said_to_pass() {
    struct Impossible;
    impl conan_explore::Program for Impossible {
        type Failure = ();
        fn execute(&self, _: conan_explore::Schedule) -> conan_explore::Verdict<()> {
            conan_explore::Verdict {
                outcome: Outcome::Impossible("for a reason".to_owned()),
                is_exact: true,
            }
        }
        fn are_alike(&self, (): &(), (): &()) -> bool {
            true
        }
    }
    let exploration = Explorer::new(Dfs::new()).explore(&Impossible);
    assert!(matches!(exploration.end, End::Impossible(reason) if reason == "for a reason"));
}

/// Philosophers with two forks each, all left-handed.
fn dining(stage: &mut Stage, count: usize) {
    let forks: Arc<Vec<_>> = Arc::new((0..count).map(|_| Mutex::new(())).collect());
    for number in 0..count {
        let forks = Arc::clone(&forks);
        stage.spawn(&format!("p{number}"), move || {
            let _left = forks[number].lock().unwrap();
            thread::yield_now();
            let _right = forks[(number + 1) % forks.len()].lock().unwrap();
        });
    }
}

#[test]
fn a_cycle_of_locks_is_told_with_who_holds_what() {
    for count in 2..6 {
        let suspended = suspended(move |stage| dining(stage, count));
        assert_eq!(suspended.why, Why::Cycle);
        assert_eq!(suspended.cycle.len(), count);
        for stuck in &suspended.threads {
            let holders: Vec<_> = stuck.held_by.iter().map(|it| it.number).collect();
            assert_eq!(holders, [(stuck.number + 1) % count]);
        }
    }
    let text = Failure::Suspended(suspended(|stage| dining(stage, 2))).to_string();
    assert_eq!(
        text,
        "suspended for good, they wait for each other: thread p0 waits for a lock that \
         thread p1 probably holds; thread p1 waits for a lock that thread p0 probably holds"
    );
}

#[test]
fn readers_and_a_writer_can_be_a_cycle() {
    let suspended = suspended(|stage| {
        let shared = Arc::new((RwLock::new(()), Mutex::new(())));
        let other = Arc::clone(&shared);
        stage.spawn("reads", move || {
            let _read = shared.0.read().unwrap();
            thread::yield_now();
            let _lock = shared.1.lock().unwrap();
        });
        stage.spawn("writes", move || {
            let _lock = other.1.lock().unwrap();
            let _write = other.0.write().unwrap();
        });
    });
    assert_eq!(suspended.cycle.len(), 2, "{suspended:?}");
}

#[test]
fn who_waits_for_a_signal_with_a_lock_in_hand_holds_it() {
    let suspended = suspended(|stage| {
        let shared = Arc::new((Mutex::new(()), Mutex::new(()), Condvar::new()));
        let other = Arc::clone(&shared);
        stage.spawn("outer", move || {
            let _outer = shared.0.lock().unwrap();
            let inner = shared.1.lock().unwrap();
            drop(shared.2.wait(inner));
        });
        stage.spawn("wakes", move || {
            let _outer = other.0.lock().unwrap();
            other.2.notify_one();
        });
    });
    assert!(suspended.cycle.is_empty());
    let text = Failure::Suspended(suspended).to_string();
    assert!(
        text.contains("thread wakes waits for a lock that thread outer probably holds"),
        "{text}"
    );
}

#[test]
fn the_thread_that_a_lock_was_handed_to_holds_it_for_certain() {
    let suspended = suspended(|stage| {
        let lock = Arc::new(Mutex::new(()));
        let (second, third) = (Arc::clone(&lock), Arc::clone(&lock));
        stage.spawn("first", move || {
            let held = lock.lock();
            thread::sleep(Duration::from_secs(1));
            drop(held);
        });
        stage.spawn("second", move || {
            let _held = second.lock();
            thread::park();
        });
        stage.spawn("third", move || {
            thread::sleep(Duration::from_secs(2));
            drop(third.lock());
        });
    });
    let third = suspended.threads.last().expect("two are left");
    assert!(third.is_certain, "{suspended:?}");
    assert_eq!(
        third.to_string(),
        "thread third waits for a lock that thread second holds"
    );
}

#[test]
fn a_lock_that_was_forgotten_has_no_holder() {
    let suspended = suspended(|stage| {
        let lock = Arc::new(Mutex::new(()));
        let other = Arc::clone(&lock);
        stage.spawn("forgets", move || std::mem::forget(lock.lock().unwrap()));
        stage.spawn("locks", move || drop(other.lock()));
    });
    assert!(suspended.threads[0].held_by.is_empty(), "{suspended:?}");
    assert!(suspended.cycle.is_empty());
}

#[test]
fn a_lock_that_an_earlier_execution_has_left_is_no_failure() {
    static TOTAL: Mutex<u32> = Mutex::new(0);

    let keeps = Threads::new(|stage: &mut Stage| {
        stage.spawn("keeps", || {
            let _total = TOTAL.lock().unwrap();
            let never = (Mutex::new(()), Condvar::new());
            drop(never.1.wait(never.0.lock().unwrap()));
        });
    });
    let (found, _) = find(&keeps, Fixed, 1);
    assert!(matches!(found.failure, Failure::Suspended(_)));
    assert!(found.shrunk.is_none(), "a replay waits for the same lock");

    let counts = Threads::new(|stage: &mut Stage| {
        stage.spawn("counts", || *TOTAL.lock().unwrap() += 1);
    });
    let exploration = Explorer::new(Fixed).explore(&counts);
    let End::Impossible(reason) = exploration.end else {
        panic!("{:?}", exploration.end)
    };
    let start = "thread counts waits for a lock in a static variable that a thread of an earlier";
    assert!(reason.starts_with(start), "{reason}");
}

#[test]
fn a_lock_in_a_static_variable_that_its_own_execution_has_is_a_failure() {
    static LEFT: Mutex<()> = Mutex::new(());
    static OTHER: Mutex<()> = Mutex::new(());

    // Something is left behind, but not this lock.
    let leaves = suspended(|stage| {
        stage.spawn("leaves", || {
            let _left = LEFT.lock().unwrap();
            drop(LEFT.lock().unwrap());
        });
    });
    assert_eq!(leaves.threads.len(), 1);
    let waits = suspended(|stage| {
        stage.spawn("waits", || {
            let _other = OTHER.lock().unwrap();
            drop(OTHER.lock().unwrap());
        });
    });
    assert_eq!(waits.threads[0].name.as_deref(), Some("waits"));
}

#[test]
fn a_thread_that_the_system_refuses_is_a_bound_and_no_failure() {
    let setup = |stage: &mut Stage| {
        stage.spawn("main", || {
            // No address space is as large as this stack.
            let builder = thread::Builder::new().stack_size(1 << 60);
            drop(builder.spawn(|| ()).expect("there is room for a thread"));
        });
    };
    let exploration = Explorer::new(Fixed).explore(&Threads::new(setup));
    assert!(matches!(exploration.end, End::BoundReached(Bound::Refused)));
}

#[test]
fn a_panic_ends_the_execution_soon_though_other_threads_wait_in_a_loop() {
    static ROUNDS: AtomicUsize = AtomicUsize::new(0);

    let panics = |of_component: bool| {
        move |stage: &mut Stage| {
            let is_done = Arc::new(AtomicBool::new(false));
            let seen = is_done.clone();
            stage.spawn("panics", move || {
                if of_component {
                    drop(thread::spawn(|| panic!("too early")));
                } else {
                    panic!("too early");
                }
            });
            stage.spawn("waits", move || {
                while !seen.load(Ordering::SeqCst) {
                    ROUNDS.fetch_add(1, Ordering::SeqCst);
                    thread::yield_now();
                }
            });
        }
    };
    for of_component in [false, true] {
        ROUNDS.store(0, Ordering::SeqCst);
        let program = Threads::new(panics(of_component));
        let exploration = Explorer::new(Fixed).replays(0).explore(&program);
        let End::Failed(found) = exploration.end else {
            panic!("{:?}", exploration.end)
        };
        assert!(matches!(found.failure, Failure::Panicked(_)));
        let rounds = ROUNDS.load(Ordering::SeqCst);
        assert!(rounds < 500, "{rounds} rounds after the panic");
    }
}

#[test]
fn decisions_after_a_panic_are_part_of_a_token_that_was_given_out_before() {
    let program = |stage: &mut Stage| {
        stage.spawn("panics", || {
            drop(thread::spawn(|| panic!("in a child")).join());
        });
        for name in ["a", "b"] {
            stage.spawn(name, || (0..500).for_each(|_| point()));
        }
        stage.check(|| Err("as a failure of this has no end before its end".to_owned()));
    };
    let ignores = Threads::new(program).ignore_component_panics();
    let exploration = Explorer::new(Random::new(1)).replays(0).explore(&ignores);
    let End::Failed(found) = exploration.end else {
        panic!("{:?}", exploration.end)
    };
    assert!(found.trace.choices().len() > 500, "{:?}", found.trace);

    let replayed = replay(&Threads::new(program), &found.token);
    assert!(matches!(
        replayed.verdict.outcome,
        Outcome::Failed(Failure::Panicked(_))
    ));
    assert!(replayed.fits);
}

/// A program that fails at once, and what it does is not exact.
struct Unseen(Cell<u32>);

impl Program for Unseen {
    type Failure = ();

    fn execute(&self, mut schedule: Schedule) -> Verdict<()> {
        self.0.set(self.0.get() + 1);
        let options = [0, 1].map(|thread| Choice {
            thread,
            position: 0,
            step: Step::Point,
        });
        let point = Point {
            kind: Kind::Next,
            previous: None,
            interrupts: false,
            options: &options,
        };
        for _ in 0..20 {
            schedule.decide(&point);
        }
        Verdict {
            outcome: Outcome::Failed(()),
            is_exact: false,
        }
    }

    fn are_alike(&self, (): &(), (): &()) -> bool {
        true
    }
}

#[test]
fn a_failure_that_is_not_exact_is_replayed_once_and_not_made_simpler() {
    let program = Unseen(Cell::new(0));
    let exploration = Explorer::new(Random::new(1)).explore(&program);
    let End::Failed(found) = exploration.end else {
        panic!("it fails")
    };
    assert!(
        found.trace.deviations() > 0,
        "there is something to leave out"
    );
    assert_eq!(found.shrunk.expect("it can be had again").replays, 1);
    assert_eq!(program.0.get(), 2);
}
