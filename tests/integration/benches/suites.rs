//! Other people's test suites, from their published crates: natively and in
//! virtual time, side by side.
//!
//! `cargo bench -p conan-integration --bench suites [-- NAME…]` fetches the
//! crates, copies them under the target directory, builds and runs their
//! tests both ways, each test in a process of its own, and prints a table. It
//! fails if a verdict differs for no known reason.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
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
}

const fn suite(name: &'static str, version: &'static str) -> Suite {
    Suite {
        name,
        version,
        options: &[],
        excepted: &[],
    }
}

const SUITES: [Suite; 18] = [
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
    suite("bus", "2.4.1"),
    suite("dashmap", "6.2.1"),
    suite("rayon-core", "1.13.0"),
    Suite {
        options: &["--features", "full,test-util"],
        ..suite("tokio", "1.54.1")
    },
];

fn main() -> ExitCode {
    let chosen: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let folder = target().join("suites");
    let mut rows = vec![HEADER.map(str::to_owned)];
    let mut notes = Vec::new();
    let mut is_fine = true;
    for suite in &SUITES {
        if !chosen.is_empty() && !chosen.iter().any(|name| name == suite.name) {
            continue;
        }
        eprintln!("{} {}", suite.name, suite.version);
        match compare(suite, &folder) {
            Ok(comparison) => {
                is_fine &= comparison.unexplained == 0;
                notes.extend(comparison.notes);
                rows.push(comparison.row);
            }
            Err(why) => {
                notes.push(format!("{}: {why}", suite.name));
                let mut row = [const { String::new() }; HEADER.len()];
                row[0] = format!("{} {}", suite.name, suite.version);
                "not run".clone_into(&mut row[1]);
                rows.push(row);
            }
        }
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

const HEADER: [&str; 7] = [
    "suite", "tests", "differ", "native", "virtual", "ratio", "exact",
];

fn print(rows: &[[String; 7]]) {
    for [suite, tests, differ, native, ours, ratio, exact] in rows {
        println!("{suite:30} {tests:>7} {differ:>7} {native:>9} {ours:>9} {ratio:>7} {exact:>9}");
    }
}

struct Comparison {
    row: [String; 7],
    notes: Vec<String>,
    unexplained: usize,
}

/// Runs a suite both ways.
fn compare(suite: &Suite, folder: &Path) -> Result<Comparison, String> {
    let root = unpacked(suite, folder)?;
    let build = in_suite(suite, &root, folder, &["--no-run"])?;
    if build.code != Some(0) {
        let end: Vec<_> = build.stderr.lines().rev().take(12).collect();
        let end: Vec<_> = end.into_iter().rev().collect();
        return Err(format!("does not build\n{}", end.join("\n")));
    }
    let (native, native_time, _) = run(suite, &root, folder, "wall")?;
    let (ours, our_time, exact) = run(suite, &root, folder, "virtual")?;
    let mut notes = Vec::new();
    let (mut differ, mut unexplained) = (0, 0);
    for (test, verdict) in &native {
        let other = ours.get(test).map_or("not run", String::as_str);
        if verdict != other {
            differ += 1;
            let known = suite.excepted.iter().find(|(name, _)| name == test);
            unexplained += usize::from(known.is_none());
            let why = known.map_or("unexplained", |(_, why)| why);
            notes.push(format!("{test}: natively {verdict}, here {other}: {why}"));
        }
    }
    let ratio = native_time.as_secs_f64() / our_time.as_secs_f64();
    let row = [
        format!("{} {}", suite.name, suite.version),
        native.len().to_string(),
        differ.to_string(),
        format!("{:.2}s", native_time.as_secs_f64()),
        format!("{:.2}s", our_time.as_secs_f64()),
        format!("{ratio:.1}"),
        format!("{exact}/{}", ours.len()),
    ];
    Ok(Comparison {
        row,
        notes,
        unexplained,
    })
}

/// The verdicts of all tests, how long the tests took together, and how many
/// runs were exact.
fn run(
    suite: &Suite,
    root: &Path,
    folder: &Path,
    clock: &str,
) -> Result<(BTreeMap<String, String>, Duration, usize), String> {
    let words = ["--message-format", "json", "--clock", clock];
    let ran = in_suite(suite, root, folder, &words)?;
    if !matches!(ran.code, Some(0 | 101)) {
        return Err(format!("cannot be run: {}", ran.stderr));
    }
    let mut verdicts = BTreeMap::new();
    let mut exact = 0;
    let mut time = Duration::ZERO;
    for line in ran.stdout.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            return Err(format!("{line:?} is not JSON"));
        };
        if let Some(elapsed) = line["totals"]["elapsed_ns"].as_u64() {
            time = Duration::from_nanos(elapsed);
        }
        if let Some(verdict) = line["verdict"].as_str() {
            let binary = line["binary"].as_str().unwrap_or_default();
            let test = line["test"].as_str().unwrap_or_default();
            verdicts.insert(format!("{binary} {test}"), verdict.to_owned());
            exact += usize::from(line["exact"] == true);
            if verdict != "passed" {
                eprintln!("{clock}: {binary} {test}: {verdict}\n{line:#}");
            }
        }
    }
    Ok((verdicts, time, exact))
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
