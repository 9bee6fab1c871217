//! Other people's test suites, from their published crates: natively and in
//! virtual time, side by side.
//!
//! `cargo bench -p conan-integration --bench suites [-- NAME…]` fetches the
//! crates (by `NAME@VERSION` any other, too), copies them under the target
//! directory, builds and runs their tests both ways, and prints a table. Both
//! ways are the same but for the engine: each test in a process of its own, as
//! many at once as there are cores; how long cargo takes to find that there is
//! nothing to build is not counted. What takes seconds at most runs in turns,
//! some times each way, and the median counts. A test that takes many minutes
//! natively is left out both ways, and named below the table. `cpu` is the
//! processor time of a run: where the machine has other things to do, it says
//! more than what a clock on the wall says. The bench fails if a verdict differs
//! for no known reason, or if a suite cannot be run.
//!
//! With `--ten` each suite runs ten times in virtual time, with all cores busy
//! otherwise. Then the bench fails if two runs have another verdict, or another
//! trace of a test that was exact in both.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use conan_integration::{Run, cargo, conan, target};
use serde_json::Value;

/// A published crate with tests.
struct Suite {
    name: &'static str,
    version: &'static str,
    /// What to say to cargo besides `--lib --tests`.
    options: &'static [&'static str],
    /// Tests whose verdicts may differ, and why that is not ours.
    excepted: &'static [(&'static str, &'static str)],
    /// Tests that are not run, and why.
    left_out: &'static [(&'static str, &'static str)],
}

const fn suite(name: &'static str, version: &'static str) -> Suite {
    Suite {
        name,
        version,
        options: &[],
        excepted: &[],
        left_out: &[],
    }
}

const SUITES: [Suite; 20] = [
    suite("crossbeam-channel", "0.5.17"),
    suite("oneshot", "0.2.1"),
    suite("threadpool", "1.8.1"),
    suite("once_cell", "1.21.4"),
    suite("arc-swap", "1.9.3"),
    suite("scheduled-thread-pool", "0.2.8"),
    suite("flume", "0.12.0"),
    suite("parking_lot", "0.13.0"),
    suite("r2d2", "0.8.10"),
    suite("crossbeam-utils", "0.8.23"),
    suite("crossbeam-deque", "0.8.8"),
    suite("crossbeam-queue", "0.3.14"),
    suite("event-listener", "5.4.2"),
    suite("async-channel", "2.5.0"),
    Suite {
        left_out: &[(
            "aggressive_iteration",
            "a million items through two places; natively more than ten minutes",
        )],
        ..suite("bus", "2.4.1")
    },
    suite("dashmap", "6.2.1"),
    suite("rayon-core", "1.13.0"),
    suite("kanal", "0.1.1"),
    Suite {
        // Without what needs a runtime for futures.
        options: &["--features", "sync"],
        ..suite("moka", "0.12.16")
    },
    Suite {
        options: &["--features", "full,test-util"],
        ..suite("tokio", "1.54.1")
    },
];

/// So often a suite runs with `--ten`.
const TIMES: usize = 10;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ten = words.iter().any(|word| word == "--ten");
    let chosen: Vec<_> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let folder = target().join("suites");
    let mut rows = vec![header(ten)];
    let mut notes = Vec::new();
    let mut is_fine = true;
    let is_chosen = |suite: &Suite| chosen.is_empty() || chosen.iter().any(|it| *it == suite.name);
    let known = SUITES.into_iter().filter(is_chosen);
    let others = chosen.iter().filter_map(|word| word.split_once('@'));
    let others = others.map(|(name, version)| suite(kept(name), kept(version)));
    for suite in &known.chain(others).collect::<Vec<_>>() {
        let title = format!("{} {}", suite.name, suite.version);
        eprintln!("{title}");
        let compared = if ten {
            repeat(suite, &folder)
        } else {
            compare(suite, &folder)
        };
        let mut row = vec![title];
        match compared {
            Ok(comparison) => {
                is_fine &= comparison.unexplained == 0;
                notes.extend(
                    suite
                        .left_out
                        .iter()
                        .map(|(test, why)| format!("{}: {test} is left out: {why}", suite.name)),
                );
                notes.extend(comparison.notes);
                row.extend(comparison.columns);
            }
            Err(why) => {
                is_fine = false;
                notes.push(format!("{}: {why}", suite.name));
                row.push("not run".to_owned());
            }
        }
        rows.push(row);
        print(&rows[rows.len() - 1..]);
    }
    println!();
    print(&rows);
    for note in notes {
        println!("{note}");
    }
    if is_fine {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// For the rest of the program, as what stands in it.
fn kept(word: &str) -> &'static str {
    word.to_owned().leak()
}

fn header(ten: bool) -> Vec<String> {
    let words: &[&str] = if ten {
        &[
            "suite",
            "tests",
            "runs",
            "verdicts differ",
            "traces differ",
            "always exact",
        ]
    } else {
        &[
            "suite",
            "tests",
            "differ",
            "native",
            "virtual",
            "ratio",
            "native cpu",
            "virtual cpu",
            "exact",
        ]
    };
    words.iter().map(ToString::to_string).collect()
}

fn print(rows: &[Vec<String>]) {
    for row in rows {
        let mut line = String::new();
        for (column, text) in row.iter().enumerate() {
            line.push_str(&match column {
                0 => format!("{text:30}"),
                1..=5 => format!(" {text:>9}"),
                _ => format!(" {text:>12}"),
            });
        }
        println!("{line}");
    }
}

struct Comparison {
    columns: Vec<String>,
    notes: Vec<String>,
    unexplained: usize,
}

/// What came of a suite.
struct Outcome {
    tests: BTreeMap<String, Test>,
    elapsed: Duration,
    /// Of the tests, and of cargo before them.
    cpu: Duration,
}

struct Test {
    verdict: String,
    trace: String,
    is_exact: bool,
}

impl Outcome {
    fn exact(&self) -> usize {
        self.tests.values().filter(|test| test.is_exact).count()
    }
}

/// Runs a suite both ways.
fn compare(suite: &Suite, folder: &Path) -> Result<Comparison, String> {
    let root = built(suite, folder)?;
    let (native, ours) = both(suite, &root, folder)?;
    let mut notes = Vec::new();
    let (mut differ, mut unexplained) = (0, 0);
    for (name, Test { verdict, .. }) in &native.tests {
        let other = ours.tests.get(name);
        let other = other.map_or("not run", |test| test.verdict.as_str());
        if verdict == other {
            continue;
        }
        differ += 1;
        let known = suite.excepted.iter().find(|(test, _)| test == name);
        let why = match known {
            Some((_, why)) => (*why).to_owned(),
            None if is_so_natively(suite, &root, folder, name, other)? => {
                "natively it is now the one, now the other".to_owned()
            }
            None => {
                unexplained += 1;
                "unexplained".to_owned()
            }
        };
        notes.push(format!("{name}: natively {verdict}, here {other}: {why}"));
    }
    let ratio = native.elapsed.as_secs_f64() / ours.elapsed.as_secs_f64();
    let seconds = |time: Duration| format!("{:.3}s", time.as_secs_f64());
    let columns = vec![
        native.tests.len().to_string(),
        differ.to_string(),
        seconds(native.elapsed),
        seconds(ours.elapsed),
        format!("{ratio:.2}"),
        seconds(native.cpu),
        seconds(ours.cpu),
        format!("{}/{}", ours.exact(), ours.tests.len()),
    ];
    Ok(Comparison {
        columns,
        notes,
        unexplained,
    })
}

/// Natively, and in virtual time. The verdicts are the first ones that differ,
/// if any do.
fn both(suite: &Suite, root: &Path, folder: &Path) -> Result<(Outcome, Outcome), String> {
    const SHORT: Duration = Duration::from_secs(3);
    const TIMES: usize = 7;
    let mut native = vec![run(suite, root, folder, &["wall"])?];
    let mut ours = vec![run(suite, root, folder, &["virtual"])?];
    if native[0].elapsed < SHORT {
        for _ in 1..TIMES {
            native.push(run(suite, root, folder, &["wall"])?);
            ours.push(run(suite, root, folder, &["virtual"])?);
        }
    }
    let verdicts = |outcome: &Outcome| -> Vec<String> {
        let tests = outcome.tests.values();
        tests.map(|test| test.verdict.clone()).collect()
    };
    let differ = |place: &usize| verdicts(&native[*place]) != verdicts(&ours[*place]);
    let place = (0..native.len()).find(differ).unwrap_or_default();
    Ok((median(native, place), median(ours, place)))
}

/// The tests of one run, and the median of all times.
fn median(mut outcomes: Vec<Outcome>, place: usize) -> Outcome {
    let middle = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    let elapsed = middle(outcomes.iter().map(|it| it.elapsed).collect());
    let cpu = middle(outcomes.iter().map(|it| it.cpu).collect());
    let tests = outcomes.swap_remove(place).tests;
    Outcome {
        tests,
        elapsed,
        cpu,
    }
}

/// True if a test can have this verdict natively, too: some depend on how busy
/// the machine is.
fn is_so_natively(
    suite: &Suite,
    root: &Path,
    folder: &Path,
    name: &str,
    verdict: &str,
) -> Result<bool, String> {
    const TRIES: usize = 5;
    let test = name.split_once(' ').map_or("", |(_, test)| test);
    for _ in 0..TRIES {
        let again = run(suite, root, folder, &["wall", test, "--", "--exact"])?;
        if again
            .tests
            .get(name)
            .is_some_and(|test| test.verdict == verdict)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Runs a suite in virtual time again and again, while all cores are busy.
fn repeat(suite: &Suite, folder: &Path) -> Result<Comparison, String> {
    let root = built(suite, folder)?;
    let is_over = AtomicBool::new(false);
    let runs = thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let run = |_| run(suite, &root, folder, &["virtual"]);
        let runs: Result<Vec<_>, _> = (0..TIMES).map(run).collect();
        is_over.store(true, Ordering::Relaxed);
        runs
    })?;
    let mut notes = Vec::new();
    let (mut verdicts, mut traces, mut always_exact) = (0, 0, 0);
    for name in runs[0].tests.keys() {
        let tests: Vec<_> = runs.iter().filter_map(|run| run.tests.get(name)).collect();
        let all = |what: &dyn Fn(&Test) -> &str| {
            let mut all: Vec<_> = tests.iter().map(|test| what(test)).collect();
            all.sort_unstable();
            all.dedup();
            all.join(", ")
        };
        let said = all(&|test| &test.verdict);
        if tests.len() < TIMES || said.contains(", ") {
            verdicts += 1;
            notes.push(format!("{name}: {said} in {} runs", tests.len()));
        }
        let exact: Vec<_> = tests.iter().filter(|test| test.is_exact).collect();
        always_exact += usize::from(exact.len() == tests.len());
        if exact.iter().any(|test| test.trace != exact[0].trace) {
            traces += 1;
            notes.push(format!(
                "{name}: exact in {} runs, but not the same",
                exact.len()
            ));
        }
    }
    let columns = vec![
        runs[0].tests.len().to_string(),
        TIMES.to_string(),
        verdicts.to_string(),
        traces.to_string(),
        always_exact.to_string(),
    ];
    Ok(Comparison {
        columns,
        notes,
        unexplained: verdicts + traces,
    })
}

/// Where a suite's sources are, after its tests were built.
fn built(suite: &Suite, folder: &Path) -> Result<PathBuf, String> {
    let root = unpacked(suite, folder)?;
    let build = in_suite(suite, &root, folder, &["--no-run"])?;
    if build.code == Some(0) {
        return Ok(root);
    }
    let end: Vec<_> = build.stderr.lines().rev().take(12).collect();
    let end: Vec<_> = end.into_iter().rev().collect();
    Err(format!("does not build\n{}", end.join("\n")))
}

/// Runs the tests of a suite by a clock, and what else there is to say.
fn run(suite: &Suite, root: &Path, folder: &Path, words: &[&str]) -> Result<Outcome, String> {
    let before = used();
    let mut words = [&["--message-format", "json", "--clock"], words].concat();
    if !suite.left_out.is_empty() && !words.contains(&"--") {
        words.push("--");
    }
    for (test, _) in suite.left_out {
        words.extend(["--skip", test]);
    }
    let ran = in_suite(suite, root, folder, &words)?;
    let mut outcome = Outcome {
        tests: BTreeMap::new(),
        elapsed: Duration::ZERO,
        cpu: used().saturating_sub(before),
    };
    if !matches!(ran.code, Some(0 | 101)) {
        return Err(format!("cannot be run: {}", ran.stderr));
    }
    for line in ran.stdout.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            return Err(format!("{line:?} is not JSON"));
        };
        if let Some(elapsed) = line["totals"]["elapsed_ns"].as_u64() {
            outcome.elapsed = Duration::from_nanos(elapsed);
        }
        if let Some(verdict) = line["verdict"].as_str() {
            let text = |key: &str| line[key].as_str().unwrap_or_default();
            let name = format!("{} {}", text("binary"), text("test"));
            if verdict != "passed" {
                eprintln!("{}: {name}: {verdict}\n{line:#}", words[3]);
            }
            let test = Test {
                verdict: verdict.to_owned(),
                trace: text("trace").to_owned(),
                is_exact: line["exact"] == true,
            };
            outcome.tests.insert(name, test);
        }
    }
    Ok(outcome)
}

/// The processor time of all processes that have ended here, and of those that
/// they have waited for.
fn used() -> Duration {
    const TICKS_A_SECOND: u64 = 100;
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold anything; after it, the state is first.
    let numbers = stat.rsplit(')').next().unwrap_or_default();
    let numbers = numbers.split_whitespace().skip(13).take(2);
    let ticks: u64 = numbers
        .filter_map(|number| number.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 1000 / TICKS_A_SECOND)
}

/// However long that takes: natively, suites sleep.
fn in_suite(suite: &Suite, root: &Path, folder: &Path, words: &[&str]) -> Result<Ran, String> {
    let mut command = conan(root);
    command
        .args(["test", "--lib", "--tests"])
        .args(suite.options)
        .args(words);
    let output = settled(&mut command, folder).output();
    let output = output.map_err(|error| format!("cannot be started: {error}"))?;
    Ok(Ran {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// All suites build in one target directory, with what cargo has fetched.
fn settled<'c>(command: &'c mut Command, folder: &Path) -> &'c mut Command {
    command
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env_remove("CARGO_NET_OFFLINE")
}

/// The crate's sources, copied to a folder that is a workspace of its own.
fn unpacked(suite: &Suite, folder: &Path) -> Result<PathBuf, String> {
    let Suite { name, version, .. } = suite;
    let root = folder.join(format!("{name}-{version}"));
    if root.join("Cargo.toml").exists() {
        return Ok(root);
    }
    let failed = |error: io::Error| error.to_string();
    let wanted = folder.join("fetch").join(name);
    fs::create_dir_all(wanted.join("src")).map_err(failed)?;
    fs::write(wanted.join("src/lib.rs"), "").map_err(failed)?;
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{name} = \"={version}\"\n"
    );
    fs::write(wanted.join("Cargo.toml"), manifest).map_err(failed)?;
    let mut command = cargo(&wanted);
    command.args(["metadata", "--format-version", "1"]);
    let ran = settled(&mut command, folder).ran();
    let metadata: Value = serde_json::from_str(&ran.stdout)
        .map_err(|_| format!("cannot be fetched: {}", ran.stderr.trim()))?;
    let packages = metadata["packages"].as_array();
    let package = packages
        .into_iter()
        .flatten()
        .find(|package| package["name"] == *name)
        .ok_or("cargo does not know it")?;
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let source = manifest.parent().ok_or("cargo does not know where it is")?;
    let draft = folder.join(format!("{name}-{version}.draft"));
    let _ = fs::remove_dir_all(&draft);
    copy(source, &draft).map_err(failed)?;
    let manifest = draft.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(failed)?;
    if !text.lines().any(|line| line == "[workspace]") {
        // What its tests use may use the crate in its turn: this one, then.
        let patch = format!("\n[workspace]\n\n[patch.crates-io]\n{name} = {{ path = \".\" }}\n");
        fs::write(&manifest, text + &patch).map_err(failed)?;
    }
    fs::rename(&draft, &root).map_err(failed)?;
    Ok(root)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, copied) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&source, &copied)?;
        } else if entry.file_name() != "Cargo.lock" {
            fs::write(&copied, fs::read(&source)?)?;
        }
    }
    Ok(())
}
