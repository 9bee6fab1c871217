//! `cargo conan test`: which thread is said to hold a lock.

use conan_integration::{Run, crate_with, json, result, results};
use serde_json::{Value, json as value};

const LOCKS: &str = r#"#![cfg(test)]

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

type Lock = Arc<Mutex<u32>>;

fn named(name: &str, job: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::Builder::new().name(name.into()).spawn(job).unwrap()
}

/// Locks, and waits in a channel for ever.
fn holder(lock: &Lock) -> JoinHandle<()> {
    let lock = Arc::clone(lock);
    named("holder", move || {
        let (_sender, receiver) = mpsc::channel::<u32>();
        let mut held = lock.lock().unwrap();
        *held += receiver.recv().unwrap();
    })
}

fn waiter(lock: &Lock) -> JoinHandle<()> {
    let lock = Arc::clone(lock);
    named("waiter", move || *lock.lock().unwrap() += 1)
}

fn first(threads: [JoinHandle<()>; 2]) {
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_thread_that_joins_has_borrowed_it() {
    let lock = Arc::new(Mutex::new(1));
    let borrowed: &Mutex<u32> = &*lock;
    let also = &borrowed;
    let holder = holder(&lock);
    waiter(&lock).join().unwrap();
    holder.join().unwrap();
    assert!(also.is_poisoned() || borrowed.is_poisoned());
}

#[test]
fn a_thread_that_joins_has_given_it_back() {
    let lock = Arc::new(Mutex::new(1));
    let before = lock.lock().unwrap();
    drop(before);
    first([holder(&lock), waiter(&lock)]);
}

#[test]
fn the_waiter_has_locked_it_before_in_a_loop() {
    let lock = Arc::new(Mutex::new(1));
    let other = Arc::clone(&lock);
    let turn = Arc::new((Mutex::new(0), Condvar::new()));
    let turns = Arc::clone(&turn);
    let waiter = named("waiter", move || {
        for round in 0..3 {
            let mut held = other.lock().unwrap();
            *held += 1;
            drop(held);
            if round == 1 {
                *turns.0.lock().unwrap() += 1;
                turns.1.notify_one();
                thread::sleep(Duration::from_secs(1));
            }
        }
    });
    let mut told = turn.0.lock().unwrap();
    while *told == 0 {
        told = turn.1.wait(told).unwrap();
    }
    first([holder(&lock), waiter]);
}

#[test]
fn a_mutex_is_locked_twice() {
    let lock = Mutex::new(1);
    named("twice", move || {
        let once = lock.lock().unwrap();
        let twice = lock.lock().unwrap();
        assert_eq!(*once, *twice);
    })
    .join()
    .unwrap();
}

struct Account {
    balance: Mutex<u32>,
}

impl Account {
    fn balance(&self) -> u32 {
        *self.balance.lock().unwrap()
    }

    fn double(&self) {
        let mut balance = self.balance.lock().unwrap();
        *balance += self.balance();
    }
}

#[test]
fn a_method_calls_one_that_locks_it_again() {
    let account = Account { balance: Mutex::new(1) };
    named("twice", move || account.double()).join().unwrap();
}

#[test]
fn a_reader_reads_again_behind_a_writer() {
    let lock = Arc::new(RwLock::new(1));
    let other = lock.clone();
    let reader = named("reader", move || {
        let once = lock.read().unwrap();
        thread::sleep(Duration::from_millis(20));
        let twice = lock.read().unwrap();
        assert_eq!(*once, *twice);
    });
    let writer = named("writer", move || {
        thread::sleep(Duration::from_millis(10));
        *other.write().unwrap() += 1;
    });
    first([reader, writer]);
}

struct Held<'l> {
    number: u64,
    guard: MutexGuard<'l, u32>,
    receiver: &'l Receiver<u32>,
}

impl Held<'_> {
    fn wait(&mut self) {
        *self.guard += self.receiver.recv().unwrap() + self.number as u32;
    }
}

#[test]
fn a_guard_is_in_a_struct() {
    let lock = Arc::new(Mutex::new(1));
    let other = Arc::clone(&lock);
    let holder = named("holder", move || {
        let (_sender, receiver) = mpsc::channel::<u32>();
        let guard = other.lock().unwrap();
        Held { number: 7, guard, receiver: &receiver }.wait();
    });
    first([holder, waiter(&lock)]);
}

#[inline(never)]
fn boxed(lock: &Mutex<u32>) -> Box<MutexGuard<'_, u32>> {
    Box::new(lock.lock().unwrap())
}

#[inline(never)]
fn deep(levels: u32) -> u64 {
    let used = std::hint::black_box([u64::from(levels) + 7; 64]);
    used[3] + if levels > 0 { deep(levels - 1) } else { 0 }
}

#[test]
fn a_guard_is_on_the_heap() {
    let lock = Arc::new(Mutex::new(1));
    let borrowed: &Mutex<u32> = &*lock;
    let also = &borrowed;
    let other = Arc::clone(&lock);
    let holder = named("holder", move || {
        let (_sender, receiver) = mpsc::channel::<u32>();
        let mut guard = boxed(&other);
        assert!(deep(20) > 0);
        **guard += receiver.recv().unwrap();
    });
    first([holder, waiter(&lock)]);
    assert!(also.is_poisoned() || borrowed.is_poisoned());
}

#[test]
fn the_thread_in_the_condition_variable_has_released_it() {
    let shared = Arc::new((Mutex::new(1), Condvar::new()));
    let lock = Arc::new(Mutex::new(0));
    let (other, forgets) = (shared.clone(), shared.clone());
    let sleeper = named("sleeper", move || {
        let outer = lock.lock().unwrap();
        let held = other.0.lock().unwrap();
        drop(other.1.wait(held).unwrap());
        drop(outer);
    });
    let forgets = named("forgets", move || {
        thread::sleep(Duration::from_millis(10));
        std::mem::forget(forgets.0.lock().unwrap());
    });
    forgets.join().unwrap();
    let waiter = named("waiter", move || *shared.0.lock().unwrap() += 1);
    first([sleeper, waiter]);
}

#[test]
fn the_thread_in_the_condition_variable_holds_another_lock() {
    let lock = Arc::new(Mutex::new(1));
    let other = Arc::clone(&lock);
    let holder = named("holder", move || {
        let outer = other.lock().unwrap();
        let inner = (Mutex::new(1), Condvar::new());
        let held = inner.0.lock().unwrap();
        drop(inner.1.wait(held).unwrap());
        drop(outer);
    });
    first([holder, waiter(&lock)]);
}

#[test]
fn two_threads_without_names_wait_for_each_other() {
    let (one, two) = (Arc::new(Mutex::new(1)), Arc::new(Mutex::new(2)));
    let (other_one, other_two) = (one.clone(), two.clone());
    let there = thread::spawn(move || {
        let held = one.lock().unwrap();
        thread::sleep(Duration::from_millis(10));
        *two.lock().unwrap() += *held;
    });
    let back = thread::spawn(move || {
        let held = other_two.lock().unwrap();
        thread::sleep(Duration::from_millis(10));
        *other_one.lock().unwrap() += *held;
    });
    first([there, back]);
}
"#;

fn held_by<'t>(tests: &'t [Value], test: &str, name: &str) -> &'t Value {
    let test = result(tests, test);
    assert_eq!(test["verdict"], "hung", "{test:#}");
    let threads = test["suspended"].as_array().expect("threads are listed");
    let found = threads.iter().find(|thread| thread["thread"] == name);
    &found.unwrap_or_else(|| panic!("{name} is not there: {test:#}"))["held_by"]
}

#[test]
fn the_thread_that_holds_a_lock_is_named_and_no_other_one() {
    let scratch = crate_with("lock_holders", "", LOCKS);
    let ran = json(&scratch, &[]);
    let (tests, _) = results(&ran);
    for (test, waiter, expected) in [
        (
            "a_thread_that_joins_has_borrowed_it",
            "waiter",
            value!(["holder"]),
        ),
        (
            "the_waiter_has_locked_it_before_in_a_loop",
            "waiter",
            value!(["holder"]),
        ),
        ("a_mutex_is_locked_twice", "twice", value!(["twice"])),
        (
            "a_method_calls_one_that_locks_it_again",
            "twice",
            value!(["twice"]),
        ),
        (
            "a_reader_reads_again_behind_a_writer",
            "reader",
            value!(["reader"]),
        ),
        (
            "a_reader_reads_again_behind_a_writer",
            "writer",
            value!(["reader"]),
        ),
        ("a_guard_is_in_a_struct", "waiter", value!(["holder"])),
        ("a_guard_is_on_the_heap", "waiter", value!([])),
        (
            "the_thread_in_the_condition_variable_has_released_it",
            "waiter",
            value!([]),
        ),
        (
            "the_thread_in_the_condition_variable_holds_another_lock",
            "waiter",
            value!(["holder"]),
        ),
    ] {
        let found = held_by(&tests, test, waiter);
        assert_eq!(*found, expected, "{test}, {waiter}: {ran}");
    }
    // A guard that was dropped leaves its bytes behind.
    let test = "a_thread_that_joins_has_given_it_back";
    let found = held_by(&tests, test, "waiter");
    assert_eq!(*found, value!([test[..15], "holder"]), "{ran}");

    // For people.
    let say = |test: &str| {
        let ran = scratch.conan().args(["test", "--lib", test]).ran();
        ran.exits_with(101);
        ran
    };
    say(test)
        .says("Mutex::lock, probably held by thread `a_thread_that_j` or by thread `holder`\n");
    say("a_mutex_is_locked_twice").says("std::sync::Mutex::lock, probably held by itself\n");
    say("two_threads_without_names")
        .says("std::thread::JoinHandle::join, for the end of unnamed thread 2\n")
        .says("std::sync::Mutex::lock, probably held by unnamed thread 3\n")
        .says(
            "they wait for each other: unnamed thread 2 waits for unnamed thread 3, \
             which waits for unnamed thread 2\n",
        );
}
