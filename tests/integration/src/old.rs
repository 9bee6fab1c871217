//! Crates whose tests know nothing of us, and what `cargo conan test` says of
//! them.

use serde_json::Value;

use crate::{Ran, Run, Scratch, cargo_conan};

/// A fresh crate with nothing but this library, and what its manifest is to say
/// of dependencies.
pub fn crate_with(name: &str, dependencies: &str, library: &str) -> Scratch {
    let scratch = Scratch::empty(name, name);
    let manifest = format!(
        "[package]\nname = \"CRATE\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{dependencies}"
    );
    scratch.write("Cargo.toml", &manifest);
    scratch.write("src/lib.rs", library);
    scratch
}

/// Has plain `cargo test` of a crate run tests in virtual time.
pub fn use_the_runner(scratch: &Scratch) {
    let runner = format!(
        "[target.'cfg(target_os = \"linux\")']\nrunner = ['{}', 'conan', 'runner']\n",
        cargo_conan().display()
    );
    scratch.write(".cargo/config.toml", &runner);
}

/// Runs the tests of a crate's library, with these words more, and has it all
/// in JSON.
pub fn json(scratch: &Scratch, words: &[&str]) -> Ran {
    let json = ["test", "--lib", "--message-format", "json"];
    scratch.conan().args(json).args(words).ran()
}

/// The tests of a run with `--message-format json`, and the summary.
#[track_caller]
pub fn results(ran: &Ran) -> (Vec<Value>, Value) {
    let lines = ran.stdout.lines().map(|line| {
        let value: Result<Value, _> = serde_json::from_str(line);
        value.unwrap_or_else(|error| panic!("{line:?} is not JSON ({error}); {ran}"))
    });
    let (tests, totals): (Vec<_>, Vec<_>) = lines.partition(|line| line.get("totals").is_none());
    let totals = totals
        .first()
        .unwrap_or_else(|| panic!("no summary; {ran}"));
    (tests, totals["totals"].clone())
}

/// The one test of this name, in a module `tests` or not.
#[track_caller]
pub fn result<'r>(tests: &'r [Value], name: &str) -> &'r Value {
    let is_it = |test: &&Value| {
        let full = test["test"].as_str().unwrap_or_default();
        full.strip_prefix("tests::").unwrap_or(full) == name
    };
    let found = tests.iter().find(is_it);
    found.unwrap_or_else(|| panic!("{name} has not run: {tests:#?}"))
}
