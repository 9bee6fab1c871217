//! The tables. Each says at its end whether what we claim holds.

use std::time::Duration;

use crate::asked::{Answer, End};
use crate::build::Built;
use crate::published::{Published, TABLE, THREADS};
use crate::shuttle_side::programs;
use crate::sides::Side;

/// What the command explores by, if nothing is said.
const DEFAULT: Side = Side::Fine("mixed");

/// Rounds in which the rates are taken: in each, every tool has its turn. The
/// fastest counts, because nothing makes a tool faster than it is. What else
/// the machine does takes none of the processor time of a tool, but fills its
/// caches: less in one round, and more in another.
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(700);

/// Executions in a second of processor time, of the paper's monitor. Every schedule passes.
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
            let asked = (program.name, program.threads);
            let answers = side.ask(built, asked, 1, 1_000_000, ROUND);
            for answer in answers.expect("the monitor can be explored") {
                let name = side.name();
                assert_eq!(answer.end, End::NotFound, "{name} on the monitor");
                *rate = rate.max(answer.executions as f64 / answer.processor);
            }
        }
    }
    let of = |side: Side| rates[SIDES.iter().position(|it| *it == side).expect("a side")];
    let (shuttle, loom) = (of(Side::Shuttle("random")), of(Side::Loom));
    println!(
        "\nExecutions in a second of processor time: the paper's monitor, 2 senders and 2 receivers\n"
    );
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
        "random: at least 2 times shuttle's, and 10 times loom",
        random >= 2.0 * shuttle && random >= 10.0 * loom,
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
/// For an exploration that hangs. No other one takes as long, so that a busy
/// machine changes nothing in what is found.
const LIMIT: Duration = Duration::from_mins(2);

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
    gave_up: usize,
    of: usize,
    /// Nothing if half of the seeds have found nothing.
    executions: Option<u64>,
    seconds: f64,
}

impl Median {
    fn new(answers: &[Answer]) -> Self {
        let ended = |end: End| answers.iter().filter(move |it| it.end == end);
        let mut found: Vec<_> = ended(End::Found).collect();
        let middle = (answers.len() - 1) / 2;
        found.sort_by_key(|it| it.executions);
        let executions = found.get(middle).map(|it| it.executions);
        found.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
        Self {
            found: found.len(),
            gave_up: ended(End::GaveUp).count(),
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
            Some(Self {
                found: 0,
                gave_up: 1..,
                ..
            }) => "gave up".to_owned(),
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
        println!("\n{title}: median of {SEEDS} seeds, at most {MOST} executions for each\n");
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
                "the default needs fewer executions than {}, over {} programs: {one} on the \
                 median to {other}, {fewer} programs with fewer and {more} with more",
                peer.name(),
                pairs.len(),
            ),
            one < other && fewer > more,
        );
        // Not a claim: the difference is small, and a busy machine turns it
        // round.
        println!("        in {fast:.2} ms on the median to {slow:.2} ms");
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
        let answers = answers.expect("an answer of our own");
        let executions: u64 = answers.iter().map(|it| it.executions).sum();
        let passes = answers.iter().all(|it| it.end == End::NotFound);
        let text = format!(
            "Phantom2 passes, by {}, in {executions} executions",
            side.name()
        );
        holds &= claim(&text, passes);
    }
    holds
}
