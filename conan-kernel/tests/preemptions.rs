//! Worlds whose strategy decides also where a thread could go on.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use common::{Log, Random, all_finished, run_to_the_end, spawn, world, world_with};
use conan_kernel::{
    Access, Decision, Kind, Place, Point, Recorded, Step, Stopped, Strategy, access, point,
};

/// Decides by a function.
struct By<F>(F);

impl<F: FnMut(&Point<'_>) -> usize + Send> Strategy for By<F> {
    fn decide(&mut self, point: &Point<'_>) -> usize {
        self.0(point)
    }

    fn preempts(&self) -> bool {
        true
    }
}

fn first(_: &Point<'_>) -> usize {
    0
}

fn last(point: &Point<'_>) -> usize {
    point.options.len() - 1
}

/// Goes on with the same thread as long as it is among the options.
fn stubborn(point: &Point<'_>) -> usize {
    let options = &mut point.options.iter();
    options
        .position(|option| Some(option.thread) == point.previous)
        .unwrap_or(0)
}

fn random(seed: u64) -> impl FnMut(&Point<'_>) -> usize + Send {
    let mut random = Random::new(seed);
    move |point| random.below(point.options.len() as u64) as usize
}

/// Two threads with two points each; the order of their steps.
fn steps(strategy: impl Strategy + 'static) -> String {
    let mut world = world_with(strategy);
    let log = Log::default();
    for name in ["a", "b"] {
        let log = log.clone();
        spawn(&mut world, name, move || {
            for _ in 0..2 {
                log.note(name);
                point();
            }
            log.note(name);
        });
    }
    assert_eq!(world.run(u64::MAX), Stopped::Quiescent);
    assert!(all_finished(&world));
    log.noted().concat()
}

#[test]
fn a_point_is_nothing_unless_the_strategy_preempts() {
    assert_eq!(steps(conan_kernel::Fifo), "aaabbb");
    assert_eq!(steps(By(first)), "aaabbb");
    point();
}

#[test]
fn at_a_point_another_thread_can_go_on() {
    assert_eq!(steps(By(last)), "bababa");
    let mut decisions = [0, 1, 0, 1].into_iter();
    let some = move |_: &Point<'_>| decisions.next().unwrap_or(0);
    assert_eq!(steps(By(some)), "abbaab");
}

#[test]
fn a_thread_that_could_go_on_is_the_first_option() {
    let (strategy, decisions) = Recorded::new(By(last));
    steps(strategy);
    let decisions = decisions.lock().unwrap();
    let preemptions = decisions.iter().map(|decision| {
        let steps = decision.options.iter().map(|option| option.step);
        steps.collect::<Vec<_>>()
    });
    let preemptions: Vec<_> = preemptions.collect();
    let expected = [
        vec![Step::Begin, Step::Begin],
        vec![Step::Point, Step::Begin],
        vec![Step::Point, Step::Point],
        vec![Step::Point, Step::Point],
        vec![Step::Point, Step::Point],
    ];
    assert_eq!(preemptions, expected);
    assert_eq!(decisions[2].options[0].thread, 0);
    assert_eq!(decisions[2].options[0].position, 1);
}

/// Runs a program with a strategy that preempts, and returns its decisions.
fn decisions(
    decide: impl FnMut(&Point<'_>) -> usize + Send + 'static,
    program: impl FnOnce() + Send + 'static,
) -> Vec<Decision> {
    let (strategy, decisions) = Recorded::new(By(decide));
    let mut world = world_with(strategy);
    spawn(&mut world, "main", program);
    run_to_the_end(&mut world);
    assert!(all_finished(&world));
    assert_eq!(world.inexact(), []);
    let decisions = decisions.lock().unwrap();
    decisions.clone()
}

fn has(decisions: &[Decision], step: fn(Step) -> bool) -> bool {
    let mut options = decisions.iter().flat_map(|decision| &decision.options);
    options.any(|option| step(option.step))
}

#[test]
fn creating_joining_waking_and_waiting_are_points() {
    let decisions = decisions(stubborn, || {
        let (sender, receiver) = mpsc::channel::<u8>();
        let child = thread::spawn(move || receiver.recv());
        let other = thread::spawn(thread::yield_now);
        sender.send(1).unwrap();
        child.join().unwrap().unwrap();
        other.join().unwrap();
    });
    assert!(has(&decisions, |step| step == Step::Begin));
    assert!(has(&decisions, |step| step == Step::Continue));
    assert!(has(&decisions, |step| step == Step::Join(1)));
    let lock = Arc::new(Mutex::new(()));
    let gives_way = |point: &Point<'_>| usize::from(point.options[0].step == Step::Continue);
    let decisions = self::decisions(gives_way, move || {
        let guard = lock.lock().unwrap();
        let other = lock.clone();
        let child = thread::spawn(move || drop(other.lock()));
        drop(guard);
        child.join().unwrap();
    });
    assert!(has(&decisions, |step| matches!(step, Step::Wait(_))));
    assert!(has(&decisions, |step| matches!(step, Step::Wake(_))));
    assert!(has(&decisions, |step| matches!(step, Step::Woken(_))));
}

#[test]
fn one_option_is_no_decision() {
    let decisions = decisions(first, || {
        point();
        access(4, Access::Load);
        thread::yield_now();
        thread::sleep(Duration::from_secs(1));
    });
    assert_eq!(decisions, []);
}

#[test]
fn who_wakes_all_need_not_choose() {
    let notify = |all: bool| {
        decisions(first, move || {
            let pair = Arc::new((Mutex::new(0), Condvar::new()));
            let waiters: Vec<_> = (0..3)
                .map(|_| {
                    let pair = pair.clone();
                    thread::spawn(move || {
                        let ready = pair.0.lock().unwrap();
                        let mut ready = pair.1.wait_while(ready, |ready| *ready == 0).unwrap();
                        *ready -= 1;
                    })
                })
                .collect();
            thread::sleep(Duration::from_secs(1));
            if all {
                *pair.0.lock().unwrap() = 3;
                pair.1.notify_all();
            } else {
                for _ in 0..3 {
                    *pair.0.lock().unwrap() += 1;
                    pair.1.notify_one();
                }
            }
            for waiter in waiters {
                waiter.join().unwrap();
            }
        })
    };
    let wakes = |decisions: Vec<Decision>| {
        let wakes = decisions.iter().filter(|it| it.kind == Kind::Wake);
        wakes.map(|it| it.options.len()).collect::<Vec<_>>()
    };
    assert_eq!(wakes(notify(true)), []);
    assert_eq!(wakes(notify(false)), [3, 2]);
}

#[test]
fn memory_is_numbered_as_it_is_used() {
    let words = [0_u64; 3];
    let addresses = words
        .each_ref()
        .map(|word| std::ptr::from_ref(word) as usize);
    let decisions = decisions(stubborn, move || {
        let child = thread::spawn(move || access(addresses[0], Access::Load));
        access(addresses[2], Access::Store);
        access(addresses[0], Access::Store);
        access(addresses[2], Access::Load);
        child.join().unwrap();
    });
    let steps: Vec<_> = decisions
        .iter()
        .map(|decision| decision.options[0].step)
        .filter(|step| matches!(step, Step::Load(_) | Step::Store(_)))
        .collect();
    let expected = [
        Step::Store(Place(0)),
        Step::Store(Place(1)),
        Step::Load(Place(0)),
    ];
    assert_eq!(steps, expected);
}

/// One thread sleeps until another one's wait is due, and wakes it then.
/// True if the wait timed out.
fn wait_is_due_at_the_time_of_the_wake(
    decide: impl FnMut(&Point<'_>) -> usize + Send + 'static,
) -> bool {
    let mut world = world_with(By(decide));
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let timed_out = Arc::new(AtomicBool::new(false));
    let (out, waits) = (timed_out.clone(), pair.clone());
    spawn(&mut world, "waits", move || {
        let open = waits.0.lock().unwrap();
        let second = Duration::from_secs(1);
        let (_open, outcome) = waits.1.wait_timeout(open, second).unwrap();
        out.store(outcome.timed_out(), Ordering::SeqCst);
    });
    spawn(&mut world, "wakes", move || {
        thread::sleep(Duration::from_secs(1));
        point();
        pair.1.notify_one();
    });
    world.run(u64::MAX);
    // Both are due, however many readings of the clock lie between.
    let second = world.now() + 2_000_000_000;
    world.advance_to(second);
    while world.fire_one() {
        world.run(u64::MAX);
    }
    assert!(all_finished(&world));
    timed_out.load(Ordering::SeqCst)
}

#[test]
fn what_is_due_at_the_same_time_ends_in_the_order_that_the_strategy_says() {
    let due = |wanted: usize| {
        move |point: &Point<'_>| match point.kind {
            Kind::Due => wanted,
            _ => 0,
        }
    };
    assert!(wait_is_due_at_the_time_of_the_wake(due(0)));
    assert!(!wait_is_due_at_the_time_of_the_wake(due(1)));
}

#[test]
fn a_wait_that_is_due_can_end_between_two_steps_of_another_thread() {
    let between = |point: &Point<'_>| match point.kind {
        Kind::Due => 1,
        _ if point.options[0].step == Step::Point => 1,
        _ => 0,
    };
    assert!(wait_is_due_at_the_time_of_the_wake(between));
}

/// Wakes threads for no reason, so many times.
struct Spurious(usize);

impl Strategy for Spurious {
    fn decide(&mut self, point: &Point<'_>) -> usize {
        if point.kind != Kind::Spurious {
            return 0;
        }
        self.0 -= 1;
        1
    }

    fn is_spurious(&self) -> bool {
        self.0 > 0
    }
}

#[test]
fn threads_wake_for_no_reason_if_the_strategy_wants_that() {
    for times in 0..3 {
        let mut world = world_with(Spurious(times));
        let wakes = Arc::new(AtomicUsize::new(0));
        let out = wakes.clone();
        spawn(&mut world, "waits", move || {
            let pair = (Mutex::new(()), Condvar::new());
            let mut guard = pair.0.lock().unwrap();
            loop {
                guard = pair.1.wait(guard).unwrap();
                out.fetch_add(1, Ordering::SeqCst);
            }
        });
        run_to_the_end(&mut world);
        assert_eq!(wakes.load(Ordering::SeqCst), times);
    }
}

#[test]
fn a_wake_that_came_too_early_is_known() {
    let missed = |early: bool| {
        let mut world = world_with(By(first));
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let wakes = pair.clone();
        let waker = early.then(|| spawn(&mut world, "wakes", move || wakes.1.notify_one()));
        let waiter = spawn(&mut world, "waits", move || {
            drop(pair.1.wait(pair.0.lock().unwrap()));
        });
        run_to_the_end(&mut world);
        let threads = world.threads();
        let info = threads.iter().find(|info| info.id == waiter);
        let missed = info.and_then(|info| info.missed);
        assert_eq!(missed.and_then(|wake| wake.by), waker);
        missed.is_some()
    };
    assert!(missed(true));
    assert!(!missed(false));
}

#[test]
fn a_world_can_be_limited_to_a_number_of_steps() {
    let mut world = world_with(By(first));
    let count = Arc::new(AtomicUsize::new(0));
    let out = count.clone();
    spawn(&mut world, "endless", move || {
        loop {
            out.fetch_add(1, Ordering::SeqCst);
            point();
        }
    });
    world.limit_steps(100);
    assert_eq!(world.run(u64::MAX), Stopped::OutOfSteps);
    assert_eq!(world.steps(), 100);
    assert_eq!(count.load(Ordering::SeqCst), 100);
    assert_eq!(world.run(u64::MAX), Stopped::OutOfSteps);
    world.limit_steps(150);
    assert_eq!(world.run(u64::MAX), Stopped::OutOfSteps);
    assert_eq!(count.load(Ordering::SeqCst), 150);
    assert_eq!(world.inexact(), []);
}

#[test]
fn the_first_world_after_one_with_preemptions_has_none() {
    assert_eq!(steps(By(last)), "bababa");
    assert_eq!(steps(conan_kernel::Fifo), "aaabbb");
    let world = world();
    assert_eq!(world.steps(), 0);
}

/// Threads that yield until another one has made a number of steps, or until
/// an hour has passed.
fn spin(strategy: impl Strategy + 'static, has_points: bool) {
    let mut world = world_with(strategy);
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..3 {
        let done = done.clone();
        spawn(&mut world, "spins", move || {
            while done.load(Ordering::SeqCst) < 12 {
                thread::yield_now();
                if has_points {
                    point();
                }
            }
        });
    }
    spawn(&mut world, "works", move || {
        for step in 0..12 {
            if step == 6 {
                thread::sleep(Duration::from_secs(3600));
            }
            point();
            done.fetch_add(1, Ordering::SeqCst);
        }
    });
    world.limit_steps(100_000);
    loop {
        assert_ne!(world.run(u64::MAX), Stopped::OutOfSteps);
        let Some(deadline) = world.next_deadline() else {
            break;
        };
        world.advance_to(deadline);
        world.fire_one();
    }
    assert!(all_finished(&world));
    assert_eq!(world.inexact(), []);
}

#[test]
fn no_strategy_can_keep_threads_that_yield_from_letting_others_go_on() {
    for has_points in [false, true] {
        spin(By(first), has_points);
        spin(By(last), has_points);
        spin(By(stubborn), has_points);
        for seed in 1..30 {
            spin(By(random(seed)), has_points);
        }
    }
}

#[test]
fn a_thread_that_spins_without_a_yield_lets_others_go_on_in_the_end() {
    for decide in [first, last, stubborn] {
        let mut world = world_with(By(decide));
        let done = Arc::new(AtomicBool::new(false));
        for _ in 0..2 {
            let done = done.clone();
            spawn(&mut world, "spins", move || {
                while !done.load(Ordering::SeqCst) {
                    point();
                }
            });
        }
        spawn(&mut world, "works", move || {
            for _ in 0..5 {
                point();
            }
            done.store(true, Ordering::SeqCst);
        });
        world.limit_steps(50_000);
        assert_eq!(world.run(u64::MAX), Stopped::Quiescent);
        assert!(all_finished(&world));
    }
}

#[test]
fn threads_that_only_yield_do_not_keep_a_run_from_its_end() {
    for has_points in [false, true] {
        let mut world = world_with(By(random(7)));
        for _ in 0..2 {
            spawn(&mut world, "spins", move || {
                loop {
                    thread::yield_now();
                    if has_points {
                        point();
                    }
                }
            });
        }
        let horizon = world.now() + 1_000_000_000;
        assert_eq!(world.run(horizon), Stopped::Yielding);
        assert_eq!(world.now(), horizon);
        assert_eq!(world.run(horizon + 1_000_000_000), Stopped::Yielding);
    }
}

#[test]
fn a_thread_that_yields_may_go_on_at_once() {
    let mut world = world_with(By(stubborn));
    let log = Log::default();
    for name in ["a", "b"] {
        let log = log.clone();
        spawn(&mut world, name, move || {
            log.note(name);
            thread::yield_now();
            log.note(name);
        });
    }
    run_to_the_end(&mut world);
    assert_eq!(log.noted().concat(), "aabb");
}

#[test]
fn an_index_that_is_too_large_counts_as_the_last() {
    assert_eq!(steps(By(|_: &Point<'_>| usize::MAX)), "bababa");
}
