//! Threads outside worlds, worlds beside worlds, and what worlds leave behind.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock, mpsc};
use std::time::{Duration, Instant};
use std::{env, hint, process, thread};

use common::{Log, all_finished, run_to_the_end, spawn, world, world_with};
use conan_kernel::{Fifo, Point, Strategy, current_thread};

/// Counts how often there is something to decide. It must not block: atomics
/// only.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicUsize>);

impl Strategy for Counting {
    fn decide(&mut self, point: &Point<'_>) -> usize {
        self.0.fetch_add(1, Ordering::Relaxed);
        Fifo.decide(point)
    }
}

/// A few threads that use what std has, with each other, in real time.
fn ordinary_threads(rounds: usize) {
    let total = Arc::new(Mutex::new(0));
    let (sender, receiver) = mpsc::sync_channel(2);
    let barrier = Arc::new(Barrier::new(3));
    let turn = Arc::new((Mutex::new(0), Condvar::new()));
    let table = Arc::new(RwLock::new(0));
    let members: Vec<_> = (0..3)
        .map(|member| {
            let (total, sender) = (total.clone(), sender.clone());
            let (barrier, turn, table) = (barrier.clone(), turn.clone(), table.clone());
            thread::spawn(move || {
                for round in 0..rounds {
                    *total.lock().unwrap() += 1;
                    sender.send(member).unwrap();
                    let mine = |now: &mut usize| *now != 3 * round + member;
                    let now = turn.0.lock().unwrap();
                    let (mut now, outcome) = turn
                        .1
                        .wait_timeout_while(now, Duration::from_secs(60), mine)
                        .unwrap();
                    assert!(!outcome.timed_out());
                    *now += 1;
                    turn.1.notify_all();
                    drop(now);
                    *table.write().unwrap() += 1;
                    barrier.wait();
                    assert_eq!(*table.read().unwrap(), 3 * (round + 1));
                    barrier.wait();
                }
            })
        })
        .collect();
    drop(sender);
    let messages = receiver.iter().count();
    for member in members {
        member.join().unwrap();
    }
    assert_eq!(messages, 3 * rounds);
    assert_eq!(*total.lock().unwrap(), 3 * rounds);
}

/// Time-outs that must really pass.
fn ordinary_time_outs() {
    let begun = Instant::now();
    let (_sender, receiver) = mpsc::channel::<()>();
    let length = Duration::from_millis(5);
    assert!(receiver.recv_timeout(length).is_err());
    thread::park_timeout(length);
    thread::sleep(length);
    assert!(begun.elapsed() >= 2 * length);
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "an hour of a world came out"
    );
    assert_eq!(current_thread(), None);
}

/// Four managed threads that need each other, and an hour of virtual time.
fn busy_world(rounds: usize) -> usize {
    let count = Counting::default();
    let mut world = world_with(count.clone());
    let (sender, receiver) = mpsc::sync_channel(0);
    let sum = Arc::new(AtomicUsize::new(0));
    for _ in 0..3 {
        let sender = sender.clone();
        spawn(&mut world, "sender", move || {
            for n in 0..rounds {
                sender.send(n).unwrap();
                thread::sleep(Duration::from_secs(60));
            }
        });
    }
    drop(sender);
    let out = sum.clone();
    spawn(&mut world, "receiver", move || {
        for n in receiver {
            out.fetch_add(n, Ordering::SeqCst);
        }
    });
    run_to_the_end(&mut world);
    assert!(all_finished(&world));
    assert_eq!(world.inexact(), []);
    assert_eq!(sum.load(Ordering::SeqCst), 3 * rounds * (rounds - 1) / 2);
    count.0.load(Ordering::Relaxed)
}

#[test]
fn ordinary_threads_go_on_beside_worlds() {
    let stop = Arc::new(AtomicBool::new(false));
    let ordinary: Vec<_> = (0..4)
        .map(|_| {
            let stop = stop.clone();
            thread::spawn(move || {
                let mut times = 0;
                while !stop.load(Ordering::SeqCst) || times < 3 {
                    ordinary_threads(20);
                    ordinary_time_outs();
                    times += 1;
                }
            })
        })
        .collect();
    let expected = busy_world(20);
    for _ in 0..20 {
        assert_eq!(busy_world(20), expected, "every run takes the same turns");
    }
    stop.store(true, Ordering::SeqCst);
    for thread in ordinary {
        thread.join().unwrap();
    }
}

#[test]
fn worlds_in_parallel_threads_take_turns() {
    static OPEN: AtomicU32 = AtomicU32::new(0);
    let run = || {
        let mut counts = Vec::new();
        for _ in 0..10 {
            let mut world = world();
            assert_eq!(OPEN.fetch_add(1, Ordering::SeqCst), 0, "two worlds at once");
            spawn(&mut world, "sleeper", || {
                thread::sleep(Duration::from_secs(1));
            });
            run_to_the_end(&mut world);
            assert!(all_finished(&world));
            assert_eq!(OPEN.fetch_sub(1, Ordering::SeqCst), 1, "two worlds at once");
            drop(world);
            counts.push(busy_world(5));
        }
        counts
    };
    let owners: Vec<_> = (0..6).map(|_| thread::spawn(run)).collect();
    let mut counts: Vec<_> = owners
        .into_iter()
        .flat_map(|owner| owner.join().unwrap())
        .collect();
    counts.dedup();
    assert_eq!(
        counts.len(),
        1,
        "every run takes the same turns: {counts:?}"
    );
}

#[test]
fn a_managed_thread_and_an_ordinary_one_can_talk() {
    let mut world = world();
    let log = Log::default();
    let (question, questions) = mpsc::channel();
    let (answer, answers) = mpsc::channel();
    let outside = thread::spawn(move || {
        for n in questions {
            let _ = answer.send(n * 2);
        }
    });
    let out = log.clone();
    spawn(&mut world, "asks", move || {
        for n in 0..20 {
            question.send(n).unwrap();
            assert_eq!(answers.recv(), Ok(n * 2));
        }
        out.note("done");
    });
    // The world cannot know that an answer will come.
    let begun = Instant::now();
    while !all_finished(&world) {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "an answer was lost"
        );
        world.run(u64::MAX);
        thread::yield_now();
    }
    outside.join().unwrap();
    assert_eq!(log.noted(), ["done"]);
}

/// Leaves three threads behind that will never go on.
fn abandon_three() -> usize {
    let count = Counting::default();
    let mut world = world_with(count.clone());
    let lock = Arc::new(Mutex::new(()));
    let done = Arc::new(AtomicBool::new(false));
    let seen = done.clone();
    spawn(&mut world, "locks itself out", move || {
        let _once = lock.lock();
        let _twice = lock.lock();
    });
    spawn(&mut world, "hears nothing", || {
        let (_sender, receiver) = mpsc::channel::<()>();
        let _ = receiver.recv();
    });
    spawn(&mut world, "waits for one that waits", || {
        let _ = thread::spawn(|| {
            loop {
                thread::park();
            }
        })
        .join();
    });
    spawn(&mut world, "lives", move || {
        thread::sleep(Duration::from_secs(1));
        done.store(true, Ordering::SeqCst);
    });
    run_to_the_end(&mut world);
    assert!(seen.load(Ordering::SeqCst));
    let threads = world.threads();
    let left = threads
        .iter()
        .filter(|info| !info.is_finished && !info.is_component);
    assert_eq!(left.count(), 3);
    assert_eq!(threads.len(), 5, "no thread of another world");
    assert_eq!(world.inexact(), []);
    count.0.load(Ordering::Relaxed)
}

#[test]
fn hundreds_of_worlds_that_abandon_threads_take_the_same_turns_each() {
    let expected = abandon_three();
    for round in 0..200 {
        assert_eq!(abandon_three(), expected, "world {round}");
    }
    assert_eq!(busy_world(10), busy_world(10));
}

/// Not a test of its own: what the next one looks at, in a process of its own.
#[test]
#[ignore = "run by the test of the exit"]
fn abandons_threads_of_every_kind() {
    for _ in 0..5 {
        abandon_three();
    }
    let mut world = world();
    spawn(&mut world, "yields for ever", || {
        loop {
            thread::yield_now();
        }
    });
    spawn(&mut world, "sleeps for a year", || {
        thread::sleep(Duration::from_secs(365 * 24 * 3600));
    });
    let horizon = world.now() + 1;
    world.run(horizon);
}

#[test]
fn a_process_with_abandoned_threads_ends_by_itself() {
    let mut child = process::Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "abandons_threads_of_every_kind"])
        .stdout(process::Stdio::null())
        .spawn()
        .expect("this test can be started again");
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > Duration::from_secs(60) {
            let _ = child.kill();
            panic!("it does not come to its end");
        }
        thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "{status}");
}

#[test]
fn a_lock_of_the_whole_program_that_a_thread_outside_holds_takes_no_virtual_time() {
    static LOCK: Mutex<()> = Mutex::new(());
    for _ in 0..20 {
        let mut world = world();
        let wants = Arc::new(AtomicBool::new(false));
        let (held, is_held) = mpsc::channel();
        let wanted = wants.clone();
        let outside = thread::spawn(move || {
            let guard = LOCK.lock().unwrap();
            held.send(()).unwrap();
            while !wanted.load(Ordering::SeqCst) {
                hint::spin_loop();
            }
            // So that it waits, most times.
            for _ in 0..10_000 {
                hint::spin_loop();
            }
            drop(guard);
        });
        is_held.recv().unwrap();
        let took = Arc::new(Mutex::new(None));
        let result = took.clone();
        spawn(&mut world, "waits", move || {
            let began = Instant::now();
            wants.store(true, Ordering::SeqCst);
            drop(LOCK.lock().unwrap());
            *result.lock().unwrap() = Some(began.elapsed());
        });
        spawn(&mut world, "sleeps", || {
            thread::sleep(Duration::from_secs(1));
        });
        run_to_the_end(&mut world);
        drop(world);
        let took = took.lock().unwrap().expect("it has had the lock");
        assert!(took < Duration::from_millis(1), "{took:?}");
        outside.join().unwrap();
    }
}
