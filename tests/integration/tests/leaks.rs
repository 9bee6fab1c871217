//! `cargo conan test`: a child of a test that outlives it, and holds its output open,
//! does not keep us.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;

use conan_integration::{Run, crate_with, json, result, results};
use serde_json::Value;

/// The children wait until the fifo is opened for writing.
const TESTS: &str = r#"#![cfg(test)]

use std::process::{Command, Stdio};

fn waiting() -> Command {
    let mut child = Command::new("cat");
    child.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/fifo"));
    child
}

#[test]
fn leaves_a_child_with_its_output() {
    println!("before the end");
    waiting().spawn().unwrap();
}

#[test]
fn leaves_a_child_with_output_of_its_own() {
    waiting().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
}

#[test]
fn leaves_none() {}
"#;

#[test]
fn a_child_that_outlives_its_test_is_not_waited_for() {
    let scratch = crate_with("leaks", "", TESTS);
    let fifo = scratch.root().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("there is `mkfifo`").success());
    let _released = Released(&fifo);
    for words in [&[][..], &["--clock", "wall"]] {
        let ran = json(&scratch, words);
        ran.exits_with(0);
        let (tests, _) = results(&ran);
        for (name, leaks) in [
            ("leaves_a_child_with_its_output", Value::from("cat")),
            ("leaves_a_child_with_output_of_its_own", Value::Null),
            ("leaves_none", Value::Null),
        ] {
            let test = result(&tests, name);
            assert_eq!(test["leaks"], leaks, "{words:?}: {test:#}");
        }
        let test = result(&tests, "leaves_a_child_with_its_output");
        let stdout = test["stdout"].to_string();
        assert!(stdout.contains("before the end"), "{test:#}");
    }
    let ran = scratch.conan().args(["test", "--lib"]).ran();
    ran.says("(leaks: `cat` lives on and holds its output open)");
}

/// Lets the children go on, and end, when the test has ended in whatever way.
struct Released<'p>(&'p Path);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        // With both ends open this does not wait for the children.
        let fifo = fs::OpenOptions::new().read(true).write(true).open(self.0);
        drop(fifo);
    }
}
