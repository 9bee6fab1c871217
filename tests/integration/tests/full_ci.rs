//! `.ci/full`, with a `cargo` in place of the real one that says what it is
//! asked for.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use conan_integration::{Ran, Run, cargo, command, workspace};
use tempfile::TempDir;

/// Fails when it is asked for something with `peers` or `sleepy` in it.
const CARGO: &str = "\
#!/bin/sh
echo \"cargo $*\"
case \"$*\" in *peers*|*sleepy*) exit 101 ;; esac
";

/// Runs it with these arguments.
fn full(arguments: &[&str]) -> Ran {
    let scratch = TempDir::new().expect("a temporary folder can be made");
    let cargo = scratch.path().join("cargo");
    fs::write(&cargo, CARGO).expect("a file can be written");
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = std::env::var("PATH").expect("there is a path");
    command("bash", workspace())
        .arg(".ci/full")
        .args(arguments)
        .env("PATH", format!("{}:{path}", scratch.path().display()))
        .env("CARGO_TARGET_DIR", scratch.path())
        .ran()
}

/// The first word of each line from one that begins with this.
fn first_words<'t>(text: &'t str, from: &str) -> Vec<&'t str> {
    let lines = text.lines().skip_while(|line| !line.starts_with(from));
    lines.filter_map(|line| line.split(' ').next()).collect()
}

#[test]
fn a_step_that_fails_does_not_stop_the_others() {
    let ran = full(&["history", "sleepy", "explore"]);
    ran.exits_with(1)
        .prints("cargo test --manifest-path tests/history/Cargo.toml")
        .prints("cargo bench -p conan-explore");
    let table = first_words(&ran.stdout, "step ");
    assert_eq!(table, ["step", "history", "sleepy", "explore"], "{ran}");
    let row = |name: &str| {
        let rows = ran
            .stdout
            .lines()
            .skip_while(|line| !line.starts_with("step "));
        let row = rows.into_iter().find(|line| line.starts_with(name));
        row.unwrap_or_default().to_owned()
    };
    assert!(row("history").contains(" ok "), "{ran}");
    assert!(row("sleepy").contains(" FAILED (101) "), "{ran}");
    assert!(row("explore").contains(" ok "), "{ran}");
}

#[test]
fn the_steps_that_are_named_are_run_and_no_others() {
    let ran = full(&["explore"]);
    ran.exits_with(0);
    assert_eq!(ran.stdout.matches("==> ").count(), 1, "{ran}");
    assert_eq!(first_words(&ran.stdout, "step "), ["step", "explore"]);

    let ran = full(&["explore", "moon"]);
    ran.exits_with(2).says("there is no step `moon`");
    assert_eq!(ran.stdout, "", "{ran}");
}

#[test]
fn all_steps_of_the_list_are_run_if_none_is_named() {
    let list = full(&["--list"]);
    list.exits_with(0);
    let mut expected = vec!["step"];
    expected.extend(
        list.stdout
            .lines()
            .filter_map(|line| line.split(' ').next()),
    );
    let ran = full(&[]);
    ran.exits_with(1);
    assert_eq!(first_words(&ran.stdout, "step "), expected, "{ran}");
}

#[test]
fn no_bench_of_the_workspace_is_left_out() {
    let script = fs::read_to_string(workspace().join(".ci/full")).expect("it is there");
    let metadata = cargo(workspace())
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .ran();
    let metadata: serde_json::Value = serde_json::from_str(&metadata.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    for package in packages {
        let targets = package["targets"].as_array().expect("targets");
        for bench in targets.iter().filter(|target| target["kind"][0] == "bench") {
            let package = package["name"].as_str().expect("a name");
            let bench = bench["name"].as_str().expect("a name");
            let whole = format!("cargo bench -p {package};");
            let one = format!("cargo bench -p {package} --bench {bench};");
            assert!(
                script.contains(&whole) || script.contains(&one),
                "`.ci/full` does not run the bench {bench} of {package}"
            );
        }
    }
}
