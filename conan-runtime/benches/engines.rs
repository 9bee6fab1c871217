//! The engines side by side, in one run: 4 threads over the paper's
//! producer-consumer monitor, every thread a call in every tick.
//!
//! Prints ratios, and fails if one of the claims does not hold:
//! `virtual` takes at most twice the time of a hand-written lockstep driver
//! over `std::sync::Barrier`; it is 20,000 times faster than the paper's ticks
//! of a second; a tick costs the same in 1,000 ticks and in 100,000; and so does
//! its memory.

use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use conan_runtime::engine::engine;
use conan_runtime::{Plan, Script, Sequence, Settings, Verdict, compare, outcome, run, time};

/// One character at a time: `send` waits while there is one, `receive` while
/// there is none.
#[derive(Default)]
struct Monitor {
    content: Mutex<Option<char>>,
    changed: Condvar,
}

impl Monitor {
    fn send(&self, c: char) {
        let content = self.content.lock().expect("nobody panics");
        let mut content = self
            .changed
            .wait_while(content, |c| c.is_some())
            .expect("nobody panics");
        *content = Some(c);
        self.changed.notify_all();
    }

    fn receive(&self) -> char {
        let content = self.content.lock().expect("nobody panics");
        let mut content = self
            .changed
            .wait_while(content, |c| c.is_none())
            .expect("nobody panics");
        let c = content.take().expect("waited for it");
        self.changed.notify_all();
        c
    }
}

/// What thread `number` does in a tick.
fn act(monitor: &Monitor, number: usize) -> bool {
    match number {
        0 => {
            monitor.send('a');
            true
        }
        1 => monitor.receive() == 'a',
        2 => {
            monitor.send('b');
            true
        }
        _ => monitor.receive() == 'b',
    }
}

fn plan<const TICKS: u64>(plan: &mut Plan) {
    let monitor = plan.share(Monitor::default());
    for number in 0..4_u32 {
        let monitor = monitor.clone();
        plan.thread(format!("thread {number}"), move |conan| {
            for tick in 1..=TICKS {
                conan.at_tick(tick, number + 1, 1);
                if number % 2 == 0 {
                    conan.exc_monitor(1, 1, || outcome!(act(&monitor, number as usize)));
                } else {
                    conan.value_check(1, 1, || compare!(act(&monitor, number as usize), true));
                }
                conan.value_check(1, 1, || compare!(time(), tick));
            }
            Ok(())
        });
    }
}

/// The time that a sequence takes on an engine.
fn on_engine<const TICKS: u64>(name: &str, ticktime: u64) -> Duration {
    let sequences = Box::leak(Box::new([Sequence {
        name: "bench",
        line: 1,
        conditions: &[],
        ticks: TICKS,
        stays: &[],
        wake_times: &[],
        explore: None,
        hot_spots: &[],
        build: plan::<TICKS>,
    }]));
    let script: &'static Script = Box::leak(Box::new(Script {
        path: "bench.conan",
        file: "bench.conan",
        source: "",
        ticktime,
        sequences,
    }));
    let engine = engine(name).expect("the engine runs here");
    let settings = Settings {
        engine,
        ticktime: None,
    };
    let begun = Instant::now();
    let report = run(script, &sequences[0], settings);
    let elapsed = begun.elapsed();
    // Only `virtual` orders the threads of one tick.
    if name == "virtual" {
        assert_eq!(report.verdict(), Verdict::Passed, "{report}");
        assert_eq!(report.totals.test_cases, TICKS * 8);
    }
    elapsed
}

/// The time of a hand-written driver: threads in lockstep by a barrier. It
/// forces no order within a tick and so cannot check who receives what, which
/// is to its advantage.
fn lockstep(ticks: u64) -> Duration {
    let begun = Instant::now();
    let monitor = Arc::new(Monitor::default());
    let barrier = Arc::new(Barrier::new(4));
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let (monitor, barrier) = (monitor.clone(), barrier.clone());
            thread::spawn(move || {
                for _ in 0..ticks {
                    barrier.wait();
                    act(&monitor, number);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("nobody panics");
    }
    begun.elapsed()
}

fn best_of(runs: usize, run: impl Fn() -> Duration) -> Duration {
    (0..runs).map(|_| run()).min().unwrap_or_default()
}

/// The processor time of the process in microseconds. The system counts it in
/// hundredths of a second.
fn processor_time() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let used: u32 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u32>().ok())
        .sum();
    f64::from(used) * 1e4
}

/// The process's memory in kilobytes.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn main() {
    let mut failed = false;
    let mut claim = |what: &str, value: f64, holds: bool| {
        println!(
            "{what}: {value:.2}{}",
            if holds {
                ""
            } else {
                "  <-- the claim does not hold"
            }
        );
        failed |= !holds;
    };
    let by_hand = best_of(5, || lockstep(1000));
    let virtually = best_of(5, || on_engine::<1000>("virtual", 1000));
    println!("1,000 ticks of 4 threads: lockstep {by_hand:?}, virtual {virtually:?}");
    let ratio = virtually.as_secs_f64() / by_hand.as_secs_f64();
    claim(
        "virtual / lockstep over a barrier (at most 2)",
        ratio,
        ratio <= 2.0,
    );

    // The wall clock at a second a tick: a few ticks tell.
    let wall = on_engine::<3>("wall", 1000).as_secs_f64() / 3.0 * 1000.0;
    let ratio = wall / virtually.as_secs_f64();
    claim(
        "wall at 1,000 ms / virtual (at least 20,000)",
        ratio,
        ratio >= 20_000.0,
    );

    // In processor time: what else the machine does is not in it.
    let before = memory();
    let processor = |runs: u32, run: &dyn Fn() -> Duration| {
        let began = processor_time();
        for _ in 0..runs {
            run();
        }
        (processor_time() - began) / f64::from(runs)
    };
    let start = processor(3_000, &|| on_engine::<1>("virtual", 1000));
    let ten = processor(3_000, &|| on_engine::<10>("virtual", 1000));
    let thousand = processor(300, &|| on_engine::<1_000>("virtual", 1000));
    let ten_thousand = processor(30, &|| on_engine::<10_000>("virtual", 1000));
    let many = processor(3, &|| on_engine::<100_000>("virtual", 1000));
    let [thousand, ten_thousand, many] = [(thousand, 1e3), (ten_thousand, 1e4), (many, 1e5)]
        .map(|(took, ticks)| (took - start) / ticks);
    let grown = memory().saturating_sub(before);
    println!(
        "a tick: {thousand:.2} µs of 1,000, \
         {ten_thousand:.2} µs of 10,000, {many:.2} µs of 100,000; \
         a run of one tick: {start:.0} µs, of ten: {ten:.0} µs"
    );
    claim(
        "cost of a tick, 100,000 / 1,000 (at most 1.5)",
        many / thousand,
        many / thousand <= 1.5,
    );
    claim(
        "memory of 100,000 ticks in MB (at most 8)",
        f64::from(u32::try_from(grown).unwrap_or(u32::MAX)) / 1024.0,
        grown <= 8 * 1024,
    );
    process::exit(i32::from(failed));
}
