//! Code that was compiled with hooks: what it takes to find mistakes between
//! blocking calls.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use conan_integration::{Ran, Run, Scratch, cargo_conan, command, place, workspace};

const COMPONENT: &str = include_str!("../fine/component.rs");
const DRIVER: &str = include_str!("../fine/driver.rs");

/// The programs with mistakes, and those without.
const WRONG: [&str; 5] = ["seats", "counter", "slot", "large slot", "buffer"];
const RIGHT: [&str; 4] = [
    "seats at once",
    "counter at once",
    "slot in time",
    "large slot in time",
];

/// A package with a driver, and one beside it with the component.
fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::empty(name, name);
    let explore = workspace().join("conan-explore");
    let package = |name: &str| {
        format!("[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n")
    };
    let component = format!("{name}_component");
    let dependencies = format!(
        "[workspace]\n[dependencies]\n{component} = {{ path = '{component}' }}\n\
         conan-explore = {{ path = '{}' }}\n",
        explore.display()
    );
    scratch.write("Cargo.toml", &(package(name) + &dependencies));
    scratch.write("src/main.rs", DRIVER);
    scratch.write(&format!("{component}/Cargo.toml"), &package(&component));
    scratch.write(&format!("{component}/src/lib.rs"), COMPONENT);
    scratch
}

/// The driver, built.
fn built(scratch: &Scratch, build: &mut Command) -> PathBuf {
    build.args(["build", "--message-format", "json"]);
    let ran = build.ran();
    ran.exits_with(0);
    let executable = ran.stdout.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_driver = message["target"]["name"] == scratch.name();
        let executable = message["executable"].as_str().filter(|_| is_driver)?;
        Some(PathBuf::from(executable))
    });
    executable.unwrap_or_else(|| panic!("cargo built no driver; {ran}"))
}

/// What a driver says of one of its programs.
struct Said<'r> {
    verdict: &'r str,
    executions: u64,
    why: &'r str,
    seeds: u64,
}

fn said(ran: &Ran) -> BTreeMap<&str, Said<'_>> {
    let lines = ran.stdout.lines().filter_map(|line| {
        let (name, rest) = line.split_once(": ")?;
        let (verdict, rest) = rest.split_once(" after ")?;
        let (executions, why) = rest.split_once(": ")?;
        let seeds = ran.stdout.lines().find_map(|line| {
            let rest = line.strip_prefix(name)?.strip_prefix(": ")?;
            rest.strip_suffix(" of 100 seeds fail")
        });
        let said = Said {
            verdict,
            executions: executions.parse().ok()?,
            why,
            seeds: seeds?.parse().ok()?,
        };
        Some((name, said))
    });
    lines.collect()
}

#[test]
fn without_hooks_nothing_is_found_between_blocking_calls() {
    let scratch = scratch("coarse");
    let driver = built(&scratch, &mut scratch.cargo());
    let ran = command(driver, scratch.root()).ran();
    ran.exits_with(0);
    let said = said(&ran);
    for name in WRONG.iter().chain(&RIGHT) {
        let said = &said[name];
        assert_eq!(said.verdict, "passed", "{name}; {ran}");
        // Who begins is all that there is to decide.
        assert_eq!(said.executions, 2, "{name}; {ran}");
        assert_eq!(said.seeds, 0, "{name}; {ran}");
    }
}

#[test]
fn with_hooks_everything_is_found_and_nothing_else() {
    let scratch = scratch("fine");
    let mut build = scratch.cargo();
    build
        .env("RUSTC_WRAPPER", cargo_conan())
        .env("CONAN_FINE", "fine_component");
    let driver = built(&scratch, &mut build);
    let ran = command(&driver, scratch.root()).ran();
    ran.exits_with(0);
    let said = said(&ran);
    for name in WRONG {
        let said = &said[name];
        assert_eq!(said.verdict, "failed", "{name}; {ran}");
        assert!(said.executions <= 20, "{name}; {ran}");
        assert_eq!(said.seeds, 100, "{name}; {ran}");
    }
    for name in RIGHT {
        let said = &said[name];
        assert_eq!(said.verdict, "passed", "{name}; {ran}");
        assert!(said.executions <= 100, "{name}; {ran}");
        assert_eq!(said.seeds, 0, "{name}; {ran}");
    }
    assert_eq!(said["seats"].why, "2 instead of 1", "{ran}");
    assert_eq!(said["counter"].why, "1 instead of 2", "{ran}");

    // A race is told with both of its lines.
    for name in ["slot", "large slot"] {
        let why = said[name].why;
        let line = |marker| {
            let place = place(COMPONENT, marker);
            format!("component/src/lib.rs:{}:", place.line)
        };
        assert!(why.starts_with("data race: thread "), "{why}");
        assert!(why.contains(&line("// races: writes")), "{why}");
        assert!(why.contains(&line("// races: reads")), "{why}");
    }
    assert!(said["buffer"].why.starts_with("data race: "), "{ran}");

    // What was found is found again in another process.
    for name in WRONG {
        let mut lines = ran.stdout.lines();
        let token = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(" token "));
        let token = token.unwrap_or_else(|| panic!("{name} has no token; {ran}"));
        let again = command(&driver, scratch.root()).args([name, token]).ran();
        again.exits_with(0).prints(", fits: true");
        let why = said[name].why.split(':').next().unwrap_or_default();
        again.prints(&format!("{name}: {why}"));
    }
}
