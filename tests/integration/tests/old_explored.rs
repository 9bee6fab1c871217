//! `cargo conan test --executions`: tests that know nothing of us, under many
//! schedules, and the one that breaks them again.

use conan_integration::{Run, crate_with, json, place, result, results};
use serde_json::Value;

const TESTS: &str = r#"
#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Condvar, Mutex, mpsc};
    use std::thread;

    #[test]
    fn a_notify_that_may_be_lost() {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let other = Arc::clone(&pair);
        let waiter = thread::spawn(move || {
            let held = other.0.lock().unwrap();
            drop(other.1.wait(held).unwrap()); // waits for ever
        });
        // Long enough, as somebody has thought.
        thread::yield_now();
        pair.1.notify_one();
        waiter.join().unwrap();
    }

    #[test]
    fn two_locks_in_opposite_order() {
        let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
        let others = Arc::clone(&locks);
        let right = thread::spawn(move || {
            let second = others.1.lock().unwrap();
            thread::yield_now();
            *others.0.lock().unwrap() += *second; // right waits
        });
        let first = locks.0.lock().unwrap();
        *locks.1.lock().unwrap() += *first; // left waits
        drop(first);
        right.join().unwrap();
    }

    #[test]
    fn one_looks_and_then_acts() {
        let taken = Arc::new(AtomicBool::new(false));
        let (log, lines) = mpsc::channel();
        let logger = thread::spawn(move || lines.iter().count());
        let winners: Vec<_> = (0..2).map(|_| {
            let (taken, log) = (Arc::clone(&taken), log.clone());
            thread::spawn(move || {
                let is_free = !taken.load(Ordering::SeqCst);
                if is_free {
                    log.send("it is free").unwrap();
                    taken.store(true, Ordering::SeqCst);
                }
                is_free
            })
        }).collect();
        drop(log);
        let won = winners.into_iter().filter_map(|winner| winner.join().unwrap().then_some(()));
        assert_eq!(won.count(), 1, "both have won");
        logger.join().unwrap();
    }

    #[test]
    fn an_abort_in_some_orders() {
        let done = Arc::new(Mutex::new(false));
        let other = Arc::clone(&done);
        let worker = thread::spawn(move || {
            thread::yield_now();
            *other.lock().unwrap() = true;
        });
        thread::yield_now();
        if *done.lock().unwrap() {
            std::process::abort();
        }
        worker.join().unwrap();
    }

    #[test]
    fn right_in_every_order() {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let workers: Vec<_> = (0..3).map(|_| {
            let pair = Arc::clone(&pair);
            thread::spawn(move || {
                *pair.0.lock().unwrap() += 1;
                pair.1.notify_one();
            })
        }).collect();
        let mut done = pair.0.lock().unwrap();
        while *done < 3 {
            done = pair.1.wait(done).unwrap();
        }
        drop(done);
        for worker in workers {
            worker.join().unwrap();
        }
    }
}
"#;

/// The tests that are wrong in some orders.
const WRONG: [&str; 4] = [
    "a_notify_that_may_be_lost",
    "two_locks_in_opposite_order",
    "one_looks_and_then_acts",
    "an_abort_in_some_orders",
];

/// What has to be the same if the same is done again.
fn essence(test: &Value) -> Value {
    let keys = [
        "test",
        "verdict",
        "how",
        "execution",
        "executions",
        "schedules",
        "schedule",
        "token",
        "trace",
        "virtual_ns",
        "suspended",
    ];
    keys.iter().map(|key| test[*key].clone()).collect()
}

#[test]
fn what_is_wrong_in_some_orders_is_found_and_replayed() {
    let scratch = crate_with("found", "", TESTS);
    // In the default order there is nothing to see.
    scratch
        .conan()
        .args(["test", "--lib"])
        .ran()
        .exits_with(0)
        .says("5 passed");
    for strategy in ["random", "pct", "pos", "history"] {
        let words = ["--executions", "150", "--strategy", strategy, "--seed", "3"];
        let ran = json(&scratch, &words);
        let (tests, _) = results(&ran);
        ran.exits_with(101);
        for name in WRONG {
            let test = result(&tests, name);
            assert_ne!(test["verdict"], "passed", "{strategy}: {test:#}");
            assert_eq!(test["execution"], test["executions"], "{test:#}");
            let Some(token) = test["token"].as_str() else {
                // What went before is part of what `history` decides, and where no
                // copy of it is made, a process that aborts leaves nothing.
                let is_known = cfg!(not(target_arch = "x86_64"))
                    && strategy == "history"
                    && name == "an_abort_in_some_orders";
                assert!(is_known, "{strategy}: {test:#}");
                continue;
            };
            let full = format!("tests::{name}");
            let ran = json(&scratch, &["--replay", token, &full]);
            let (again, _) = results(&ran);
            ran.exits_with(101);
            let again = result(&again, name);
            for key in ["verdict", "how", "schedule", "suspended"] {
                assert_eq!(again[key], test[key], "{strategy} {key}: {again:#}");
            }
            assert_ne!(again["fits"], false, "{again:#}");
        }
        let right = result(&tests, "right_in_every_order");
        assert_eq!(right["verdict"], "passed", "{strategy}: {right:#}");
        assert_eq!(right["executions"], 150, "{strategy}: {right:#}");
        let schedules = right["schedules"].as_u64().expect("they are counted");
        assert!((20..=150).contains(&schedules), "{strategy}: {right:#}");
        assert!(right.get("token").is_none(), "{right:#}");
    }
}

#[test]
fn a_seed_means_the_same_exploration() {
    let scratch = crate_with("seed", "", TESTS);
    for strategy in ["random", "history"] {
        let explored = |seed: &str, threads: &str| {
            let words = ["--executions", "40", "--strategy", strategy, "--seed", seed];
            let threads = ["--", "--test-threads", threads];
            let (tests, _) = results(&json(&scratch, &[&words[..], &threads].concat()));
            let mut tests: Vec<_> = tests.iter().map(essence).collect();
            tests.sort_by_key(|test| test[0].to_string());
            tests
        };
        let first = explored("7", "1");
        assert_eq!(first, explored("7", "4"), "{strategy}");
        assert_ne!(first, explored("8", "4"), "{strategy}");
    }
}

#[test]
fn the_report_says_what_was_done_and_how_to_see_it_again() {
    let scratch = crate_with("said", "", TESTS);
    let words = ["test", "--executions", "200", "--junit", "report.xml"];
    let ran = scratch.conan().args(words).ran();
    let line = place(TESTS, "right waits").line;
    ran.exits_with(101)
        .says("up to 200 executions of each by `random` with seed 0")
        .says("said tests::right_in_every_order: 200 executions, ")
        .says("There may be more schedules")
        .says(&format!("    at src/lib.rs:{line}:"))
        .says("replay: cargo conan test --replay ")
        .says(" -p said --lib tests::two_locks_in_opposite_order");
    let report = scratch.read("report.xml");
    for part in [
        "<property name=\"executions\" value=\"200\"/>",
        "<property name=\"token\" value=\"",
        "<property name=\"schedules\" value=\"",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    // The very line that was printed.
    let mut lines = ran.stderr.lines();
    let replay = lines
        .find_map(|line| {
            let command = line.strip_prefix("replay: cargo conan ")?;
            command
                .ends_with("two_locks_in_opposite_order")
                .then_some(command)
        })
        .expect("it was printed");
    let ran = scratch.conan().args(replay.split(' ')).ran();
    ran.exits_with(101)
        .says("HANG")
        .says(&format!("    at src/lib.rs:{line}:"));
}

#[test]
fn a_token_of_another_test_is_noticed() {
    let scratch = crate_with("strange", "", TESTS);
    let words = ["--executions", "200", "opposite_order"];
    let (tests, _) = results(&json(&scratch, &words));
    let token = result(&tests, "two_locks_in_opposite_order")["token"].clone();
    let token = token.as_str().expect("it was found");
    let replay = |words: &[&str]| scratch.conan().args(["test", "--lib"]).args(words).ran();
    replay(&["--replay", token, "right_in_every_order"])
        .exits_with(4)
        .says("the replay took a different path");
    replay(&["--replay", "random:0:1:00000000", "right_in_every_order"])
        .exits_with(4)
        .says("the replay took a different path");
    replay(&["--replay", "nonsense", "right_in_every_order"])
        .exits_with(2)
        .says("`nonsense`: ");
    replay(&["--replay", "dfs:1:2", "right_in_every_order"])
        .exits_with(2)
        .says("`dfs:1:2` stands for no schedule");
    replay(&["--replay", token])
        .exits_with(2)
        .says("which test?");
    replay(&["--replay", token, "nowhere"])
        .exits_with(2)
        .says("there is no test `nowhere` to replay");
    replay(&["--executions", "2", "--strategy", "dfs"])
        .exits_with(2)
        .says("`dfs` is not offered here");
    replay(&["--executions", "0"]).exits_with(2);
    replay(&["--seed", "1"])
        .exits_with(2)
        .says("how many `--executions`?");
}
