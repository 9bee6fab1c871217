//! `cargo conan test`: tests that hang, and what is said of their threads.

use std::time::Duration;

use conan_integration::{Run, crate_with, json, place, result, results, use_the_runner};
use serde_json::{Value, json as value};

const HANGS: &str = r#"
#[cfg(test)]
mod tests {
    use std::sync::{Arc, Condvar, Mutex, mpsc};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn a_lost_notify() {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        // Nobody waits yet, and nobody looks at a condition.
        pair.1.notify_one();
        let other = Arc::clone(&pair);
        let waiter = move || {
            let held = other.0.lock().unwrap();
            drop(other.1.wait(held).unwrap());
        };
        let waiter = thread::Builder::new().name("waiter".into()).spawn(waiter).unwrap();
        waiter.join().unwrap(); // joins the waiter
    }

    #[test]
    fn two_locks_in_opposite_order() {
        let locks = Arc::new((Mutex::new(1), Mutex::new(2)));
        let others = Arc::clone(&locks);
        let right = move || {
            let second = others.1.lock().unwrap();
            thread::sleep(Duration::from_millis(10));
            *others.0.lock().unwrap() += *second; // right waits
        };
        let right = thread::Builder::new().name("right".into()).spawn(right).unwrap();
        let first = locks.0.lock().unwrap();
        thread::sleep(Duration::from_millis(10));
        *locks.1.lock().unwrap() += *first; // left waits
        drop(first);
        right.join().unwrap();
    }

    #[test]
    fn a_channel_that_nobody_closes() {
        let (sender, receiver) = mpsc::channel();
        sender.send(1).unwrap();
        let sum: i32 = receiver.iter().sum(); // receives for ever
        assert_eq!(sum, 1);
        drop(sender);
    }

    #[test]
    fn a_worker_that_is_never_told_to_end() {
        let (sender, receiver) = mpsc::channel::<u32>();
        thread::scope(|scope| {
            scope.spawn(move || {
                while receiver.recv().is_ok() {} // the worker's loop
            });
            sender.send(1).unwrap();
        });
    }
}
"#;

/// That a test hung, that this took no time, and what each thread was in.
#[track_caller]
fn hangs(tests: &[Value], name: &str, expected: &[(Option<&str>, &str, &str)]) {
    let test = result(tests, name);
    assert_eq!(test["verdict"], "hung", "{test:#}");
    assert_eq!(test["exact"], true, "{test:#}");
    let real = Duration::from_nanos(test["real_ns"].as_u64().expect("it is known"));
    assert!(real < Duration::from_secs(20), "{real:?}");
    let threads = test["suspended"].as_array().expect("threads are listed");
    assert_eq!(threads.len(), expected.len(), "{test:#}");
    for (thread, (name, what, marker)) in threads.iter().zip(expected) {
        if let Some(name) = name {
            assert_eq!(thread["thread"], *name, "{test:#}");
        }
        assert_eq!(thread["in"], *what, "{test:#}");
        let line = place(HANGS, marker).line;
        let at = thread["places"][0]["place"].as_str().expect("a place");
        assert!(
            at.starts_with(&format!("src/lib.rs:{line}:")),
            "{marker}: {test:#}"
        );
    }
}

#[test]
fn a_hang_fails_at_once_with_the_place_of_every_thread() {
    let scratch = crate_with("hangs", "", HANGS);
    let ran = json(&scratch, &[]);
    ran.exits_with(101);
    let (tests, totals) = results(&ran);
    assert_eq!(totals["failed"], 4, "{ran}");
    hangs(
        &tests,
        "a_lost_notify",
        &[
            (
                None,
                "std::thread::JoinHandle::join, for the end of `waiter`",
                "joins the waiter",
            ),
            (
                Some("waiter"),
                "std::sync::Condvar::wait",
                "drop(other.1.wait",
            ),
        ],
    );
    hangs(
        &tests,
        "two_locks_in_opposite_order",
        &[
            (None, "std::sync::Mutex::lock", "left waits"),
            (Some("right"), "std::sync::Mutex::lock", "right waits"),
        ],
    );
    // Not the iterator's `sum`, which waits for nothing by itself. With line
    // tables only, the name of the type is lost.
    let next = "std::sync::mpsc::next";
    hangs(
        &tests,
        "a_channel_that_nobody_closes",
        &[(None, next, "receives for ever")],
    );
    hangs(
        &tests,
        "a_worker_that_is_never_told_to_end",
        &[
            (None, "std::thread::scope", "thread::scope(|scope| {"),
            (None, "std::sync::mpsc::Receiver::recv", "the worker's loop"),
        ],
    );

    // For people: the same in words.
    let ran = scratch
        .conan()
        .args(["test", "--lib", "opposite_order"])
        .ran();
    let line = place(HANGS, "right waits").line;
    ran.exits_with(101)
        .says("HANG")
        .says("thread `right` is suspended for good: std::sync::Mutex::lock")
        .says(&format!("    at src/lib.rs:{line}:"))
        .never_mentions("running for over 60 seconds");
    use_the_runner(&scratch);
    let ran = scratch.cargo_test().args(["--lib", "two_locks"]).ran();
    ran.exits_with(101)
        .says("thread `right` is suspended for good: std::sync::Mutex::lock");
}

/// Locks that are never given back, and who has them.
const HELD: &str = r#"#![cfg(test)]

use std::sync::{Arc, Mutex, RwLock, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

fn named(name: &str, job: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::Builder::new().name(name.into()).spawn(job).unwrap()
}

#[test]
fn two_in_opposite_order() {
    let (one, two) = (Arc::new(Mutex::new(1)), Arc::new(Mutex::new(2)));
    let (first, second) = (one.clone(), two.clone());
    let there = named("there", move || {
        let held = first.lock().unwrap();
        thread::sleep(Duration::from_millis(10));
        *second.lock().unwrap() += *held;
    });
    let back = named("back", move || {
        let held = two.lock().unwrap();
        thread::sleep(Duration::from_millis(10));
        *one.lock().unwrap() += *held;
    });
    there.join().unwrap();
    back.join().unwrap();
}

#[test]
fn three_in_a_ring() {
    let locks: [_; 3] = std::array::from_fn(|_| Arc::new(RwLock::new(1)));
    let each = [("a", 0, 1), ("b", 1, 2), ("c", 2, 0)].map(|(name, own, next)| {
        let (own, next) = (locks[own].clone(), locks[next].clone());
        named(name, move || {
            let held = own.read().unwrap();
            thread::sleep(Duration::from_millis(10));
            *next.write().unwrap() += *held;
        })
    });
    each.map(|thread| thread.join().unwrap());
}

#[test]
fn one_is_joined_by_whom_it_waits_for() {
    let lock = Arc::new(Mutex::new(1));
    named("parent", move || {
        let held = lock.lock().unwrap();
        let other = lock.clone();
        named("child", move || *other.lock().unwrap() += 1).join().unwrap();
        drop(held);
    })
    .join()
    .unwrap();
}

#[test]
fn the_holder_waits_for_something_else() {
    let lock = Arc::new(Mutex::new(1));
    let other = lock.clone();
    let (sender, receiver) = mpsc::channel::<u32>();
    let holder = named("holder", move || {
        let mut held = lock.lock().unwrap();
        *held += receiver.recv().unwrap();
    });
    let waiter = named("waiter", move || *other.lock().unwrap() += 1);
    waiter.join().unwrap();
    drop(sender);
    holder.join().unwrap();
}

#[test]
fn the_holder_has_ended() {
    let lock = Arc::new(Mutex::new(1));
    let other = lock.clone();
    named("holder", move || std::mem::forget(lock.lock().unwrap())).join().unwrap();
    named("waiter", move || *other.lock().unwrap() += 1).join().unwrap();
}
"#;

/// A thread of a hang, and what is said of the locks around it.
fn thread<'t>(tests: &'t [Value], test: &str, name: &str) -> &'t Value {
    let test = result(tests, test);
    assert_eq!(test["verdict"], "hung", "{test:#}");
    let threads = test["suspended"].as_array().expect("threads are listed");
    let found = threads.iter().find(|thread| thread["thread"] == name);
    found.unwrap_or_else(|| panic!("{name} is not there: {test:#}"))
}

#[test]
fn who_holds_a_lock_is_told_and_who_wait_for_each_other() {
    let scratch = crate_with("held", "", HELD);
    let ran = json(&scratch, &[]);
    let (tests, _) = results(&ran);
    let is = |test: &str, name: &str, held_by: &[&str], cycle: &[&str]| {
        let thread = thread(&tests, test, name);
        assert_eq!(thread["held_by"], value!(held_by), "{test}: {thread:#}");
        assert_eq!(thread["cycle"], value!(cycle), "{test}: {thread:#}");
    };
    let opposite = "two_in_opposite_order";
    is(opposite, "there", &["back"], &["there", "back"]);
    is(opposite, "back", &["there"], &["back", "there"]);
    // The system keeps 15 bytes of the name of whoever joins them.
    is(opposite, &opposite[..15], &[], &[]);
    is("three_in_a_ring", "a", &["b"], &["a", "b", "c"]);
    is("three_in_a_ring", "c", &["a"], &["c", "a", "b"]);
    let joined = "one_is_joined_by_whom_it_waits_for";
    is(joined, "child", &["parent"], &["child", "parent"]);
    is(joined, "parent", &[], &["parent", "child"]);
    let elsewhere = "the_holder_waits_for_something_else";
    is(elsewhere, "waiter", &["holder"], &[]);
    is(elsewhere, "holder", &[], &[]);
    is("the_holder_has_ended", "waiter", &[], &[]);

    // For people.
    let say = |test: &str| {
        let ran = scratch.conan().args(["test", "--lib", test]).ran();
        ran.exits_with(101);
        ran
    };
    say(opposite)
        .says("thread `there` is suspended for good: std::sync::Mutex::lock, probably held by thread `back`")
        .says("thread `back` is suspended for good: std::sync::Mutex::lock, probably held by thread `there`")
        .says(
            "they wait for each other: \
             thread `there` waits for thread `back`, which waits for thread `there`",
        );
    say("three_in_a_ring")
        .says("std::sync::RwLock::write, probably held by thread `b`")
        .says(
            "they wait for each other: thread `a` waits for thread `b`, \
             which waits for thread `c`, which waits for thread `a`",
        );
    say(elsewhere)
        .says("std::sync::Mutex::lock, probably held by thread `holder`")
        .never_mentions("wait for each other");
    say("the_holder_has_ended")
        .says("thread `waiter` is suspended for good: std::sync::Mutex::lock\n")
        .never_mentions("held by");
}
