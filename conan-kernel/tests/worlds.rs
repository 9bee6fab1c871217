//! Worlds of real threads over std's own primitives.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use conan_kernel::{Cause, Fifo, Stopped, World};

type Log = Arc<Mutex<Vec<String>>>;

fn world() -> World {
    World::open(Fifo).expect("interposition works here")
}

fn note(log: &Log, text: impl Into<String>) {
    log.lock().expect("nobody panics").push(text.into());
}

fn noted(log: &Log) -> Vec<String> {
    log.lock().expect("nobody panics").clone()
}

/// Runs to the end of all threads, moving time from deadline to deadline.
fn run_to_the_end(world: &mut World) {
    loop {
        world.run(u64::MAX);
        match world.next_deadline() {
            Some(deadline) => {
                world.advance_to(deadline);
                world.fire_one();
            }
            None => return,
        }
    }
}

#[test]
fn threads_run_one_after_the_other_in_their_order() {
    let mut world = world();
    let log = Log::default();
    for name in ["a", "b", "c"] {
        let log = log.clone();
        world
            .spawn(name, move || {
                for step in 0..3 {
                    note(&log, format!("{name}{step}"));
                    thread::yield_now();
                }
            })
            .expect("a thread can be started");
    }
    assert_eq!(world.run(u64::MAX), Stopped::Quiescent);
    let expected = ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"];
    assert_eq!(noted(&log), expected);
}

#[test]
fn a_condition_variable_blocks_and_wakes() {
    let mut world = world();
    let log = Log::default();
    let monitor = Arc::new((Mutex::new(false), Condvar::new()));
    let (waiting, waker) = (monitor.clone(), monitor);
    let (one, other) = (log.clone(), log.clone());
    let waiter = world.spawn("waiter", move || {
        let (open, opened) = &*waiting;
        note(&one, "waits");
        drop(opened.wait_while(open.lock().unwrap(), |open| !*open));
        note(&one, "woken");
    });
    let waiter = waiter.expect("a thread can be started");
    world.run(u64::MAX);
    let info = world.threads().into_iter().find(|info| info.id == waiter);
    let blocked = info
        .and_then(|info| info.blocked)
        .expect("the waiter is blocked");
    assert!(matches!(blocked.cause, Cause::Futex(_)));
    let backtrace = world
        .backtrace(waiter)
        .expect("a blocked thread tells where it is");
    assert!(backtrace.contains("worlds.rs"), "{backtrace}");
    let opener = world.spawn("opener", move || {
        let (open, opened) = &*waker;
        *open.lock().unwrap() = true;
        opened.notify_all();
        note(&other, "opened");
    });
    let opener = opener.expect("a thread can be started");
    world.run(u64::MAX);
    assert_eq!(noted(&log), ["waits", "opened", "woken"]);
    let info = world.threads().into_iter().find(|info| info.id == waiter);
    let wake = info.and_then(|info| info.last_wake).expect("it was woken");
    assert_eq!(wake.by, Some(opener));
}

#[test]
fn time_passes_only_when_nobody_is_ready() {
    let mut world = world();
    let real = Instant::now();
    let seen = Arc::new(Mutex::new(Vec::new()));
    for hours in [2_u64, 1] {
        let seen = seen.clone();
        world
            .spawn("sleeper", move || {
                let begun = Instant::now();
                thread::sleep(Duration::from_secs(hours * 3600));
                seen.lock()
                    .unwrap()
                    .push((hours, begun.elapsed().as_secs()));
            })
            .expect("a thread can be started");
    }
    run_to_the_end(&mut world);
    assert_eq!(*seen.lock().unwrap(), [(1, 3600), (2, 7200)]);
    assert!(
        real.elapsed() < Duration::from_secs(60),
        "hours must not pass"
    );
}

#[test]
fn timed_waits_end_when_their_time_has_come() {
    let mut world = world();
    let log = Log::default();
    let out = log.clone();
    world
        .spawn("waiter", move || {
            let (sender, receiver) = mpsc::channel::<u8>();
            let begun = Instant::now();
            let result = receiver.recv_timeout(Duration::from_millis(2500));
            note(
                &out,
                format!("{result:?} after {}", begun.elapsed().as_millis()),
            );
            let monitor = (Mutex::new(()), Condvar::new());
            let guard = monitor.0.lock().unwrap();
            let (_guard, outcome) = monitor
                .1
                .wait_timeout(guard, Duration::from_secs(1))
                .unwrap();
            note(&out, format!("{}", outcome.timed_out()));
            thread::park_timeout(Duration::from_secs(1));
            note(&out, format!("{}", begun.elapsed().as_millis()));
            drop(sender);
        })
        .expect("a thread can be started");
    run_to_the_end(&mut world);
    assert_eq!(noted(&log), ["Err(Timeout) after 2500", "true", "4500"]);
}

#[test]
fn threads_that_managed_threads_start_are_managed_too() {
    let mut world = world();
    let log = Log::default();
    let out = log.clone();
    world
        .spawn("parent", move || {
            let child = {
                let out = out.clone();
                thread::spawn(move || {
                    thread::sleep(Duration::from_secs(100));
                    note(&out, "child");
                    7
                })
            };
            note(&out, "parent waits");
            let result = child.join().unwrap();
            note(&out, format!("joined {result}"));
            let total = AtomicUsize::new(0);
            thread::scope(|scope| {
                for n in 1..=4 {
                    let total = &total;
                    scope.spawn(move || {
                        thread::sleep(Duration::from_secs(n as u64));
                        total.fetch_add(n, Ordering::SeqCst);
                    });
                }
            });
            note(&out, format!("total {}", total.load(Ordering::SeqCst)));
        })
        .expect("a thread can be started");
    run_to_the_end(&mut world);
    assert_eq!(
        noted(&log),
        ["parent waits", "child", "joined 7", "total 10"]
    );
    assert!(world.threads().iter().all(|info| info.is_finished));
}

#[test]
fn barriers_and_locks_work() {
    let mut world = world();
    let barrier = Arc::new(Barrier::new(4));
    let table = Arc::new(RwLock::new(0));
    for n in 0..4 {
        let (barrier, table) = (barrier.clone(), table.clone());
        world
            .spawn("member", move || {
                for _ in 0..50 {
                    barrier.wait();
                    if n % 2 == 0 {
                        *table.write().unwrap() += 1;
                    } else {
                        assert!(*table.read().unwrap() <= 100);
                    }
                    thread::yield_now();
                }
            })
            .expect("a thread can be started");
    }
    run_to_the_end(&mut world);
    assert!(world.threads().iter().all(|info| info.is_finished));
    assert_eq!(*table.read().unwrap(), 100);
}

#[test]
fn a_deadlock_is_known_at_once() {
    let mut world = world();
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    for turned in [false, true] {
        let locks = locks.clone();
        world
            .spawn("philosopher", move || {
                let (first, second) = if turned {
                    (&locks.1, &locks.0)
                } else {
                    (&locks.0, &locks.1)
                };
                let _first = first.lock();
                thread::yield_now();
                let _second = second.lock();
            })
            .expect("a thread can be started");
    }
    run_to_the_end(&mut world);
    let blocked = world
        .threads()
        .iter()
        .filter(|info| info.blocked.is_some())
        .count();
    assert_eq!(blocked, 2);
}

#[test]
fn loops_on_the_clock_and_on_yields_come_to_an_end() {
    let mut world = world();
    let flag = Arc::new(AtomicBool::new(false));
    let seen = flag.clone();
    world
        .spawn("clock", move || {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(5) {}
            flag.store(true, Ordering::SeqCst);
        })
        .expect("a thread can be started");
    world
        .spawn("yields", move || {
            while !seen.load(Ordering::SeqCst) {
                thread::yield_now();
            }
        })
        .expect("a thread can be started");
    run_to_the_end(&mut world);
    assert!(world.threads().iter().all(|info| info.is_finished));
    assert!(world.inexact().is_empty());
}

#[test]
fn thread_locals_are_dropped_before_a_thread_has_ended() {
    struct Last(Log);
    impl Drop for Last {
        fn drop(&mut self) {
            thread::yield_now();
            note(&self.0, "dropped");
        }
    }
    thread_local! {
        static LAST: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) };
    }
    let mut world = world();
    let log = Log::default();
    let out = log.clone();
    world
        .spawn("owner", move || {
            LAST.set(Some(Last(out.clone())));
            note(&out, "set");
        })
        .expect("a thread can be started");
    world.run(u64::MAX);
    assert_eq!(noted(&log), ["set", "dropped"]);
    assert!(world.threads().iter().all(|info| info.is_finished));
}

#[test]
fn a_thread_outside_can_wake_managed_ones() {
    let mut world = world();
    let (sender, receiver) = mpsc::channel::<u8>();
    let done = Arc::new(AtomicBool::new(false));
    let seen = done.clone();
    world
        .spawn("receiver", move || {
            seen.store(receiver.recv() == Ok(3), Ordering::SeqCst);
        })
        .expect("a thread can be started");
    world.run(u64::MAX);
    assert!(!done.load(Ordering::SeqCst));
    sender.send(3).expect("the receiver is there");
    world.run(u64::MAX);
    assert!(done.load(Ordering::SeqCst));
}

#[test]
fn abandoned_threads_do_not_wake_in_a_later_world() {
    let (sender, receiver) = mpsc::channel::<u8>();
    let woken = Arc::new(AtomicBool::new(false));
    let seen = woken.clone();
    {
        let mut world = world();
        world
            .spawn("lost", move || {
                let _ = receiver.recv();
                seen.store(true, Ordering::SeqCst);
            })
            .expect("a thread can be started");
        world.run(u64::MAX);
    }
    let mut world = world();
    world
        .spawn("sender", move || {
            let _ = sender.send(1);
        })
        .expect("a thread can be started");
    run_to_the_end(&mut world);
    assert!(!woken.load(Ordering::SeqCst));
}
