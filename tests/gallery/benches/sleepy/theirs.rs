//! The tests of a crate.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cargo_metadata::Message;

use crate::suite::{Home, Suite, Test};
use crate::unpack::Copy;

/// A binary with tests, and the file of the tests that are in it; all files for
/// the tests among a crate's sources.
pub(crate) struct Binary {
    path: PathBuf,
    file: Option<String>,
}

/// Builds the binaries that have these tests.
pub(crate) fn build(suite: &Suite, package: &Copy, tests: &[Test]) -> Result<Vec<Binary>, String> {
    let mut files: Vec<&str> = tests.iter().map(|test| test.file.as_str()).collect();
    files.dedup();
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args([
            "test",
            "--no-run",
            "--release",
            "--message-format",
            "json-render-diagnostics",
        ])
        .arg("--target-dir")
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("sleepy/target"))
        .current_dir(&package.folder)
        // Their warnings are not ours to mend.
        .env("RUSTFLAGS", "--cap-lints allow")
        .stderr(Stdio::inherit());
    match suite.home {
        Home::Tests => files
            .iter()
            .for_each(|file| _ = cargo.args(["--test", file])),
        Home::Sources(_) => _ = cargo.arg("--lib"),
    }
    let output = cargo.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("the tests of {} do not build", suite.package));
    }
    let messages = Message::parse_stream(output.stdout.as_slice());
    let binaries = messages.filter_map(|message| match message {
        Ok(Message::CompilerArtifact(artifact)) if artifact.profile.test => {
            let file = matches!(suite.home, Home::Tests).then_some(artifact.target.name);
            let path = artifact.executable?.into_std_path_buf();
            Some(Binary { path, file })
        }
        _ => None,
    });
    Ok(binaries.collect())
}

/// What came of a run.
pub(crate) struct Ran {
    /// The time that it took.
    pub(crate) took: Duration,
    /// The tests that failed.
    pub(crate) failed: Vec<String>,
}

/// Runs these tests and no others, one binary after the other as cargo does.
/// That some of them fail is no error: on a busy machine, tests that sleep do.
pub(crate) fn run(suite: &Suite, binaries: &[Binary], tests: &[Test]) -> Result<Ran, String> {
    let (mut took, mut passed, mut failed) = (Duration::ZERO, 0, Vec::new());
    for binary in binaries {
        let is_here = |test: &&Test| binary.file.as_ref().is_none_or(|file| *file == test.file);
        let names = tests
            .iter()
            .filter(is_here)
            .map(|test| full_name(suite, test));
        let mut command = Command::new(&binary.path);
        command.arg("--exact").args(names);
        let begun = Instant::now();
        let output = command.output().map_err(|error| error.to_string())?;
        took += begun.elapsed();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            // `test condvar::tests::wait_for ... ok`
            let Some((name, verdict)) = line
                .strip_prefix("test ")
                .and_then(|rest| rest.split_once(" ... "))
            else {
                continue;
            };
            match verdict {
                "ok" => passed += 1,
                _ => failed.push(name.to_owned()),
            }
        }
    }
    let (ran, wanted) = (passed + failed.len(), tests.len());
    if ran == wanted {
        return Ok(Ran { took, failed });
    }
    Err(format!(
        "{} has {ran} of {wanted} tests that are restated",
        suite.package
    ))
}

/// The name of a test in its binary.
fn full_name(suite: &Suite, test: &Test) -> String {
    let Test { file, name } = test;
    match suite.home {
        Home::Tests => (*name).to_owned(),
        Home::Sources(None) => format!("{file}::{name}"),
        Home::Sources(Some(module)) => format!("{file}::{module}::{name}"),
    }
}
