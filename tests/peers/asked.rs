//! What the bench asks a tool for, on the command line, and what that answers:
//! a line for each seed.

use std::time::Duration;

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

/// What came of one seed.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// True if an execution failed.
    pub is_found: bool,
    /// How many there were, with that one.
    pub executions: u64,
    /// How long they took.
    pub seconds: f64,
}

impl Answer {
    /// From a line.
    #[allow(dead_code, reason = "the bench's side")]
    pub fn read(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("answer ")?.split(' ');
        Some(Self {
            is_found: words.next()?.parse().ok()?,
            executions: words.next()?.parse().ok()?,
            seconds: words.next()?.parse().ok()?,
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
            is_found,
            executions,
            seconds,
        } = run(seed);
        println!("answer {is_found} {executions} {seconds}");
    }
}
