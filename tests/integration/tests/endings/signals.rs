//! SIGINT, SIGTERM and SIGKILL.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use conan_integration::{Run, Scratch};
use serde_json::Value;

use crate::fixture::{Running, SOON, conan, scratch, send, token};

/// Each of these is in the middle of something endless when the signal comes.
fn endless(scratch: &Scratch) -> Vec<Vec<String>> {
    let lines = [
        "run endless.conan",
        "run --clock wall endless.conan",
        "explore -n 1000000000 endless.conan",
        "explore --jobs 2 endless.conan",
        "mutate spins.conan --component src/lib.rs",
        "test --lib is_endless",
        "test --lib --executions 5 is_endless",
    ];
    // The decisions of another sequence do as well as any.
    let token = token(scratch).replace("order_matters", "is_endless");
    let replay = format!("replay spins.conan {token}");
    let runner = format!("runner {} is_endless", test_binary(scratch));
    let lines = lines.map(str::to_owned).into_iter().chain([replay, runner]);
    let words = lines.map(|line| line.split(' ').map(str::to_owned).collect());
    words.collect()
}

/// What cargo builds of the tests.
fn test_binary(scratch: &Scratch) -> String {
    let mut build = scratch.cargo();
    build.args(["test", "--lib", "--no-run", "--message-format", "json"]);
    let ran = build.ran();
    ran.exits_with(0);
    let path = ran.stdout.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_ours = message["target"]["name"] == scratch.name();
        let path = message["executable"].as_str().filter(|_| is_ours);
        path.map(str::to_owned)
    });
    path.expect("cargo names the binary")
}

#[test]
fn an_interrupted_command_prints_what_it_has_found_and_leaves_no_process() {
    let scratch = scratch("ending_signal");
    for words in endless(&scratch) {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        for signal in ["-INT", "-TERM"] {
            let mut command = conan(&scratch, &words);
            let mut running = Running::start(command.stdout(Stdio::piped()));
            running.wait_for_the_process();
            let begun = Instant::now();
            running.signal(signal);
            let mut stdout = String::new();
            let pipe = running.child.stdout.take().expect("it is a pipe");
            let mut pipe = io::BufReader::new(pipe);
            pipe.read_to_string(&mut stdout).expect("it is text");
            let status = running.end();
            assert_eq!(status.code(), Some(130), "{words:?} {signal}: {stdout}");
            assert!(begun.elapsed() < SOON, "{words:?} {signal}");
            if ["run", "explore"].contains(&words[0]) {
                assert!(stdout.contains("is_wrong"), "{words:?} {signal}: {stdout}");
                assert!(stdout.contains("FAILED"), "{words:?} {signal}: {stdout}");
                assert!(stdout.contains("stopped"), "{words:?} {signal}: {stdout}");
            }
        }
    }
}

#[test]
fn a_failure_is_printed_though_its_schedule_is_not_made_simpler_yet() {
    let scratch = scratch("ending_once");
    for format in ["human", "json"] {
        let words = ["explore", "--message-format", format, "once.conan"];
        let mut command = conan(&scratch, &words);
        let mut running = Running::start(command.stdout(Stdio::piped()));
        running.wait_for_the_process();
        running.signal("-INT");
        let mut stdout = String::new();
        let mut pipe = running.child.stdout.take().expect("it is a pipe");
        pipe.read_to_string(&mut stdout).expect("it is text");
        assert_eq!(running.end().code(), Some(130), "{stdout}");
        assert!(
            stdout.contains("cargo conan replay once.conan is_once:"),
            "{stdout}"
        );
        assert!(
            stdout.contains("value error at tick 1, thread a"),
            "{stdout}"
        );
    }
}

#[test]
fn a_killed_command_leaves_no_process_and_no_file() {
    let scratch = scratch("ending_killed");
    let files = scratch.files();
    let in_memory = left_in_memory();
    for words in endless(&scratch) {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let mut command = conan(&scratch, &words);
        let mut running = Running::start(command.stdout(Stdio::null()));
        running.wait_for_the_process();
        running.signal("-KILL");
        let status = running.end();
        assert_eq!(status.signal(), Some(9), "{words:?}");
    }
    assert_eq!(scratch.files(), files);
    let end = Instant::now() + SOON;
    while left_in_memory().difference(&in_memory).next().is_some() {
        assert!(Instant::now() < end, "{:?} is left", left_in_memory());
        thread::yield_now();
    }
}

/// The folders of the command in `/dev/shm`. Other tests have some, too, but not
/// for long.
fn left_in_memory() -> BTreeSet<OsString> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with("conan-"))
        .collect()
}

/// Commands that read a script wait here for what comes through a pipe.
#[test]
fn a_command_that_waits_for_input_can_be_interrupted() {
    let scratch = scratch("ending_waits");
    let made = Command::new("mkfifo")
        .arg("waits.conan")
        .current_dir(scratch.root())
        .status();
    assert!(made.expect("there is mkfifo").success());
    for command in [
        "check", "fmt", "expand", "stats", "run", "explore", "mutate",
    ] {
        for signal in ["-INT", "-TERM"] {
            let mut child = conan(&scratch, &[command, "waits.conan"])
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it can be started");
            // It can be opened for writing when the command is about to read.
            let pipe = File::options()
                .write(true)
                .open(scratch.root().join("waits.conan"))
                .expect("the command opens it, too");
            send(signal, child.id());
            let status = child.wait().expect("it ends");
            assert_eq!(status.code(), Some(130), "{command} {signal}");
            drop(pipe);
        }
    }
}
