//! Asks a tool, in a process of its own: an exploration of one that goes wrong
//! shall not be the end of all.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::asked::{Answer, Asked};
use crate::build::Built;

/// A tool, and how it explores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// conan without hooks.
    Plain(&'static str),
    /// conan with hooks.
    Fine(&'static str),
    /// shuttle.
    Shuttle(&'static str),
    /// loom.
    Loom,
}

/// loom has room for so many threads, and the main one is among them.
const LOOM_THREADS: usize = 4;

impl Side {
    /// As it is called in the tables.
    pub fn name(self) -> String {
        match self {
            Self::Plain(strategy) | Self::Fine(strategy) => strategy.to_owned(),
            Self::Shuttle(strategy) => format!("shuttle {strategy}"),
            Self::Loom => "loom".to_owned(),
        }
    }

    /// Explores a program, once for each seed. Nothing if the tool has no room
    /// for its threads.
    pub fn ask(
        self,
        built: &Built,
        (program, threads): (&str, usize),
        seeds: u64,
        executions: u64,
        limit: Duration,
    ) -> Option<Vec<Answer>> {
        let (executable, switch, strategy): (&Path, _, _) = match self {
            Self::Plain(strategy) => (&built.plain, None, strategy),
            Self::Fine(strategy) => (&built.fine, None, strategy),
            Self::Shuttle(strategy) => (&built.peers, Some("--shuttle"), strategy),
            Self::Loom if threads > LOOM_THREADS => return None,
            Self::Loom => (&built.peers, Some("--loom"), "all"),
        };
        // The same again would be found in the same execution.
        let has_seed = !matches!(strategy, "all" | "dfs" | "fixed");
        let asked = Asked {
            program: program.to_owned(),
            threads,
            strategy: strategy.to_owned(),
            seeds: if has_seed { seeds } else { 1 },
            executions,
            limit,
        };
        let ran = Command::new(executable)
            .args(switch)
            .args(asked.arguments())
            // They print what they find.
            .stderr(Stdio::null())
            .env("RUST_BACKTRACE", "0")
            .output()
            .expect("a tool that was built can be started");
        let said = String::from_utf8_lossy(&ran.stdout);
        let answers: Vec<_> = said.lines().filter_map(Answer::read).collect();
        assert_eq!(
            answers.len() as u64,
            asked.seeds,
            "{} has not answered for {program} with {threads} threads: {}",
            self.name(),
            ran.status
        );
        Some(answers)
    }
}
