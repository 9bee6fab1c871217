//! The same decisions make the same execution: again, in another process, and
//! however control passes from thread to thread.

mod common;

use std::cell::RefCell;
use std::process::Command;
use std::{env, str};

use common::find;
use common::programs::{self, Failing};
use conan_explore::{
    Dfs, Explorer, Failure, History, Outcome, Pct, Pos, Program, Random, Schedule, Search, Token,
    Trace, Verdict, replay,
};

/// A program that remembers what was decided.
struct Remembering<'p, P> {
    program: &'p P,
    traces: RefCell<Vec<Trace>>,
}

impl<P: Failing> Program for Remembering<'_, P> {
    type Failure = Failure;

    fn execute(&self, schedule: Schedule) -> Verdict<Failure> {
        let verdict = self.program.execute(schedule.clone());
        assert!(verdict.is_exact);
        self.traces.borrow_mut().push(schedule.trace());
        verdict
    }

    fn are_alike(&self, one: &Failure, other: &Failure) -> bool {
        self.program.are_alike(one, other)
    }
}

fn traces(program: &impl Failing, search: impl Search + 'static) -> Vec<Trace> {
    let remembering = Remembering {
        program,
        traces: RefCell::default(),
    };
    let mut explorer = Explorer::new(search).executions(30).spurious(1);
    explorer.explore(&remembering);
    remembering.traces.into_inner()
}

/// What a number of explorations decides, as one number each.
fn fingerprints() -> Vec<String> {
    fn of(program: &impl Failing) -> Vec<Vec<Trace>> {
        vec![
            traces(program, Random::new(42)),
            traces(program, Pct::new(42, 3)),
            traces(program, Pos::new(42)),
            traces(program, History::new(42)),
            traces(program, Dfs::new()),
        ]
    }
    let all = [
        of(&programs::producer_consumer(2)),
        of(&programs::wrong_waiter(2, 2, false)),
        of(&programs::semaphore(4)),
        of(&programs::children(3)),
        of(&programs::timers()),
    ];
    let hash = |traces: Vec<Trace>| {
        let hashes = traces.iter().map(|trace| format!("{:x}", trace.hash()));
        hashes.collect::<Vec<_>>().join(" ")
    };
    all.into_iter().flatten().map(hash).collect()
}

#[test]
fn the_same_seed_gives_the_same_executions() {
    let program = programs::producer_consumer(3);
    let first = traces(&program, Random::new(7));
    assert_eq!(first.len(), 30);
    assert_eq!(first, traces(&program, Random::new(7)));
    assert_ne!(first, traces(&program, Random::new(8)));
    assert_eq!(fingerprints(), fingerprints());
}

/// Not a test of its own: tells another process what it decides.
#[test]
#[ignore = "run by the tests that compare processes"]
fn tells_its_fingerprints() {
    for fingerprint in fingerprints() {
        println!("told: {fingerprint}");
    }
}

/// Runs one of the tests that only tell something, in a process of its own.
fn told(test: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", test])
        .env_remove("CONAN_HANDOVER")
        .envs(variables.iter().copied())
        .output()
        .expect("this test can be started again");
    let text = str::from_utf8(&output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let lines = text.lines().filter_map(|line| line.split_once("told: "));
    let told: Vec<_> = lines.map(|(_, told)| told.to_owned()).collect();
    assert!(!told.is_empty(), "{text}");
    told
}

#[test]
fn another_process_decides_the_same() {
    assert_eq!(told("tells_its_fingerprints", &[]), fingerprints());
}

#[test]
fn both_ways_of_handing_over_give_the_same_executions() {
    let threads = [("CONAN_HANDOVER", "threads")];
    let fingerprints = told("tells_its_fingerprints", &[]);
    assert_eq!(told("tells_its_fingerprints", &threads), fingerprints);
}

/// Not a test of its own: tells another process how the program fails.
#[test]
#[ignore = "run by the tests that compare processes"]
fn tells_tokens() {
    for seed in 0..10 {
        let (found, _) = find(&programs::wrong_waiter(1, 2, false), Random::new(seed), 400);
        println!("told: {}", found.token);
        println!("told: {}", found.shrunk.expect("it fails again").token);
    }
}

#[test]
fn a_token_of_another_process_leads_to_the_same_failure() {
    let program = programs::wrong_waiter(1, 2, false);
    for token in told("tells_tokens", &[]) {
        let token: Token = token.parse().expect("it is one");
        let replayed = replay(&program, &token);
        assert!(replayed.fits);
        let Outcome::Failed(Failure::Suspended(suspended)) = replayed.verdict.outcome else {
            panic!("{:?}", replayed.verdict);
        };
        assert!(suspended.threads.iter().all(|stuck| stuck.name.is_some()));
    }
}

#[test]
fn a_token_replays_what_was_found_decision_by_decision() {
    for seed in 0..10 {
        let program = programs::semaphore(4);
        let (found, _) = find(&program, Random::new(seed), 400);
        let replayed = replay(&program, &found.token);
        assert!(replayed.fits);
        assert_eq!(replayed.trace, found.trace);
        let Outcome::Failed(failure) = replayed.verdict.outcome else {
            panic!("{:?}", replayed.verdict);
        };
        assert!(failure.is_like(&found.failure));
    }
}

#[test]
fn a_token_that_no_longer_fits_is_noticed() {
    let (found, _) = find(&programs::reorder(3), Random::new(1), 400);
    for token in [found.token, found.shrunk.expect("it fails again").token] {
        assert!(replay(&programs::reorder(3), &token).fits);
        assert!(!replay(&programs::reorder(2), &token).fits);
        assert!(!replay(&programs::points(3, 1), &token).fits);
        assert!(!replay(&programs::wrong_waiter(2, 2, true), &token).fits);
    }
}

#[test]
fn waits_that_end_for_no_reason_are_part_of_a_token() {
    let program = programs::waits_once();
    let exploration = Explorer::new(Dfs::new()).spurious(2).explore(&program);
    let conan_explore::End::Failed(found) = exploration.end else {
        panic!("{exploration:?}");
    };
    let shrunk = found.shrunk.expect("it fails again");
    let token: Token = shrunk.token.to_string().parse().expect("it is one");
    let replayed = replay(&program, &token);
    assert!(replayed.fits);
    assert!(matches!(replayed.verdict.outcome, Outcome::Failed(_)));
}
