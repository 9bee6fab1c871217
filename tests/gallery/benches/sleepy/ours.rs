//! The scripts.

use std::env;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use conan_test::driver::Script;

use crate::suite::{Suite, Test};

conan_test::script!("../../scripts/crates/crossbeam_channel_suite");
conan_test::script!("../../scripts/crates/flume_suite");
conan_test::script!("../../scripts/crates/parking_lot_suite");
conan_test::script!("../../scripts/crates/r2d2_suite");

fn scripts(folder: &str) -> &'static [&'static Script] {
    match folder {
        "crossbeam_channel_suite" => crossbeam_channel_suite::SCRIPTS,
        "flume_suite" => flume_suite::SCRIPTS,
        "parking_lot_suite" => parking_lot_suite::SCRIPTS,
        "r2d2_suite" => r2d2_suite::SCRIPTS,
        other => panic!("there are no scripts of {other}"),
    }
}

/// The tests that the scripts of a suite restate.
pub(crate) fn restated(suite: &Suite) -> Vec<Test> {
    let tests = scripts(suite.folder).iter().flat_map(|script| {
        let stem = script.path.rsplit('/').next().unwrap_or_default();
        let stem = stem.trim_end_matches(".conan");
        let file = stem.trim_end_matches("_virtual");
        let sequences = script.sequences.iter();
        sequences.map(|sequence| Test {
            file: file.to_owned(),
            name: sequence.name,
        })
    });
    tests.collect()
}

/// What a process does that is to run the scripts of a suite.
pub(crate) fn run_scripts_of(folder: &str) -> ExitCode {
    conan_test::driver::main(scripts(folder))
}

/// How often the scripts run: they take so little time that whatever else the
/// machine does can be most of it.
const RUNS: usize = 11;

/// Runs the scripts of a suite in a process of their own, as its tests run, and
/// says how long it took: the median of some runs, all of which must pass.
pub(crate) fn run(suite: &Suite, tests: usize) -> Result<Duration, String> {
    let runs = (0..RUNS).map(|_| run_once(suite, tests));
    let mut took = runs.collect::<Result<Vec<_>, _>>()?;
    took.sort_unstable();
    Ok(took[RUNS / 2])
}

fn run_once(suite: &Suite, tests: usize) -> Result<Duration, String> {
    let this = env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(this);
    command.args(["scripts", suite.folder]);
    let begun = Instant::now();
    let output = command.output().map_err(|error| error.to_string())?;
    let took = begun.elapsed();
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = said.lines().filter(|line| line.ends_with(": ok")).count();
    if output.status.success() && passed == tests {
        return Ok(took);
    }
    Err(format!("{passed} of {tests} sequences passed\n{said}"))
}
