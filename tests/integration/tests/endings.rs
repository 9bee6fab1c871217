//! How commands end when their output cannot be written, and when they are
//! ended by a signal: the table in the book, cell by cell.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use conan_integration::{LIMIT, Run, Scratch};
use serde_json::Value;

/// A component whose calls can fail, and whose calls can go on for ever.
const LIBRARY: &str = "\
use std::sync::{Condvar, Mutex};

#[derive(Default)]
pub struct Register(Mutex<u32>, Condvar);

impl Register {
    pub fn set(&self, value: u32) {
        *self.0.lock().unwrap() = value;
        self.1.notify_all();
    }

    pub fn wait(&self) {
        let mut value = self.0.lock().unwrap();
        while *value == 0 {
            value = self.1.wait(value).unwrap();
        }
    }

    pub fn get(&self) -> u32 {
        *self.0.lock().unwrap()
    }
}

/// Says which process runs, and computes until that is ended.
pub fn spins() {
    let path = std::env::var(\"PROCESS\").expect(\"the test says where\");
    std::fs::write(path, std::process::id().to_string()).expect(\"it can be written\");
    loop {
        std::hint::spin_loop();
    }
}

/// Is wrong at first. Later calls in the same process are endless.
pub fn is_wrong_once() -> bool {
    use std::sync::atomic::{AtomicBool, Ordering};
    static WAS_CALLED: AtomicBool = AtomicBool::new(false);
    if WAS_CALLED.swap(true, Ordering::SeqCst) {
        spins();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_wrong() {
        let register = Register::default();
        register.set(1);
        assert_eq!(register.get(), 2);
    }

    #[test]
    fn is_endless() {
        if std::env::var_os(\"PROCESS\").is_some() {
            spins();
        }
    }
}
";

const TOP: &str = "
#cut r Register::default()

#top
    use CRATE::{Register, is_wrong_once, spins};
#end
";

/// Holds in the default order, and in no other.
const ORDER: &str = "
#begin order_matters
    #tick
        #thread <a> #excMonitor r.set(1); #end #end
        #thread <b> #excMonitor r.set(2); #end #end
    #end
    #tick
        #thread <a> #valueCheck r.get() # 2 #end #end
    #end
#end
";

const WRONG: &str = "
#begin is_wrong
    #tick
        #thread <a> #valueCheck r.get() # 1 #end #end
    #end
#end
";

const RIGHT: &str = "
#begin is_right
    #tick
        #thread <a> #excMonitor r.wait(); #end #end
    #end
    #tick
        #thread <b> #excMonitor r.set(1); #end #end
    #end
#end
";

const SPINS: &str = "
#begin is_endless
    #tick
        #thread <a> #excMonitor spins(); #end #end
    #end
#end
";

/// The schedule of its failure is made simpler for ever.
const ONCE: &str = "
#begin is_once
    #tick
        #thread <a> #valueCheck is_wrong_once() # false #end #end
    #end
#end
";

fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write("src/lib.rs", LIBRARY);
    scratch.write("order.conan", &(TOP.to_owned() + ORDER));
    scratch.write("right.conan", &(TOP.to_owned() + RIGHT));
    scratch.write("wrong.conan", &(TOP.to_owned() + WRONG));
    scratch.write("endless.conan", &(TOP.to_owned() + WRONG + SPINS));
    scratch.write("once.conan", &(TOP.to_owned() + ONCE));
    scratch.write("spins.conan", &(TOP.to_owned() + SPINS));
    scratch.write("ugly.conan", &(TOP.to_owned() + WRONG).replace("    ", ""));
    scratch.write("broken.conan", "#begin\n");
    scratch
}

fn conan(scratch: &Scratch, words: &[&str]) -> Command {
    let mut command = scratch.conan();
    command.args(words);
    command
}

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

/// Every command that is printed can be pasted into a shell.
#[test]
fn the_printed_replay_command_can_be_pasted() {
    let scratch = Scratch::in_folder("ending_pasted", "a folder");
    scratch.write("src/lib.rs", LIBRARY);
    scratch.write("it's order.conan", &(TOP.to_owned() + ORDER));
    for words in [
        &["explore", "it's order.conan"][..],
        &[
            "explore",
            "--steps",
            "50000",
            "--ticktime",
            "50",
            "it's order.conan",
        ],
        &[
            "explore",
            "--spurious",
            "1",
            "--package",
            "ending_pasted",
            "it's order.conan",
        ],
        &["explore", "--fine", "it's order.conan"],
        &["test", "--lib", "--executions", "3", "is_wrong"],
    ] {
        let ran = conan(&scratch, words).ran();
        let text = ran.stdout.clone() + &ran.stderr;
        let line = text.lines().find_map(|line| line.strip_prefix("replay: "));
        let line = line.unwrap_or_else(|| panic!("{words:?} prints no command; {ran}"));
        let pasted = line.replace("cargo conan", "\"$CONAN\" conan");
        let mut shell = conan_integration::command("sh", scratch.root());
        shell.args(["-c", &pasted]);
        shell.env("CONAN", conan_integration::cargo_conan());
        let again = shell.ran();
        assert_eq!(again.code, ran.code, "{line}: {again}");
        let has_failed = again.stdout.contains("FAILED") || again.stderr.contains("FAIL");
        assert!(has_failed, "{line}: {again}");
    }
}

#[test]
fn a_token_of_a_program_with_hooks_is_refused_without_them() {
    let scratch = scratch("ending_hooks");
    let ran = conan(&scratch, &["explore", "--fine", "order.conan"]).ran();
    let token = printed_token(&ran.stdout);
    conan(&scratch, &["replay", "order.conan", &token])
        .ran()
        .exits_with(2)
        .says("the token was recorded with `--fine`");
    conan(&scratch, &["replay", "--fine", "order.conan", &token])
        .ran()
        .exits_with(1);
}

#[test]
fn a_replay_that_takes_another_path_has_no_verdict() {
    let scratch = scratch("ending_path");
    let token = token(&scratch);
    let other = ORDER.replace("#thread <b>", "#thread <c> #end #thread <b>");
    scratch.write("order.conan", &(TOP.to_owned() + &other));
    conan(&scratch, &["replay", "order.conan", &token])
        .ran()
        .exits_with(4)
        .says("the replay took a different path");
}

/// Every command in every format: something is printed, and as JSON each line
/// is an object.
#[test]
fn every_command_has_four_formats() {
    let scratch = scratch("ending_formats");
    let token = token(&scratch);
    let part = conan(
        &scratch,
        &["explore", "--message-format", "json", "order.conan"],
    )
    .ran();
    scratch.write("part.json", &part.stdout);
    let commands: [&[&str]; 10] = [
        &["check", "broken.conan"],
        &["fmt", "--check", "ugly.conan"],
        &["expand", "order.conan"],
        &["stats", "order.conan"],
        &["explain", "CN001"],
        &["run", "wrong.conan"],
        &["explore", "order.conan"],
        &["replay", "order.conan", &token],
        &["merge", "part.json"],
        &["test", "--lib", "is_wrong"],
    ];
    for words in commands {
        for format in ["human", "short", "json", "github"] {
            let ran = conan(&scratch, words)
                .args(["--message-format", format])
                .ran();
            let text = ran.stdout.clone() + &ran.stderr;
            assert!(!text.trim().is_empty(), "{words:?} {format}: {ran}");
            if format == "json" {
                assert!(!ran.stdout.is_empty(), "{words:?}: {ran}");
                for line in ran.stdout.lines() {
                    let value: Result<Value, _> = serde_json::from_str(line);
                    assert!(
                        value.is_ok_and(|value| value.is_object()),
                        "{words:?}: {line}"
                    );
                }
            }
            if format == "github" && words[0] != "expand" {
                assert!(ran.stdout.contains("::"), "{words:?}: {ran}");
            }
        }
    }
    for (number, format) in ["human", "short", "json", "github"].into_iter().enumerate() {
        let name = format!("made_{number}");
        let words = ["new", "--message-format", format, &name];
        let ran = conan(&scratch, &words).ran();
        ran.exits_with(0)
            .prints(&format!("tests/scripts/{name}.conan"));
    }
}

/// What comes next must come soon.
const SOON: Duration = Duration::from_secs(20);

fn send(signal: &str, process: u32) {
    let sent = Command::new("kill")
        .args([signal, &process.to_string()])
        .status();
    assert!(sent.expect("there is kill").success());
}

/// The end of a command that ends by itself, and what it said.
fn ended(command: &mut Command) -> (ExitStatus, String) {
    let mut child = command.spawn().expect("it can be started");
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = stderr.read_to_string(&mut said);
    }
    (child.wait().expect("it ends"), said)
}

fn token(scratch: &Scratch) -> String {
    let ran = conan(scratch, &["explore", "order.conan"]).ran();
    printed_token(&ran.stdout)
}

/// The last word of the command that is printed, or the one before the options.
fn printed_token(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("replay: "));
    let line = line.unwrap_or_else(|| panic!("no command was printed: {text}"));
    let token = line.split(' ').find(|word| word.contains(':'));
    token.expect("a token has a colon").to_owned()
}

/// A command whose child process says that it runs.
struct Running {
    child: Child,
    /// Where the child process writes its number.
    file: tempfile::TempDir,
    process: Option<u32>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let file = tempfile::TempDir::new().expect("a folder can be made");
        command.env("PROCESS", file.path().join("id"));
        let child = command.process_group(0).stderr(Stdio::null()).spawn();
        Self {
            child: child.expect("it can be started"),
            file,
            process: None,
        }
    }

    fn wait_for_the_process(&mut self) {
        let end = Instant::now() + LIMIT;
        while self.process.is_none() {
            assert!(Instant::now() < end, "the process does not come to run");
            let text = fs::read_to_string(self.file.path().join("id")).unwrap_or_default();
            self.process = text.parse().ok();
            thread::yield_now();
        }
    }

    fn signal(&self, signal: &str) {
        send(signal, self.child.id());
    }

    /// How the command has ended. Its child process must be gone soon, too.
    fn end(mut self) -> ExitStatus {
        let status = self.child.wait().expect("it ends");
        let process = self.process.expect("it has run");
        let end = Instant::now() + SOON;
        while is_alive(process) {
            assert!(Instant::now() < end, "process {process} lives on");
            thread::yield_now();
        }
        status
    }
}

/// False for a process that has ended, also if its end was not waited for yet.
fn is_alive(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    !matches!(behind.trim_start().chars().next(), None | Some('Z' | 'X'))
}
