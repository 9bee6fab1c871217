//! Panics in managed threads are what they are anywhere else.

mod common;

use std::panic::{self, AssertUnwindSafe};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock, mpsc};
use std::time::Duration;
use std::{env, thread};

use common::{Log, all_finished, run_to_the_end, spawn, world};

#[test]
fn a_lock_that_was_held_in_a_panic_is_poisoned_for_the_others() {
    let mut world = world();
    let log = Log::default();
    let locks = Arc::new((Mutex::new(1), RwLock::new(2)));
    let held = locks.clone();
    spawn(&mut world, "panics", move || {
        let _first = held.0.lock();
        let _second = held.1.write();
        thread::sleep(Duration::from_secs(1));
        // A panic as any other, but it prints no backtrace: reading the debug
        // info for one takes as long as the disk takes.
        std::panic::resume_unwind(Box::new("with two locks held"));
    });
    let (mutex, table) = (locks.clone(), locks);
    for (name, out) in [("mutex", log.clone()), ("table", log.clone())] {
        let (mutex, table) = (mutex.clone(), table.clone());
        // Both wait when it happens.
        spawn(&mut world, name, move || {
            let poisoned = match name {
                "mutex" => mutex.0.lock().is_err(),
                _ => table.1.read().is_err(),
            };
            out.note(format!("{name} {poisoned}"));
        });
    }
    run_to_the_end(&mut world);
    assert!(all_finished(&world));
    let mut noted = log.noted();
    noted.sort();
    assert_eq!(noted, ["mutex true", "table true"]);
    assert_eq!(world.inexact(), []);
}

#[test]
fn a_panic_leaves_those_who_wait_for_its_thread_in_vain_blocked() {
    let mut world = world();
    let monitor = Arc::new((Mutex::new(false), Condvar::new()));
    let waiting = monitor.clone();
    let waiter = spawn(&mut world, "waiter", move || {
        let open = waiting.0.lock().unwrap();
        drop(waiting.1.wait_while(open, |open| !*open));
    });
    let dead = spawn(&mut world, "dies", move || {
        let _open = monitor.0.lock();
        panic!("before it opens");
    });
    run_to_the_end(&mut world);
    let threads = world.threads();
    let info = |id| threads.iter().find(|info| info.id == id).unwrap();
    assert!(info(dead).is_finished);
    assert!(info(waiter).blocked.is_some());
}

#[test]
fn a_panic_drops_what_the_thread_had_and_ends_the_waits_for_it() {
    let mut world = world();
    let log = Log::default();
    let (sender, receiver) = mpsc::channel::<u8>();
    let out = log.clone();
    spawn(&mut world, "receiver", move || {
        out.note(format!("{:?}", receiver.recv()));
        out.note(format!("{:?}", receiver.recv()));
    });
    spawn(&mut world, "sender", move || {
        sender.send(1).unwrap();
        panic!("after the first");
    });
    run_to_the_end(&mut world);
    assert_eq!(log.noted(), ["Ok(1)", "Err(RecvError)"]);
}

#[test]
fn join_gives_what_the_thread_panicked_with() {
    let mut world = world();
    let log = Log::default();
    let out = log.clone();
    spawn(&mut world, "parent", move || {
        let already = thread::spawn(|| panic!("at once"));
        thread::yield_now();
        let later = thread::spawn(|| {
            thread::sleep(Duration::from_secs(5));
            panic::panic_any(7_u32);
        });
        let well = thread::spawn(|| 8);
        let text = already.join().expect_err("it panicked");
        out.note(*text.downcast_ref::<&str>().unwrap());
        let number = later.join().expect_err("it panicked");
        out.note(format!("{:?}", number.downcast_ref::<u32>()));
        out.note(format!("{:?}", well.join().ok()));
    });
    run_to_the_end(&mut world);
    assert_eq!(log.noted(), ["at once", "Some(7)", "Some(8)"]);
    assert!(all_finished(&world));
}

#[test]
fn a_scope_with_a_panic_waits_for_the_others_and_panics_too() {
    let mut world = world();
    let log = Log::default();
    let out = log.clone();
    spawn(&mut world, "parent", move || {
        let caught = panic::catch_unwind(AssertUnwindSafe(|| {
            thread::scope(|scope| {
                scope.spawn(|| panic!("one of two"));
                scope.spawn(|| {
                    thread::sleep(Duration::from_secs(1));
                    out.note("the other");
                });
            });
        }));
        out.note(format!("caught {}", caught.is_err()));
    });
    run_to_the_end(&mut world);
    assert_eq!(log.noted(), ["the other", "caught true"]);
}

#[test]
fn a_thread_that_catches_its_panic_goes_on() {
    let mut world = world();
    let log = Log::default();
    let turns = Arc::new(Barrier::new(2));
    for name in ["a", "b"] {
        let (log, turns) = (log.clone(), turns.clone());
        spawn(&mut world, name, move || {
            for round in 0..3 {
                let lock = Mutex::new(());
                let caught = panic::catch_unwind(AssertUnwindSafe(|| {
                    let _held = lock.lock();
                    turns.wait();
                    panic!("round {round}");
                }));
                assert!(caught.is_err() && lock.is_poisoned());
                turns.wait();
                assert!(!thread::panicking());
                if name == "a" {
                    log.note(format!("{round}"));
                }
            }
        });
    }
    run_to_the_end(&mut world);
    assert_eq!(log.noted(), ["0", "1", "2"]);
    assert!(all_finished(&world));
}

#[test]
fn destructors_that_block_while_a_panic_unwinds_are_scheduled_like_anything_else() {
    struct Meets(Arc<Barrier>, Log);
    impl Drop for Meets {
        fn drop(&mut self) {
            self.0.wait();
            thread::sleep(Duration::from_secs(1));
            self.1.note(format!("panicking {}", thread::panicking()));
        }
    }
    let mut world = world();
    let log = Log::default();
    let barrier = Arc::new(Barrier::new(2));
    for panics in [true, false] {
        let meets = Meets(barrier.clone(), log.clone());
        spawn(&mut world, "meets", move || {
            let _meets = meets;
            assert!(!panics, "on purpose");
        });
    }
    run_to_the_end(&mut world);
    let mut noted = log.noted();
    noted.sort();
    assert_eq!(noted, ["panicking false", "panicking true"]);
}

#[test]
fn an_initializer_that_panics_lets_the_next_one_try() {
    let mut world = world();
    let log = Log::default();
    let cells = Arc::new((Once::new(), OnceLock::new()));
    let first = cells.clone();
    spawn(&mut world, "fails", move || {
        first.1.get_or_init(|| {
            thread::sleep(Duration::from_secs(1));
            first.0.call_once(|| panic!("too early"));
            1
        });
    });
    let out = log.clone();
    spawn(&mut world, "waits", move || {
        let value = *cells.1.get_or_init(|| 2);
        let once = panic::catch_unwind(|| cells.0.call_once(|| {}));
        out.note(format!("{value} {}", once.is_err()));
    });
    run_to_the_end(&mut world);
    assert_eq!(log.noted(), ["2 true"]);
}

#[test]
fn worlds_with_panics_leave_the_later_ones_alone() {
    for round in 0..50 {
        let mut world = world();
        let done = Arc::new(AtomicBool::new(false));
        let seen = done.clone();
        let lock = Arc::new(Mutex::new(()));
        let held = lock.clone();
        spawn(&mut world, "panics", move || {
            let _held = held.lock().unwrap();
            thread::yield_now();
            panic!("round {round}");
        });
        spawn(&mut world, "lives", move || {
            assert!(lock.lock().is_err());
            done.store(true, Ordering::SeqCst);
        });
        run_to_the_end(&mut world);
        assert!(seen.load(Ordering::SeqCst));
    }
}

/// Not a test of its own: what the next one looks at, in a process of its own.
#[test]
#[ignore = "run by the test of the backtrace"]
fn panics_in_two_threads() {
    let mut world = world();
    let lock = Arc::new(Mutex::new(()));
    for name in ["first", "second"] {
        let lock = lock.clone();
        spawn(&mut world, name, move || {
            let held = lock.lock();
            thread::sleep(Duration::from_secs(1));
            deep_inside(name);
            drop(held);
        });
    }
    run_to_the_end(&mut world);
    assert!(all_finished(&world));
}

#[inline(never)]
fn deep_inside(name: &str) {
    panic!("the {name} one");
}

#[test]
fn a_panic_names_its_thread_and_shows_the_way_to_it_on_demand() {
    for (backtrace, shows) in [("0", false), ("1", true), ("full", true)] {
        let output = Command::new(env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "--nocapture",
                "panics_in_two_threads",
            ])
            .env("RUST_BACKTRACE", backtrace)
            .output()
            .expect("this test can be started again");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        for name in ["first", "second"] {
            assert!(text.contains(&format!("thread '{name}'")), "{text}");
            assert!(text.contains(&format!("the {name} one")), "{text}");
        }
        assert_eq!(
            text.matches("panics::deep_inside").count() > 0,
            shows,
            "{text}"
        );
    }
}
