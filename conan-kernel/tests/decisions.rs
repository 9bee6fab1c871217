//! Who runs next and whom a wake wakes is decided in one place.

use std::sync::{Arc, Condvar, Mutex};

use conan_kernel::{Decision, Fifo, Kind, Point, Recorded, Strategy, World};

/// The last one of everything.
struct Lifo;

impl Strategy for Lifo {
    fn decide(&mut self, point: &Point<'_>) -> usize {
        point.options.len() - 1
    }
}

/// Runs in order, wakes the last.
struct FifoThenLifo;
impl Strategy for FifoThenLifo {
    fn decide(&mut self, point: &Point<'_>) -> usize {
        match point.kind {
            Kind::Wake => point.options.len() - 1,
            _ => 0,
        }
    }
}

/// Three threads wait for a turn, one at a time is let in; the order in which
/// they come.
fn order(strategy: impl Strategy + 'static) -> Vec<usize> {
    let mut world = World::open(strategy).expect("interposition works here");
    let order = Arc::new(Mutex::new(Vec::new()));
    let turns = Arc::new((Mutex::new(0), Condvar::new()));
    for number in 0..3 {
        let (order, turns) = (order.clone(), turns.clone());
        let waiter = move || {
            let (count, came) = &*turns;
            let mut count = came
                .wait_while(count.lock().unwrap(), |count| *count == 0)
                .unwrap();
            *count -= 1;
            order.lock().unwrap().push(number);
        };
        world
            .spawn("waiter", waiter)
            .expect("a thread can be started");
    }
    world.run(u64::MAX);
    for _ in 0..3 {
        let turns = turns.clone();
        let opener = move || {
            *turns.0.lock().unwrap() += 1;
            turns.1.notify_one();
        };
        world
            .spawn("opener", opener)
            .expect("a thread can be started");
        world.run(u64::MAX);
    }
    drop(world);
    Arc::into_inner(order)
        .expect("all threads have ended")
        .into_inner()
        .unwrap()
}

#[test]
fn the_default_is_first_come_first_served() {
    assert_eq!(order(Fifo), [0, 1, 2]);
}

#[test]
fn another_strategy_gives_another_order() {
    // The last to run is the first to wait, and the last to wait is woken.
    assert_eq!(order(Lifo), [0, 1, 2]);
    assert_eq!(order(FifoThenLifo), [2, 1, 0]);
}

#[test]
fn every_decision_can_be_recorded_and_is_the_same_again() {
    let run = || {
        let (strategy, decisions) = Recorded::new(Fifo);
        order(strategy);
        let decisions = decisions.lock().unwrap();
        decisions.clone()
    };
    let first = run();
    let is_wake_of_three = |decision: &Decision| {
        let threads = decision.options.iter().map(|option| option.thread);
        decision.kind == Kind::Wake && threads.eq([0, 1, 2])
    };
    assert!(first.iter().any(is_wake_of_three), "{first:?}");
    assert!(first.iter().all(|decision| decision.options.len() > 1));
    assert_eq!(first, run());
}
