//! The scripts of this repository on both engines, and again and again.
//!
//! With a harness of its own: the scripts' sequences are no tests here, so that
//! those which fail on purpose can be here, too.

// Scripts show constructs, not always the shortest way to say a thing.
#![allow(clippy::pedantic, clippy::useless_vec)]

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::{env, thread};

use conan_test::driver::{Script, Sequence, Settings, engine, run, with_same_threads};
use libtest_mimic::{Arguments, Failed, Trial};

conan_test::script!("../../scripts");

/// Scripts whose verdict on the wall clock depends on how busy the machine is:
/// they wait for real time-outs.
const REAL_TIME: [&str; 7] = [
    "constructs/ticks.conan",
    "constructs/time_outs.conan",
    "faults/jdbc_connection_pool_waits_again.conan",
    "gallery/blocking_terminal_pool.conan",
    "gallery/connection_broker.conan",
    "gallery/jdbc_connection_pool.conan",
    "gallery/object_pool.conan",
];

/// Sequences in which the order of threads within a tick shows in the report;
/// only `virtual` has one.
const UNORDERED: [&str; 4] = [
    "nobody_reads_or_writes_while_one_looks",
    "one_write_for_each_reader",
    "wake_time_not_in_the_list",
    "events",
];

/// Sequences that can run once in a process: they are about a static.
const ONCE: [&str; 1] = ["a_lazy_value_is_made_once"];

fn main() {
    let mut arguments = Arguments::from_args();
    // One after the other: worlds would meet the threads of the wall clock.
    arguments.test_threads = Some(1);
    let trials = vec![
        Trial::test("repeated_runs_on_virtual_give_the_same_bytes", same_bytes),
        Trial::test("wall_and_virtual_give_the_same_verdicts", same_verdicts),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

fn sequences() -> Vec<(&'static Script, &'static Sequence)> {
    let all = scripts::SCRIPTS.iter();
    let pairs = all.flat_map(|script| script.sequences.iter().map(|sequence| (*script, sequence)));
    pairs
        .filter(|(_, sequence)| !ONCE.contains(&sequence.name))
        .collect()
}

fn settings(clock: &str, ticktime: Option<u64>) -> Settings {
    let engine = engine(clock).expect("the engine runs here");
    Settings { engine, ticktime }
}

/// Ticks in milliseconds that are long enough for any machine: those of the
/// scripts are not when it is busy, say with the backtrace of a panic.
const LONG_TICKS: u64 = 1_000;

/// What a run comes to, without what only one of the engines can know; and
/// whether it was exact.
fn verdict(
    script: &'static Script,
    sequence: &'static Sequence,
    settings: Settings,
) -> (String, bool) {
    let report = run(script, sequence, settings);
    let mut text = format!("{:?}\n", report.totals);
    for failure in &report.failures {
        let (kind, thread, tick) = (failure.kind, &failure.thread, failure.tick);
        let (place, message) = (failure.place, &failure.message);
        text.push_str(&format!("{kind:?} {thread:?} {tick} {place:?} {message}\n"));
        text.push_str(&format!("{:?} {:?}\n", failure.expected, failure.actual));
    }
    (text, report.inexact.is_empty())
}

fn same_verdicts() -> Result<(), Failed> {
    let is_real_time = |path: &str| {
        REAL_TIME.iter().any(|name| path.ends_with(name))
            || path.ends_with("_virtual.conan")
            // Mistakes that show in some orders only.
            || path.contains("/explored/")
    };
    let mut pending: VecDeque<_> = sequences().into();
    pending.retain(|(script, sequence)| {
        !is_real_time(script.path) && !UNORDERED.contains(&sequence.name)
    });
    assert!(pending.len() > 50, "the scripts are there");
    let pending = Mutex::new(pending);
    let different = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let next = pending.lock().expect("nobody panics").pop_front();
                    let Some((script, sequence)) = next else {
                        break;
                    };
                    let (wall, _) = verdict(script, sequence, settings("wall", None));
                    let (virtually, _) = verdict(script, sequence, settings("virtual", None));
                    if wall != virtually {
                        let mut different = different.lock().expect("nobody panics");
                        different.push((script, sequence));
                    }
                }
            });
        }
    });
    let different = different.into_inner().expect("nobody panics");
    let again = different.into_iter().filter_map(|(script, sequence)| {
        let (wall, _) = verdict(script, sequence, settings("wall", Some(LONG_TICKS)));
        let (virtually, is_exact) =
            verdict(script, sequence, settings("virtual", Some(LONG_TICKS)));
        let name = format!("{} {}", script.path, sequence.name);
        let text = format!("{name}\n--- wall\n{wall}--- virtual\n{virtually}");
        // The program's own pool of threads may have begun on the wall clock.
        (is_exact && wall != virtually).then_some(text)
    });
    let differences: Vec<String> = again.collect();
    if differences.is_empty() {
        return Ok(());
    }
    Err(differences.join("\n").into())
}

fn processors() -> usize {
    thread::available_parallelism().map_or(2, usize::from)
}

/// Processes that keep every core busy for as long as this lives.
struct Busy(Vec<Child>);

impl Busy {
    fn start() -> Self {
        let spin = || {
            let mut command = Command::new("sh");
            command
                .args(["-c", "while :; do :; done"])
                .stdin(Stdio::null());
            command.spawn().expect("a shell can be started")
        };
        Self((0..processors()).map(|_| spin()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs in one process. Threads that are suspended for good stay, and the
/// system does not let a process have any number of them.
const RUNS_A_PROCESS: usize = 200;

/// Says to a process of its own how often it shall run the scripts.
const SHARE: &str = "CONAN_REPEAT_SHARE";

/// `CONAN_REPEAT=10000 cargo test --release -p conan-gallery --test engines repeated`
fn same_bytes() -> Result<(), Failed> {
    if let Ok(share) = env::var(SHARE) {
        let runs = share.parse().expect("a number of runs");
        let digest = with_same_threads(|| repeat(runs))?;
        println!("digest {digest:016x}");
        return Ok(());
    }
    let runs = env::var("CONAN_REPEAT").map_or(20, |runs| runs.parse().expect("a number of runs"));
    let _busy = Busy::start();
    let done = Mutex::new(Done::default());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..processors())
            .map(|_| scope.spawn(|| repeat_shares(&done, runs)))
            .collect();
        let mut ends = workers.into_iter().map(|worker| worker.join());
        ends.try_for_each(|end| end.expect("nobody panics"))
    })
}

/// What the processes that repeat the scripts have come to.
#[derive(Default)]
struct Done {
    begun: usize,
    ended: usize,
    digest: Option<String>,
}

/// Begins one process after the other until all `runs` are begun.
fn repeat_shares(done: &Mutex<Done>, runs: usize) -> Result<(), Failed> {
    let lock = || done.lock().expect("nobody panics");
    loop {
        let share = {
            let mut done = lock();
            let share = RUNS_A_PROCESS.min(runs - done.begun);
            done.begun += share;
            share
        };
        if share == 0 {
            return Ok(());
        }
        let digest = repeat_apart(share)?;
        let mut done = lock();
        if *done.digest.get_or_insert_with(|| digest.clone()) != digest {
            return Err("the runs of two processes differ".into());
        }
        done.ended += share;
        println!("{} runs, all alike", done.ended);
    }
}

/// Runs the scripts in a process of its own.
fn repeat_apart(runs: usize) -> Result<String, Failed> {
    let output = Command::new(env::current_exe()?)
        .args(["repeated", "--nocapture"])
        .env(SHARE, runs.to_string())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    // The harness may have begun the line.
    let digest = text.lines().find_map(|line| line.split_once("digest "));
    match digest {
        Some((_, digest)) if output.status.success() => Ok(digest.to_owned()),
        _ => {
            let errors = String::from_utf8_lossy(&output.stderr);
            Err(format!("{}: {text}\n{errors}", output.status).into())
        }
    }
}

/// Runs the scripts and compares every report with the first of its kind. What
/// all of them come to, as a number.
fn repeat(runs: usize) -> Result<u64, Failed> {
    let settings = settings("virtual", None);
    let sequences = sequences();
    let reports = || -> Vec<String> {
        let each = sequences.iter();
        each.map(|(script, sequence)| run(script, sequence, settings).to_json().to_string())
            .collect()
    };
    let first = reports();
    for number in 2..=runs {
        for (first, again) in first.iter().zip(reports()) {
            if *first != again {
                let at = first.bytes().zip(again.bytes()).position(|(a, b)| a != b);
                let from = at.unwrap_or(0).saturating_sub(200);
                let part = |text: &str| text.chars().skip(from).take(400).collect::<String>();
                let (one, other) = (part(first), part(&again));
                return Err(format!("run {number} differs:\n{one}\n{other}").into());
            }
        }
    }
    let mut hasher = DefaultHasher::new();
    first.hash(&mut hasher);
    Ok(hasher.finish())
}
