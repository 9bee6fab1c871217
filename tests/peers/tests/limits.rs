//! loom and shuttle, as the bench asks them: what counts as a bug found, and
//! that they keep to the limits.

#[allow(dead_code, reason = "parts of it are for the bench")]
#[path = "../asked.rs"]
mod asked;
#[path = "../gave_up.rs"]
mod gave_up;
#[allow(dead_code, reason = "the bench's programs are for the bench")]
#[path = "../benches/peers/loom_side.rs"]
mod loom_side;
#[allow(dead_code, reason = "the bench's programs are for the bench")]
#[path = "../benches/peers/shuttle_side.rs"]
mod shuttle_side;

use std::time::Duration;

use asked::{Answer, Asked, End};

/// An exploration of a program of this file.
fn asked(executions: u64, limit: Duration) -> Asked {
    Asked {
        program: String::new(),
        threads: 2,
        strategy: "random".to_owned(),
        seeds: 1,
        executions,
        limit,
    }
}

/// More than any test takes.
const LONG: Duration = Duration::from_mins(10);

/// The same programs for each tool, and a function that explores them.
macro_rules! programs {
    ($tool:path, $explore:expr) => {
        use std::sync::Arc;

        use super::*;
        use $tool::{AtomicI64, Mutex, Ordering, Stage};

        fn explore(asked: &Asked, set: fn(&mut Stage, usize)) -> Answer {
            $explore(asked, set)
        }

        /// Right, but of more steps than either tool has room for.
        fn long(stage: &mut Stage, _: usize) {
            let number = Arc::new(AtomicI64::new(0));
            stage.spawn("counts", move || {
                for value in 0..1_000_000 {
                    number.store(value, Ordering::Relaxed);
                }
            });
        }

        /// Right, and of many schedules.
        fn many(stage: &mut Stage, threads: usize) {
            let number = Arc::new(AtomicI64::new(0));
            for _ in 0..threads {
                let number = Arc::clone(&number);
                stage.spawn("counts", move || {
                    for _ in 0..5 {
                        number.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        }

        /// A check that does not hold.
        fn wrong(stage: &mut Stage, _: usize) {
            let number = Arc::new(AtomicI64::new(0));
            stage.check(move || assert_eq!(number.load(Ordering::Relaxed), 1));
        }

        /// Two threads that lock the same two locks in two orders.
        fn deadlock(stage: &mut Stage, _: usize) {
            let locks = [Arc::new(Mutex::new(())), Arc::new(Mutex::new(()))];
            for (one, other) in [(0, 1), (1, 0)] {
                let [one, other] = [one, other].map(|number: usize| Arc::clone(&locks[number]));
                stage.spawn("locks", move || {
                    let first = one.lock().unwrap();
                    let second = other.lock().unwrap();
                    drop((first, second));
                });
            }
        }

        #[test]
        fn a_bound_of_its_own_is_no_bug_found() {
            let answer = explore(&asked(10, LONG), long);
            assert_eq!((answer.end, answer.executions), (End::GaveUp, 1));
        }

        #[test]
        fn a_check_that_fails_and_a_deadlock_are_bugs_found() {
            assert_eq!(explore(&asked(10, LONG), wrong).end, End::Found);
            assert_eq!(explore(&asked(1000, LONG), deadlock).end, End::Found);
        }

        #[test]
        fn it_keeps_to_the_number_of_executions() {
            let answer = explore(&asked(50, LONG), many);
            assert_eq!((answer.end, answer.executions), (End::NotFound, 50));
        }

        #[test]
        fn it_keeps_to_the_time() {
            let answer = explore(&asked(100_000, Duration::ZERO), many);
            assert_eq!(answer.end, End::NotFound);
            assert!(answer.executions <= 1, "{answer:?}");
        }
    };
}

mod loom {
    programs!(crate::loom_side::tool, |asked, set| {
        crate::loom_side::explore(asked, set)
    });
}

mod shuttle {
    programs!(crate::shuttle_side::tool, |asked, set| {
        crate::shuttle_side::explore(asked, 1, set)
    });
}
