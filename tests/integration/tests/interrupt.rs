//! Ctrl-C in the middle of `cargo conan run`, and of `cargo conan mutate`.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use conan_integration::{LIMIT, Run, Scratch, target};

/// Ticks longer than any test may take: it ends because the process does.
const SCRIPT: &str = r#"
#ticktime 240000

#begin waits_for_minutes
    #tick
        #thread
            eprintln!("the driver is process {}", std::process::id());
        #end
    #end
    #tick
        #thread
            #valueCheck time() # 2 #end
        #end
    #end
#end
"#;

/// An interruption must be heard in this time, whatever the script does.
const SOON: Duration = Duration::from_secs(30);

fn signal(name: &str, target: &str) {
    let mut kill = Command::new("kill");
    let sent = kill.args([name, "--", target]).status();
    let sent = sent.expect("there is `kill`");
    assert!(sent.success(), "{name} could not be sent to {target}");
}

/// A run on its way.
struct Running {
    child: Child,
    /// What is written to standard error. The channel closes when nobody is
    /// left who could write: neither the command nor a child of it.
    lines: mpsc::Receiver<String>,
    /// The driver's process, when it has come so far.
    driver: Option<String>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        command.stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command can be started");
        let stderr = child.stderr.take().expect("standard error is a pipe");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(stderr).lines().map_while(Result::ok);
            lines.map(|line| sender.send(line)).for_each(drop);
        });
        Self {
            child,
            lines,
            driver: None,
        }
    }

    fn hear(&mut self, limit: Duration) -> Result<String, mpsc::RecvTimeoutError> {
        let line = self.lines.recv_timeout(limit)?;
        if let Some(id) = line.strip_prefix("the driver is process ") {
            self.driver = Some(id.to_owned());
        }
        Ok(line)
    }

    /// Waits until the driver is at its first tick.
    fn wait_for_the_driver(&mut self) {
        while self.driver.is_none() {
            let heard = self.hear(LIMIT);
            heard.expect("the driver comes to its first tick");
        }
    }

    /// Waits until nobody is left, which must be soon. Returns how the command
    /// ended, and the rest of what was said.
    fn end(mut self) -> (ExitStatus, String) {
        let end = Instant::now() + SOON;
        let mut rest = String::new();
        loop {
            match self.hear(end.saturating_duration_since(Instant::now())) {
                Ok(line) => rest.push_str(&format!("{line}\n")),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    if let Some(driver) = &self.driver {
                        signal("-KILL", driver);
                    }
                    panic!("a process is left over, {SOON:?} after the signal; it said: {rest}");
                }
            }
        }
        (self.child.wait().expect("it has ended"), rest)
    }
}

/// Who gets the signal.
#[derive(Clone, Copy)]
enum To {
    /// The command alone, as with `kill`.
    Command,
    /// All processes in the foreground, as on a terminal.
    All,
}

/// Starts a run, and sends it a signal when the first tick has come.
fn interrupt(scratch: &Scratch, name: &str, to: To) -> (ExitStatus, String) {
    scratch.write("slow.conan", SCRIPT);
    let mut command = scratch.conan();
    command.args(["run", "--clock", "wall", "slow.conan"]);
    command.stdout(Stdio::null()).process_group(0);
    let mut running = Running::start(&mut command);
    running.wait_for_the_driver();
    let id = running.child.id();
    match to {
        To::Command => signal(name, &id.to_string()),
        To::All => signal(name, &format!("-{id}")),
    }
    running.end()
}

/// A command on its way, of which something has told us that it runs. It waits for
/// the end of the connection.
struct Told {
    running: Running,
    stream: TcpStream,
}

impl Told {
    /// Starts the command as a terminal does, in a group of its own, and waits for
    /// whoever is to tell us, which is `what`.
    fn by(command: &mut Command, what: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = listener.local_addr().expect("it has an address");
        command.env("TELL", address.to_string());
        command.stdout(Stdio::null()).process_group(0);
        let running = Running::start(command);
        let (sender, accepted) = mpsc::channel();
        thread::spawn(move || sender.send(listener.accept()));
        let accepted = accepted.recv_timeout(LIMIT);
        let accepted = accepted.unwrap_or_else(|_| panic!("{what} does not come to run"));
        let (stream, _) = accepted.expect("it connects");
        Self { running, stream }
    }

    /// Sends the command a signal, which must soon end who has told us, and all
    /// others. Returns the rest of what was said.
    fn interrupt(mut self, name: &str, to: To) -> String {
        let id = self.running.child.id();
        match to {
            To::Command => signal(name, &id.to_string()),
            To::All => signal(name, &format!("-{id}")),
        }
        let limited = self.stream.set_read_timeout(Some(SOON));
        limited.expect("a time-out can be set");
        let ended = self.stream.read(&mut [0]);
        // It may be cut off in either way.
        let is_over = ended.as_ref().map_or_else(is_reset, |read| *read == 0);
        assert!(is_over, "it lives on: {ended:?}");
        let (status, rest) = self.running.end();
        assert_eq!(status.code(), Some(130), "{rest}");
        assert!(rest.contains("interrupted"), "{rest}");
        rest
    }
}

fn is_reset(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::ConnectionReset
}

#[test]
fn an_interrupted_run_ends_its_driver_and_says_so() {
    let scratch = Scratch::new("interrupted");
    let mut files = scratch.files();
    files.insert(PathBuf::from("slow.conan"));
    for to in [To::Command, To::All] {
        let (status, rest) = interrupt(&scratch, "-INT", to);
        assert_eq!(status.code(), Some(130), "{rest}");
        assert!(rest.contains("interrupted"), "{rest}");
        assert!(!rest.contains("panicked"), "{rest}");
        // No sequence is to blame.
        assert!(!rest.contains("had reported"), "{rest}");
        nothing_is_left(&scratch, &files);
    }
    // And the next run is none the worse.
    let mut again = scratch.conan();
    let ran = again.args(["run", "--ticktime", "20", "slow.conan"]).ran();
    ran.exits_with(0).prints_line("Test cases: 1");
}

/// A job of a CI that is cancelled, or runs out of time.
#[test]
fn a_terminated_run_ends_its_driver_too() {
    let scratch = Scratch::new("terminated");
    let (status, rest) = interrupt(&scratch, "-TERM", To::Command);
    assert!(!status.success(), "{rest}");
}

/// Neither in the crate nor under the target directory.
fn nothing_is_left(scratch: &Scratch, files: &BTreeSet<PathBuf>) {
    assert_eq!(scratch.files(), *files, "nothing is left in the crate");
    let folder = target().join("integration/conan/run");
    let entries = fs::read_dir(&folder).expect("runs have scratch packages");
    let entries = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().contains(scratch.name())
    });
    let mut pending: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    assert!(!pending.is_empty(), "{} is in use", folder.display());
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_draft = entry.file_name().to_string_lossy().starts_with(".tmp");
            assert!(!is_draft, "{} is half-written", path.display());
            if path.is_dir() {
                pending.push(path);
            }
        }
    }
}

/// Tells the test that the build is under way, and waits for the end.
const BUILD: &str = r#"
use std::io::Read;
fn main() {
    let address = std::env::var("TELL").expect("the test says whom to tell");
    let mut stream = std::net::TcpStream::connect(address).expect("the test listens");
    let _ = stream.read(&mut [0]);
}
"#;

#[test]
fn an_interrupted_build_ends_cargo_and_what_cargo_started() {
    let scratch = Scratch::new("interrupted_build");
    scratch.write("slow.conan", SCRIPT);
    scratch.write("build.rs", BUILD);
    let files = scratch.files();
    let mut command = scratch.conan();
    command.args(["run", "slow.conan"]);
    let told = Told::by(&mut command, "the build script");
    // As a terminal does it: all processes in the foreground get the signal.
    let rest = told.interrupt("-INT", To::All);
    // It is no mistake of the package's.
    assert!(!rest.contains("did not compile"), "{rest}");
    nothing_is_left(&scratch, &files);
}

/// Waits until the test lets it go.
const HELD: &str = r#"
#begin is_held
    #tick
        #thread
            use std::io::Read;
            let address = std::env::var("TELL")?;
            let mut stream = std::net::TcpStream::connect(address)?;
            let _ = stream.read(&mut [0]);
        #end
    #end
#end
"#;

#[test]
fn a_run_whose_reader_goes_away_leaves_no_driver_behind() {
    let scratch = Scratch::new("reader_gone");
    let (head, slow) = SCRIPT.split_once("#begin").expect("there is a sequence");
    let first = HELD.replace("is_held", "is_read");
    scratch.write("slow.conan", &format!("{head}{first}{HELD}\n#begin{slow}"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = listener.local_addr().expect("it has an address");
    let (sender, accepted) = mpsc::channel();
    thread::spawn(move || {
        let accepted = listener.incoming().flatten();
        accepted.map(|stream| sender.send(stream)).for_each(drop);
    });
    let mut command = scratch.conan();
    command.args(["run", "--clock", "wall", "slow.conan"]);
    command.env("TELL", address.to_string());
    let mut running = Running::start(command.stdout(Stdio::piped()));
    // `| head -1`: the first report is read, and the second by nobody.
    drop(
        accepted
            .recv_timeout(LIMIT)
            .expect("the first sequence runs"),
    );
    let stdout = running.child.stdout.take();
    let mut stdout = BufReader::new(stdout.expect("standard output is a pipe"));
    let mut line = String::new();
    let read = stdout.read_line(&mut line);
    read.expect("the first report comes");
    assert_eq!(line, "slow.conan\n");
    let held = accepted.recv_timeout(LIMIT);
    let held = held.expect("the second sequence runs");
    drop(stdout);
    drop(held);
    let (status, rest) = running.end();
    assert!(!rest.contains("panicked"), "{rest}");
    assert_ne!(status.code(), Some(101), "{rest}");
}

/// Only a mutant finds that something is wrong, tells the test, and hangs.
const TELLING: &str = r#"
pub struct Teller(pub bool);

impl Teller {
    pub fn call(&self) {
        if self.0 {
            use std::io::Read;
            let address = std::env::var("TELL").expect("the test says whom to tell");
            let mut stream = std::net::TcpStream::connect(address).expect("the test listens");
            let _ = stream.read(&mut [0]);
        }
    }
}
"#;

const CALLING: &str = "
#cut t CRATE::Teller(false)

#begin calls
    #tick
        #thread
            #excMonitor t.call(); #end
        #end
    #end
#end
";

#[test]
fn an_interrupted_mutation_ends_the_mutant_that_runs() {
    let scratch = Scratch::new("interrupted_mutation");
    scratch.write("src/lib.rs", TELLING);
    scratch.write("call.conan", CALLING);
    let files = scratch.files();
    for to in [To::Command, To::All] {
        let mut command = scratch.conan();
        command.args(["mutate", "call.conan", "--component", "src/lib.rs"]);
        Told::by(&mut command, "the mutant").interrupt("-INT", to);
        assert_eq!(scratch.files(), files, "nothing is left in the crate");
        assert_eq!(scratch.read("src/lib.rs"), TELLING);
    }
    // And the next one is none the worse.
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = listener.local_addr().expect("it has an address");
    thread::spawn(move || listener.incoming().for_each(drop));
    let mut again = scratch.conan();
    again.args(["mutate", "call.conan", "--component", "src/lib.rs"]);
    let ran = again.env("TELL", address.to_string()).ran();
    ran.exits_with(1).prints_line("score: 0 of 1, 0 %");
}

/// Tells the test that it runs, and waits for the end.
#[cfg(target_os = "linux")]
const OLD: &str = r#"#![cfg(test)]

#[test]
fn is_short() {}

#[test]
fn tells_and_waits() {
    use std::io::Read;
    let address = std::env::var("TELL").expect("the test says whom to tell");
    let mut stream = std::net::TcpStream::connect(address).expect("the test listens");
    let _ = stream.read(&mut [0]);
}
"#;

#[cfg(target_os = "linux")]
#[test]
fn interrupted_old_tests_end_and_so_does_what_they_are_copied_from() {
    let scratch = conan_integration::crate_with("interrupted_old", "", OLD);
    for (name, to) in [
        ("-INT", To::Command),
        ("-INT", To::All),
        ("-TERM", To::Command),
    ] {
        let mut command = scratch.conan();
        command.args(["test", "--lib"]);
        let told = Told::by(&mut command, "the test");
        let group = told.running.child.id();
        let rest = told.interrupt(name, to);
        // No test is to blame.
        assert!(!rest.contains("FAIL"), "{rest}");
        assert!(!rest.contains("cannot run"), "{rest}");
        nobody_is_left_in(group);
    }
}

/// Processes that are ended may take a moment.
#[cfg(target_os = "linux")]
fn nobody_is_left_in(group: u32) {
    let end = Instant::now() + SOON;
    while let Some(stat) = anybody_in(group) {
        assert!(Instant::now() < end, "a process is left: {stat}");
        thread::yield_now();
    }
}

/// A process of a group that has not ended, as the system describes it.
#[cfg(target_os = "linux")]
fn anybody_in(group: u32) -> Option<String> {
    let processes = fs::read_dir("/proc").expect("there is a list");
    let mut stats =
        processes.filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok());
    stats.find(|stat| {
        // Behind the name: the state, the parent, the group.
        let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
        let words: Vec<_> = behind.split_whitespace().collect();
        words.first() != Some(&"Z") && words.get(2) == Some(&&*group.to_string())
    })
}
