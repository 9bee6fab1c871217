//! Every script fails on the broken release, in the way that its snapshot has,
//! and passes on the mended one.

use std::path::Path;
use std::process::Command;
use std::{env, fs, iter};

use serde_json::Value;

#[test]
fn channels() {
    broken_then_mended("channels");
}

#[test]
fn events() {
    broken_then_mended("events");
}

#[test]
fn locks() {
    broken_then_mended("locks");
}

fn broken_then_mended(folder: &str) {
    let broken = reports(folder, "broken");
    let fixed = reports(folder, "fixed");
    let names = |reports: &[Value]| -> Vec<String> { reports.iter().map(script_of).collect() };
    assert_eq!(names(&broken), names(&fixed), "the same scripts");

    for (broken, fixed) in broken.iter().zip(&fixed) {
        let script = script_of(broken);
        for report in [broken, fixed] {
            assert_eq!(report["inexact"], Value::Array(Vec::new()), "{script}");
        }
        assert_eq!(
            fixed["verdict"], "passed",
            "{script}: {}",
            fixed["rendered"]
        );
        assert_eq!(broken["verdict"], "failed", "{script} finds nothing");
        let stem = script.trim_end_matches(".conan");
        let errors = errors(broken);
        let first = errors.lines().next().unwrap_or_default();
        println!("{folder}/{script}: {first}; mended: passed");
        insta::assert_snapshot!(format!("{folder}_{stem}"), errors);
    }
}

/// Builds and runs the scripts of a folder against one set of releases. The
/// reports are in the order of the scripts' names; a script has one sequence.
fn reports(folder: &str, releases: &str) -> Vec<Value> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(folder)
        .join(releases);
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = scratch.join(format!("{folder}-{releases}.json"));
    // The runtime adds to it.
    if file.exists() {
        fs::remove_file(&file).expect("the reports of the last run can be removed");
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["run", "--quiet", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(scratch.with_file_name("releases"))
        .env("RUST_BACKTRACE", "0")
        .env("CONAN_CLOCK", "virtual")
        .env("CONAN_REPORT", &file);
    let output = cargo.output().expect("cargo can be started");
    let code = output.status.code();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let expected = i32::from(releases == "broken");
    assert_eq!(code, Some(expected), "{folder}/{releases}: {stderr}");

    let text = fs::read_to_string(&file).expect("the runtime writes its reports");
    let lines = text.lines();
    let reports = lines.map(|line| serde_json::from_str(line).expect("a report is JSON"));
    reports.collect()
}

/// The name of a report's script, without the folders of this machine.
fn script_of(report: &Value) -> String {
    let path = Path::new(text(&report["script"]));
    let name = path.file_name().expect("a script is a file");
    name.to_string_lossy().into_owned()
}

/// The errors of a report, one a paragraph. Not the whole text: tables and
/// markers belong to other tests.
fn errors(report: &Value) -> String {
    let errors = report["errors"].as_array().expect("a list of errors");
    let each = errors.iter().map(|error| {
        let field = |name: &str| text(&error[name]).to_owned();
        let (kind, thread, message) = (field("kind"), field("thread"), field("message"));
        let (tick, line) = (&error["tick"], &error["line"]);
        let said =
            format!("{kind} error at tick {tick}, thread {thread}, line {line}: {message}\n");
        let values = ["expected", "actual"].into_iter();
        let values = values.filter(|name| error[name].is_string());
        let values = values.map(|name| format!("  {name}: {}\n", field(name)));
        let notes = error["notes"].as_array().into_iter().flatten();
        let notes = notes.map(|note| format!("  {}\n", anywhere(text(note))));
        iter::once(said).chain(values).chain(notes).collect()
    });
    each.collect::<Vec<String>>().join("\n")
}

/// A note without the folders of this machine: what is before the package of
/// the registry, or before this folder.
fn anywhere(note: &str) -> String {
    let words = note.split(' ').map(|word| {
        let registry = word
            .split_once("/registry/src/")
            .and_then(|(_, rest)| rest.split_once('/'));
        let here = word.strip_prefix(concat!(env!("CARGO_MANIFEST_DIR"), "/"));
        registry.map(|(_, path)| path).or(here).unwrap_or(word)
    });
    words.collect::<Vec<_>>().join(" ")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
