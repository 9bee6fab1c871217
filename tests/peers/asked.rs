//! What the bench asks a tool for, on the command line, and what that answers:
//! a line for each seed.

use std::fs;
use std::time::{Duration, Instant};

/// An exploration of a program, once for each seed.
pub struct Asked {
    /// The name of the program.
    pub program: String,
    /// How many threads it has.
    pub threads: usize,
    /// How to explore.
    pub strategy: String,
    /// Seeds from 0 on.
    pub seeds: u64,
    /// Executions, at most.
    pub executions: u64,
    /// How long it may take for each seed.
    pub limit: Duration,
}

impl Asked {
    /// As arguments.
    #[allow(dead_code, reason = "the bench's side")]
    pub fn arguments(&self) -> [String; 6] {
        [
            self.program.clone(),
            self.threads.to_string(),
            self.strategy.clone(),
            self.seeds.to_string(),
            self.executions.to_string(),
            self.limit.as_millis().to_string(),
        ]
    }

    /// From arguments.
    fn read(arguments: &[String]) -> Option<Self> {
        let [program, threads, strategy, seeds, executions, limit] = arguments else {
            return None;
        };
        Some(Self {
            program: program.clone(),
            threads: threads.parse().ok()?,
            strategy: strategy.clone(),
            seeds: seeds.parse().ok()?,
            executions: executions.parse().ok()?,
            limit: Duration::from_millis(limit.parse().ok()?),
        })
    }
}

/// How an exploration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// An execution failed.
    Found,
    /// None did, within the limits or at all.
    NotFound,
    /// An execution came to a bound of the tool's own, such as a number of
    /// steps. That says nothing about the program.
    GaveUp,
}

impl End {
    const ALL: [(Self, &str); 3] = [
        (Self::Found, "found"),
        (Self::NotFound, "not-found"),
        (Self::GaveUp, "gave-up"),
    ];

    fn word(self) -> &'static str {
        let own = Self::ALL.iter().find(|(end, _)| *end == self);
        own.expect("all are listed").1
    }

    fn read(word: &str) -> Option<Self> {
        let own = Self::ALL.iter().find(|(_, known)| *known == word);
        own.map(|(end, _)| *end)
    }
}

/// What came of one seed.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// How the exploration ended.
    pub end: End,
    /// How many executions there were, with the last one.
    pub executions: u64,
    /// How long they took.
    pub seconds: f64,
    /// The same in processor time, in hundredths of a second.
    pub processor: f64,
}

/// How long an exploration takes.
pub struct StopWatch {
    processor: f64,
    begun: Instant,
}

impl StopWatch {
    /// An exploration begins.
    pub fn start() -> Self {
        Self {
            processor: processor_time(),
            begun: Instant::now(),
        }
    }

    /// The real time since it began.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// It has come to its end.
    pub fn answer(&self, end: End, executions: u64) -> Answer {
        let seconds = self.elapsed().as_secs_f64();
        let processor = processor_time() - self.processor;
        Answer {
            end,
            executions,
            seconds,
            processor,
        }
    }
}

/// The processor time of this process in seconds. The system counts it in
/// hundredths of one.
fn processor_time() -> f64 {
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold anything; after it, the state is first.
    let numbers = stat.rsplit(')').next().unwrap_or_default();
    let numbers = numbers.split_whitespace().skip(11).take(2);
    let ticks: u32 = numbers.filter_map(|ticks| ticks.parse::<u32>().ok()).sum();
    f64::from(ticks) / TICKS_A_SECOND
}

impl Answer {
    /// From a line.
    #[allow(dead_code, reason = "the bench's side")]
    pub fn read(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("answer ")?.split(' ');
        Some(Self {
            end: End::read(words.next()?)?,
            executions: words.next()?.parse().ok()?,
            seconds: words.next()?.parse().ok()?,
            processor: words.next()?.parse().ok()?,
        })
    }
}

/// Does what is asked for on the command line, and prints the answers.
pub fn answer<R: Fn(u64) -> Answer>(prepare: impl FnOnce(&'static Asked) -> R) {
    let arguments: Vec<_> = std::env::args().collect();
    let last = arguments.len().saturating_sub(6);
    let Some(asked) = Asked::read(&arguments[last..]) else {
        panic!("wanted: program, threads, strategy, seeds, executions, milliseconds");
    };
    let asked: &'static Asked = Box::leak(Box::new(asked));
    let run = prepare(asked);
    for seed in 0..asked.seeds {
        let Answer {
            end,
            executions,
            seconds,
            processor,
        } = run(seed);
        let end = end.word();
        println!("answer {end} {executions} {seconds} {processor}");
    }
}
