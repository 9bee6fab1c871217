//! How many executions of a small program there are in a second.
//!
//! Four threads over a buffer of two, by different searches. Prints, and
//! claims nothing: how long it takes to start a thread is the system's
//! affair.

#[path = "../tests/common/programs.rs"]
#[allow(dead_code, unreachable_pub)]
mod programs;

use std::time::Instant;

use conan_explore::{Dfs, Explorer, Fixed, History, Pct, Pos, Random, Search};

const ITEMS: usize = 3;
const EXECUTIONS: u64 = 5000;

fn main() {
    println!("search    executions/s  decisions  schedules  inexact");
    measure("fixed", Fixed);
    measure("random", Random::new(1));
    measure("pct", Pct::new(1, 3));
    measure("pos", Pos::new(1));
    measure("history", History::new(1));
    measure("dfs", Dfs::new());
}

#[allow(clippy::cast_precision_loss)]
fn measure(name: &str, search: impl Search + 'static) {
    let program = programs::producer_consumer(ITEMS);
    let mut explorer = Explorer::new(search).executions(EXECUTIONS);
    let begun = Instant::now();
    let counts = explorer.explore(&program).counts;
    let seconds = begun.elapsed().as_secs_f64();
    let rate = counts.executions as f64 / seconds;
    let decisions = counts.decisions as f64 / counts.executions as f64;
    println!(
        "{name:<10}{rate:>12.0}{decisions:>11.1}{:>11}{:>9}",
        counts.schedules, counts.inexact
    );
}
