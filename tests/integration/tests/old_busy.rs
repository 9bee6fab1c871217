//! `cargo conan test`: threads that always have something to do for each other
//! do not keep time from moving on.

use conan_integration::{crate_with, json, result, results};

const BUSY: &str = r#"#![cfg(test)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(1);

/// Sends numbers to a thread that sends them back, while that holds.
fn play(goes_on: impl Fn() -> bool) -> u64 {
    let (to, from_us) = mpsc::channel();
    let (to_us, from) = mpsc::channel();
    let other = thread::spawn(move || from_us.iter().try_for_each(|ball| to_us.send(ball)));
    let mut count = 0_u64;
    while goes_on() {
        to.send(count).unwrap();
        assert_eq!(from.recv(), Ok(count));
        count += 1;
    }
    drop(to);
    other.join().unwrap().unwrap();
    count
}

#[test]
fn as_long_as_a_clock_says() {
    let begun = Instant::now();
    assert!(play(|| begun.elapsed() < LONG) > 1000);
    assert!(begun.elapsed() < 2 * LONG);
}

#[test]
fn until_a_sleeper_says_so() {
    let is_over = Arc::new(AtomicBool::new(false));
    let referee = Arc::clone(&is_over);
    let referee = thread::spawn(move || {
        thread::sleep(LONG);
        referee.store(true, Ordering::SeqCst);
    });
    assert!(play(|| !is_over.load(Ordering::SeqCst)) > 1000);
    referee.join().unwrap();
}

#[test]
fn until_somebody_has_waited_in_vain() {
    let is_over = Arc::new(AtomicBool::new(false));
    let referee = Arc::clone(&is_over);
    let (_keeps_open, nothing) = mpsc::channel::<()>();
    let referee = thread::spawn(move || {
        assert_eq!(nothing.recv_timeout(LONG), Err(RecvTimeoutError::Timeout));
        referee.store(true, Ordering::SeqCst);
    });
    assert!(play(|| !is_over.load(Ordering::SeqCst)) > 1000);
    referee.join().unwrap();
}

#[test]
fn with_a_new_thread_each_time() {
    let begun = Instant::now();
    while begun.elapsed() < LONG {
        thread::spawn(|| ()).join().unwrap();
    }
}

/// But a little work takes no time.
#[test]
fn for_a_while() {
    let begun = Instant::now();
    let left = std::cell::Cell::new(1000);
    play(|| left.replace(left.get() - 1) > 0);
    assert!(begun.elapsed() < Duration::from_micros(100), "{:?}", begun.elapsed());
}
"#;

#[test]
fn busy_threads_let_time_pass_and_come_to_an_end() {
    let scratch = crate_with("busy", "", BUSY);
    let runs = [&[] as &[&str], &[], &["--executions", "3"]].map(|words| {
        let ran = json(&scratch, words);
        ran.exits_with(0);
        let (tests, totals) = results(&ran);
        assert_eq!(totals["passed"], 5, "{ran}");
        tests
    });
    for test in &runs[0] {
        let name = test["test"].as_str().expect("a name");
        assert_eq!(test["exact"], true, "{test:#}");
        let time = test["virtual_ns"].as_u64().expect("it is known");
        if name != "for_a_while" {
            assert_eq!(time / 100_000_000, 10, "{test:#}");
        }
        assert_eq!(result(&runs[1], name)["trace"], test["trace"], "{name}");
    }
}
