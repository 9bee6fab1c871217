//! Standard output that is full or closed, and a full disk.

use std::fs::{self, File};
use std::io::{self, Read};
use std::process::{Command, Stdio};

use conan_integration::Run;

use crate::fixture::{Running, conan, ended, scratch, token};

/// What a command writes to standard output with which it cannot be reached,
/// and its exit code if it can be.
const COMMANDS: [(&[&str], i32); 13] = [
    (&["check", "--message-format", "json", "broken.conan"], 2),
    (&["check", "--message-format", "github", "broken.conan"], 2),
    (&["fmt", "--check", "ugly.conan"], 1),
    (&["expand", "order.conan"], 0),
    (&["stats", "order.conan"], 0),
    (&["explain", "CN001"], 0),
    (&["--help"], 0),
    (&["run", "wrong.conan"], 1),
    (&["explore", "order.conan"], 1),
    (&["explore", "--message-format", "json", "order.conan"], 1),
    (
        &["test", "--lib", "--message-format", "json", "is_wrong"],
        101,
    ),
    (
        &["test", "--lib", "--message-format", "short", "is_wrong"],
        101,
    ),
    (
        &[
            "mutate",
            "--list",
            "right.conan",
            "--component",
            "src/lib.rs",
        ],
        0,
    ),
];

#[test]
fn a_full_disk_behind_standard_output_is_an_error() {
    let scratch = scratch("ending_full");
    for (words, code) in COMMANDS {
        conan(&scratch, words).ran().exits_with(code);
        let full = File::options().write(true).open("/dev/full");
        let mut command = conan(&scratch, words);
        command.stdout(full.expect("Linux has it"));
        let (status, said) = ended(command.stderr(Stdio::piped()));
        assert_eq!(status.code(), Some(2), "{words:?}: {said}");
        let message = "error: cannot write to standard output: No space left on device";
        assert!(said.contains(message), "{words:?}: {said}");
    }
    // What reads a token, or writes files.
    let token = token(&scratch);
    let words: [&[&str]; 2] = [&["replay", "order.conan", &token], &["merge", "part.json"]];
    let part = conan(
        &scratch,
        &["explore", "--message-format", "json", "order.conan"],
    )
    .ran();
    scratch.write("part.json", &part.stdout);
    for words in words {
        let full = File::options().write(true).open("/dev/full");
        let mut command = conan(&scratch, words);
        command.stdout(full.expect("Linux has it"));
        let (status, said) = ended(command.stderr(Stdio::piped()));
        assert_eq!(status.code(), Some(2), "{words:?}: {said}");
    }
}

/// A failure that was found is told by the exit code.
#[test]
fn a_closed_pipe_ends_a_command_quietly_and_never_hides_a_failure() {
    let scratch = scratch("ending_closed");
    for (words, code) in COMMANDS {
        let mut command = conan(&scratch, words);
        let (reader, writer) = io::pipe().expect("there are pipes");
        drop(reader);
        command.stdout(writer).stderr(Stdio::piped());
        let (status, said) = ended(&mut command);
        // A command that was stopped before it knew its verdict says so.
        let is_stopped = status.code() == Some(4) && ["run", "explore", "test"].contains(&words[0]);
        let is_known = status.code() == Some(code);
        assert!(is_known || is_stopped, "{words:?}: {status}, {said}");
        for word in ["panicked", "Broken pipe", "cannot write"] {
            assert!(!said.contains(word), "{words:?}: {said}");
        }
    }
}

/// The reader goes away while a sequence runs that never ends.
#[test]
fn a_pipe_that_is_closed_in_the_middle_ends_the_driver() {
    let scratch = scratch("ending_middle");
    for words in [&["run", "endless.conan"], &["explore", "endless.conan"]] {
        let mut command = conan(&scratch, words);
        let mut running = Running::start(command.stdout(Stdio::piped()));
        running.wait_for_the_process();
        // The first sequence has failed, and its report is read to its end; then
        // nothing is.
        let mut stdout = running.child.stdout.take().expect("it is a pipe");
        let mut byte = [0];
        assert_eq!(stdout.read(&mut byte).expect("there is a report"), 1);
        drop(stdout);
        assert_eq!(running.end().code(), Some(1), "{words:?}");
    }
}

/// Everything that the command writes is on a disk of this size.
#[test]
fn a_full_disk_is_an_error_and_not_a_script_that_does_not_compile() {
    let scratch = scratch("ending_disk");
    let small = scratch.root().join("small");
    fs::create_dir(&small).expect("a folder can be made");
    for (size, words) in [
        ("16k", &["run", "wrong.conan"][..]),
        ("16k", &["explore", "order.conan"]),
        ("200k", &["run", "wrong.conan"]),
        (
            "200k",
            &["mutate", "right.conan", "--component", "src/lib.rs"],
        ),
    ] {
        let conan = conan_integration::cargo_conan().display().to_string();
        // A disk that only the command sees.
        let script = format!(
            "mount -t tmpfs -o size={size} tmpfs small && CARGO_TARGET_DIR=$PWD/small exec \
             {conan} conan \"$@\""
        );
        let mut command = Command::new("unshare");
        command.args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            &script,
            "sh",
        ]);
        command.args(words).current_dir(scratch.root());
        let ran = command.ran();
        if ran.stderr.contains("unshare: ") {
            // Containers may forbid to make a disk of one's own.
            eprintln!("not tested, because it is not allowed here: {}", ran.stderr);
            return;
        }
        ran.exits_with(2).never_mentions("did not compile");
        assert!(
            ran.stderr.contains("No space left") || ran.stderr.contains("no space"),
            "{ran}"
        );
    }
}
