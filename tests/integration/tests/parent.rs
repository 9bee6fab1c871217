//! What the command has started ends when the command does, however that comes
//! about, and on a signal of its own.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use conan_integration::{LIMIT, Scratch, crate_with};

/// A process must end in this time. It would go on for minutes.
const SOON: Duration = Duration::from_secs(30);

/// Tells the test which process it is; the connection lives as long as the process.
const TELL: &str = r#"
pub fn tell() {
    use std::io::Write;
    static TOLD: std::sync::Once = std::sync::Once::new();
    TOLD.call_once(|| {
        let address = std::env::var("TELL").expect("the test says where it listens");
        let mut stream = std::net::TcpStream::connect(address).expect("the test listens");
        writeln!(stream, "{}", std::process::id()).expect("the test reads");
        std::mem::forget(stream);
    });
}

pub fn spin() {
    loop {
        std::hint::spin_loop();
    }
}

pub fn wait_for_ever() {
    let lock = std::sync::Mutex::new(());
    drop(std::sync::Condvar::new().wait(lock.lock().unwrap()));
}
"#;

/// A command on its way, and a process that it has started.
struct Started {
    command: Child,
    process: u32,
    stream: BufReader<TcpStream>,
}

impl Started {
    fn by(command: &mut Command) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = listener.local_addr().expect("it has an address");
        command.env("TELL", address.to_string());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let command = command.spawn().expect("the command can be started");
        let (sender, accepted) = mpsc::channel();
        thread::spawn(move || sender.send(listener.accept()));
        let accepted = accepted.recv_timeout(LIMIT);
        let (stream, _) = accepted.expect("a process tells").expect("it connects");
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).expect("it says its number");
        let process = line.trim().parse().expect("it is a number");
        Self {
            command,
            process,
            stream,
        }
    }

    /// The process ends, and soon.
    fn ends(mut self, what: &str) {
        let limited = self.stream.get_ref().set_read_timeout(Some(SOON));
        limited.expect("a time-out can be set");
        let ended = self.stream.read(&mut [0]);
        let is_over = match &ended {
            Ok(read) => *read == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        };
        if !is_over {
            signal("-KILL", self.process);
        }
        let _ = self.command.kill();
        let _ = self.command.wait();
        assert!(is_over, "{what}: the process lives on: {ended:?}");
    }
}

fn signal(name: &str, process: u32) {
    let mut kill = Command::new("kill");
    let sent = kill.args([name, &process.to_string()]).status();
    assert!(sent.expect("there is `kill`").success(), "{name} {process}");
}

/// A sequence of two threads, of which one does this; if that never ends, the thread
/// is meant to be suspended.
fn script(call: &str) -> String {
    let stays = if call.is_empty() { "" } else { "#stays <one>" };
    format!(
        "
#begin one
    {stays}
    #tick
        #thread <one>
            CRATE::tell();
            {call};
        #end
        #thread <other>
            std::thread::yield_now();
        #end
    #end
#end
"
    )
}

/// What a sequence does, and the words of the command: the driver would go on for
/// minutes.
const RUNS: [(&str, &[&str]); 4] = [
    ("CRATE::spin()", &["explore", "one.conan", "-n", "1000000"]),
    (
        "",
        &["explore", "one.conan", "-n", "1000000000", "--jobs", "1"],
    ),
    (
        "CRATE::wait_for_ever()",
        &[
            "run",
            "one.conan",
            "--clock",
            "wall",
            "--ticktime",
            "1000000",
        ],
    ),
    (
        "CRATE::spin()",
        &[
            "run",
            "one.conan",
            "--clock",
            "wall",
            "--ticktime",
            "1000000",
        ],
    ),
];

#[test]
fn a_driver_ends_when_the_command_is_killed() {
    let scratch = Scratch::new("driver_of_killed");
    scratch.write("src/lib.rs", TELL);
    for (call, words) in RUNS {
        scratch.write("one.conan", &script(call));
        let mut started = Started::by(scratch.conan().args(words));
        started.command.kill().expect("it runs");
        started.ends(&format!("{call} {words:?}"));
    }
}

#[test]
fn a_driver_ends_by_a_signal_whatever_the_component_does() {
    let scratch = Scratch::new("driver_and_signal");
    scratch.write("src/lib.rs", TELL);
    for (call, words) in RUNS {
        scratch.write("one.conan", &script(call));
        for name in ["-TERM", "-INT"] {
            let started = Started::by(scratch.conan().args(words));
            signal(name, started.process);
            started.ends(&format!("{name} {call} {words:?}"));
        }
    }
}

/// A test that does not end.
const TEST: &str = r"
#[test]
fn spins() {
    tell();
    spin();
}
";

#[test]
fn a_test_ends_when_the_command_is_killed() {
    let scratch = crate_with("test_of_killed", "", &format!("{TELL}{TEST}"));
    for words in [
        &["test", "--lib"][..],
        &["test", "--lib", "--executions", "100"],
    ] {
        let mut started = Started::by(scratch.conan().args(words).args(["--", "--exact", "spins"]));
        started.command.kill().expect("it runs");
        started.ends(&format!("{words:?}"));
    }
}
