//! `cargo conan test`: tests that hang, and what is said of their threads.

use std::time::Duration;

use conan_integration::{Run, crate_with, json, place, result, results, use_the_runner};
use serde_json::Value;

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
    let sum = "core::iter::traits::iterator::Iterator::sum";
    hangs(
        &tests,
        "a_channel_that_nobody_closes",
        &[(None, sum, "receives for ever")],
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
