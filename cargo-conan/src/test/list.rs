//! Which tests a binary has: it says so itself, and chooses by itself.

use std::collections::HashSet;
use std::process::Stdio;

use super::args::Request;
use super::build::Binary;
use super::execute::native;
use crate::exit::{Stop, error};
use crate::run::interrupt::{self, Group, Running};

/// A test of a binary, or a binary without a harness as a whole.
#[derive(Debug, Clone)]
pub(super) struct Test<'b> {
    pub(super) binary: &'b Binary,
    /// Nothing for a binary as a whole.
    pub(super) name: Option<String>,
    /// True if it is marked as such.
    pub(super) is_ignored: bool,
}

impl Test<'_> {
    /// `package::binary test::name`
    pub(super) fn full_name(&self) -> String {
        match &self.name {
            Some(name) => format!("{} {name}", self.binary.name),
            None => self.binary.name.clone(),
        }
    }
}

/// The tests that were asked for.
pub(super) fn list<'b>(binary: &'b Binary, request: &Request) -> Stop<Vec<Test<'b>>> {
    if !binary.has_harness {
        return Ok(vec![Test {
            binary,
            name: None,
            is_ignored: false,
        }]);
    }
    let all = names(binary, request, &[])?;
    let ignored: HashSet<String> = names(binary, request, &["--ignored"])?
        .into_iter()
        .collect();
    let tests = all.into_iter().map(|name| Test {
        binary,
        is_ignored: ignored.contains(&name),
        name: Some(name),
    });
    Ok(tests.collect())
}

fn names(binary: &Binary, request: &Request, more: &[&str]) -> Stop<Vec<String>> {
    let mut command = native(binary);
    let is_ours = |word: &&std::ffi::OsStr| {
        ![
            "--ignored",
            "--include-ignored",
            "--nocapture",
            "--no-capture",
            "--show-output",
        ]
        .iter()
        .any(|ours| word == ours)
    };
    command
        .args(request.choice().filter(is_ours))
        .args(["--list", "--format", "terse"])
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    let started = interrupt::start(&mut command, Group::Ours);
    let output = started.and_then(Running::output).map_err(|failure| {
        error(format_args!(
            "cannot start {}: {failure}",
            binary.path.display()
        ))
    })?;
    if !output.status.success() {
        return Err(error(format_args!(
            "{} does not list its tests: {}",
            binary.name, output.status
        )));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let name = |line: &str| {
        let (name, kind) = line.rsplit_once(": ")?;
        matches!(kind, "test" | "benchmark").then(|| name.to_owned())
    };
    Ok(text.lines().filter_map(name).collect())
}
