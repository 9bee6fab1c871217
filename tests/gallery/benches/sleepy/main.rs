//! Tests that sleep, and the scripts that say the same, side by side in one
//! run: `cargo bench -p conan-gallery --bench sleepy`.
//!
//! The tests are those that the crates themselves ship. Each package is copied
//! from where cargo has unpacked it to the target directory, and built there
//! as this is, with optimisation; then the tests run, but only those that a
//! sequence restates. It needs cargo and the registry. A sequence that fails
//! makes the bench fail; a test of theirs that fails is mentioned.

// Scripts show constructs, not always the shortest way to say a thing.
#![allow(clippy::pedantic, clippy::useless_vec)]

mod ours;
mod suite;
mod table;
mod theirs;
mod unpack;

use std::env;
use std::process::ExitCode;

use suite::SUITES;
use table::Row;

fn main() -> ExitCode {
    // `cargo bench` says `--bench` first; who says `scripts` is this process.
    let mut arguments = env::args().skip(1);
    if arguments.next().as_deref() == Some("scripts") {
        return ours::run_scripts_of(&arguments.next().unwrap_or_default());
    }
    let rows: Result<Vec<Row>, String> = SUITES.iter().map(measure).collect();
    match rows {
        Ok(rows) => {
            print!("{}", table::of(&rows));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(suite: &suite::Suite) -> Result<Row, String> {
    let tests = ours::restated(suite);
    let package = unpack::package(suite)?;
    eprintln!("{} {}: building its tests", suite.package, package.version);
    let binaries = theirs::build(suite, &package, &tests)?;
    eprintln!(
        "{} {}: running {} of them",
        suite.package,
        package.version,
        tests.len()
    );
    let theirs = theirs::run(suite, &binaries, &tests)?;
    for test in &theirs.failed {
        eprintln!("{} {}: {test} failed", suite.package, package.version);
    }
    Ok(Row {
        name: format!("{} {}", suite.package, package.version),
        tests: tests.len(),
        failed: theirs.failed.len(),
        theirs: theirs.took,
        ours: ours::run(suite, tests.len())?,
    })
}
