//! The tables. Each says at its end whether what we claim holds.

use std::time::Duration;

use crate::asked::Answer;
use crate::build::Built;
use crate::published::{Published, TABLE, THREADS};
use crate::shuttle_side::programs;
use crate::sides::Side;

/// What the command explores by, if nothing is said.
const DEFAULT: Side = Side::Fine("mixed");

/// Rounds in which the rates are taken: in each, every tool has its turn. The
/// fastest counts, because nothing makes a tool faster than it is.
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(700);

/// Executions a second of the paper's monitor. Every schedule passes.
pub fn rate(built: &Built) -> bool {
    const SIDES: [Side; 9] = [
        Side::Plain("fixed"),
        Side::Plain("random"),
        Side::Plain("pct"),
        Side::Plain("pos"),
        Side::Plain("mixed"),
        Side::Plain("dfs"),
        Side::Shuttle("random"),
        Side::Shuttle("pct"),
        Side::Loom,
    ];
    let program = programs::MONITOR;
    let mut rates = [0.0_f64; SIDES.len()];
    for _ in 0..ROUNDS {
        for (side, rate) in SIDES.iter().zip(&mut rates) {
            // loom looks at its clock every 20,000 executions.
            let executions = if *side == Side::Loom { 3000 } else { 1_000_000 };
            let asked = (program.name, program.threads);
            let answers = side.ask(built, asked, 1, executions, ROUND);
            for answer in answers.expect("the monitor can be explored") {
                assert!(!answer.is_found, "{} fails the monitor", side.name());
                *rate = rate.max(answer.executions as f64 / answer.seconds);
            }
        }
    }
    let of = |side: Side| rates[SIDES.iter().position(|it| *it == side).expect("a side")];
    let (shuttle, loom) = (of(Side::Shuttle("random")), of(Side::Loom));
    println!("\nExecutions a second: the paper's monitor, 2 senders and 2 receivers\n");
    println!("| | executions/s | to shuttle random | to loom |\n|---|---:|---:|---:|");
    for (side, rate) in SIDES.iter().zip(rates) {
        println!(
            "| {} | {rate:.0} | {:.2} | {:.1} |",
            ours(*side),
            rate / shuttle,
            rate / loom
        );
    }
    let (fixed, random) = (of(Side::Plain("fixed")), of(Side::Plain("random")));
    let holds = claim(
        "what the engine costs (fixed): at least 3 times shuttle, and 20 times loom",
        fixed >= 3.0 * shuttle && fixed >= 20.0 * loom,
    );
    let walks = claim(
        "random: at least 3 times shuttle's, and 20 times loom",
        random >= 3.0 * shuttle && random >= 20.0 * loom,
    );
    holds & walks
}

fn ours(side: Side) -> String {
    match side {
        Side::Plain(_) | Side::Fine(_) => format!("conan {}", side.name()),
        _ => side.name(),
    }
}

fn claim(what: &str, holds: bool) -> bool {
    println!("\n{}: {what}", if holds { "holds" } else { "FAILS" });
    holds
}

const SEEDS: u64 = 20;
const MOST: u64 = 10_000;
const LIMIT: Duration = Duration::from_secs(1);

/// Our strategies, the default first.
const STRATEGIES: [Side; 8] = [
    DEFAULT,
    Side::Fine("random"),
    Side::Fine("pct"),
    Side::Fine("pos"),
    Side::Fine("abreast"),
    Side::Fine("history"),
    Side::Fine("dfs"),
    Side::Fine("fixed"),
];
const PEERS: [Side; 3] = [Side::Shuttle("random"), Side::Shuttle("pct"), Side::Loom];

/// The median over the seeds, of executions and of time; those that have found
/// nothing come last.
#[derive(Clone, Copy)]
struct Median {
    found: usize,
    of: usize,
    /// Nothing if half of the seeds have found nothing.
    executions: Option<u64>,
    seconds: f64,
}

impl Median {
    fn new(answers: &[Answer]) -> Self {
        let mut found: Vec<_> = answers.iter().filter(|it| it.is_found).collect();
        let middle = (answers.len() - 1) / 2;
        found.sort_by_key(|it| it.executions);
        let executions = found.get(middle).map(|it| it.executions);
        found.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
        Self {
            found: found.len(),
            of: answers.len(),
            executions,
            seconds: found.get(middle).map_or(f64::INFINITY, |it| it.seconds),
        }
    }

    fn executions(&self) -> u64 {
        self.executions.unwrap_or(u64::MAX)
    }

    fn show(median: Option<Self>) -> String {
        match median {
            None => "–".to_owned(),
            Some(Self { found: 0, .. }) => "none".to_owned(),
            Some(Self {
                executions: Some(executions),
                found,
                of,
                ..
            }) if found == of => executions.to_string(),
            Some(Self {
                executions,
                found,
                of,
                ..
            }) => {
                let median = executions.map_or("–".to_owned(), |median| median.to_string());
                format!("{median} ({found}/{of})")
            }
        }
    }

    fn show_time(median: Option<Self>) -> String {
        match median {
            Some(median) if median.seconds.is_finite() => format!("{:.2}", median.seconds * 1e3),
            _ => "–".to_owned(),
        }
    }
}

/// Executions and time to the bug.
pub fn bugs(built: &Built) -> bool {
    let all = programs::OTHERS.iter().chain(&programs::COOPERARI);
    let mut rows = Vec::new();
    for program in all {
        let ask = |side: &Side| {
            let asked = (program.name, program.threads);
            let answers = side.ask(built, asked, SEEDS, MOST, LIMIT)?;
            Some(Median::new(&answers))
        };
        let ours: Vec<_> = STRATEGIES.iter().map(ask).collect();
        let theirs: Vec<_> = PEERS.iter().map(ask).collect();
        rows.push((program, ours, theirs));
    }

    type Show = fn(Option<Median>) -> String;
    let shows: [(&str, Show); 2] = [
        ("Executions to the bug", Median::show),
        ("Milliseconds to the bug", Median::show_time),
    ];
    for (title, show) in shows {
        println!("\n{title}: median of {SEEDS} seeds, at most {MOST} executions or {LIMIT:?}\n");
        let sides = STRATEGIES.iter().chain(&PEERS).map(|side| side.name());
        let sides: Vec<_> = sides.collect();
        println!("| | threads | {} |", sides.join(" | "));
        println!("|---|---:|{}", "---:|".repeat(sides.len()));
        for (program, ours, theirs) in &rows {
            let cells: Vec<_> = ours.iter().chain(theirs).map(|it| show(*it)).collect();
            let (name, threads) = (program.name, program.threads);
            println!("| {name} | {threads} | {} |", cells.join(" | "));
        }
    }

    let mut holds = true;
    let found = |median: &Option<Median>| median.is_some_and(|median| median.found > 0);
    let is_missed = |ours: &[Option<Median>], theirs: &[Option<Median>]| {
        theirs.iter().any(found) && !ours.iter().any(found)
    };
    let missed = rows
        .iter()
        .filter(|(_, ours, theirs)| is_missed(ours, theirs));
    holds &= claim("what they find, we find", missed.count() == 0);
    let missed = rows
        .iter()
        .filter(|(_, ours, theirs)| is_missed(&ours[..1], theirs));
    holds &= claim("what they find, the default finds", missed.count() == 0);
    for (number, peer) in PEERS.iter().enumerate() {
        let pairs = rows
            .iter()
            .filter_map(|(_, ours, theirs)| Some((ours[0]?, theirs[number]?)));
        let pairs: Vec<_> = pairs.collect();
        let executions = |which: fn(&(Median, Median)) -> u64| {
            let mut all: Vec<_> = pairs.iter().map(which).collect();
            all.sort_unstable();
            all[all.len() / 2]
        };
        let times = |which: fn(&(Median, Median)) -> f64| {
            let mut all: Vec<_> = pairs.iter().map(which).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let (one, other) = (
            executions(|pair| pair.0.executions()),
            executions(|pair| pair.1.executions()),
        );
        let fewer = pairs
            .iter()
            .filter(|(a, b)| a.executions() < b.executions());
        let more = pairs
            .iter()
            .filter(|(a, b)| a.executions() > b.executions());
        let (fewer, more) = (fewer.count(), more.count());
        let (fast, slow) = (
            times(|pair| pair.0.seconds) * 1e3,
            times(|pair| pair.1.seconds) * 1e3,
        );
        holds &= claim(
            &format!(
                "the default needs fewer executions than {}, and less time, over {} programs: {one} on \
                 the median to {other}, {fewer} programs with fewer and {more} with more; {fast:.2} \
                 ms to {slow:.2} ms",
                peer.name(),
                pairs.len(),
            ),
            one < other && fewer > more && fast < slow,
        );
    }
    holds
}

/// Cooperari's table, beside ours.
pub fn cooperari(built: &Built) -> bool {
    const MOST: u64 = 1000;
    println!("\nCooperari's Table 5.3: executions to the bug, at most {MOST}\n");
    println!("Published (the better of its columns) : conan's default : conan's best\n");
    let header: Vec<_> = THREADS.iter().map(ToString::to_string).collect();
    println!("| threads | {} |", header.join(" | "));
    println!("|---|{}", "---|".repeat(THREADS.len()));
    let mut holds = true;
    let mut pairs = Vec::new();
    for (name, published) in TABLE {
        let mut cells = Vec::new();
        for (threads, published) in THREADS.into_iter().zip(published) {
            let ask = |side: &Side| {
                let answers = side.ask(built, (name, threads), 5, MOST, Duration::from_secs(20));
                Median::new(&answers.expect("an answer of our own"))
            };
            let default = ask(&DEFAULT);
            let rest = STRATEGIES[1..].iter().map(ask);
            let best = rest.chain([default]).min_by_key(Median::executions);
            let best = best.expect("there are strategies");
            let said = match published {
                Published::Impossible => "impossible".to_owned(),
                Published::Missed => "missed".to_owned(),
                Published::Found(execution) => execution.to_string(),
            };
            cells.push(format!(
                "{said} : {} : {}",
                Median::show(Some(default)),
                Median::show(Some(best))
            ));
            match published {
                Published::Impossible if default.found + best.found > 0 => {
                    holds = claim(&format!("{name} cannot fail with {threads} threads"), false);
                }
                Published::Impossible => {}
                Published::Missed => {
                    if default.found < default.of {
                        holds = claim(&format!("{name} is found with {threads} threads"), false);
                    }
                }
                Published::Found(execution) => {
                    if default.found < default.of {
                        holds = claim(&format!("{name} is found with {threads} threads"), false);
                    }
                    pairs.push((execution, default.executions(), best.executions()));
                }
            }
        }
        println!("| {name} | {} |", cells.join(" | "));
    }
    let median = |which: fn(&(u64, u64, u64)) -> u64| {
        let mut all: Vec<_> = pairs.iter().map(which).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    let (published, default, best) = (median(|it| it.0), median(|it| it.1), median(|it| it.2));
    let text = format!(
        "no more executions on the median over the {} cells: {published} published, {default} by \
         default, {best} by the best",
        pairs.len()
    );
    holds &= claim(&text, default <= published);
    holds & phantom(built)
}

/// A correct program that Cooperari takes for a wrong one.
fn phantom(built: &Built) -> bool {
    const SIDES: [Side; 3] = [Side::Fine("dfs"), Side::Fine("random"), DEFAULT];
    let mut holds = true;
    for side in SIDES {
        let answers = side.ask(built, ("phantom2", 3), 5, 2000, Duration::from_secs(20));
        let answers = answers.unwrap_or_default();
        let executions: u64 = answers.iter().map(|it| it.executions).sum();
        let passes = !answers.is_empty() && !answers.iter().any(|it| it.is_found);
        let text = format!(
            "Phantom2 passes, by {}, in {executions} executions",
            side.name()
        );
        holds &= claim(&text, passes);
    }
    holds
}
