//! A signal ends a process in which all threads of the program are managed, as it
//! ends any other.
//!
//! The test harness has a thread of its own, which would take each signal. So the
//! processes here have no harness: `main` is the owner of a world.

mod common;

use std::ffi::c_int;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};
use std::{env, hint, process, thread};

use common::{run_to_the_end, spawn, world};
use conan_kernel::stay_aboard;
use libtest_mimic::{Arguments, Failed, Trial};

const SIGINT: c_int = 2;
const SIGTERM: c_int = 15;

unsafe extern "C" {
    fn raise(signal: c_int) -> c_int;
    fn kill(process: c_int, signal: c_int) -> c_int;
}

fn main() -> ExitCode {
    if let Ok(what) = env::var(WHAT) {
        return be(&what);
    }
    let mut trials = Vec::new();
    for handover in ["contexts", "threads"] {
        let mut add = |what: &str, run: Box<dyn FnOnce() -> Result<(), Failed> + Send>| {
            let name = format!("a_process_that_{what}_ends_on_{handover}").replace(' ', "_");
            trials.push(Trial::test(name, run));
        };
        for (what, _) in BY_ITSELF {
            add(what, Box::new(move || ends_by_itself(what, handover)));
        }
        for (what, _) in FROM_OUTSIDE {
            add(what, Box::new(move || ends_from_outside(what, handover)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// What a managed thread does.
type Job = (&'static str, fn());

/// These send SIGTERM themselves.
const BY_ITSELF: [Job; 3] = [
    ("raises", || {
        // SAFETY: numbers only.
        unsafe { raise(SIGTERM) };
    }),
    ("raises in another thread", || {
        // SAFETY: numbers only.
        let _ = thread::spawn(|| unsafe { raise(SIGTERM) }).join();
    }),
    ("sends to its process", || {
        // SAFETY: numbers only.
        unsafe { kill(process::id() as c_int, SIGTERM) };
    }),
];

/// These go on until a signal comes from outside.
const FROM_OUTSIDE: [Job; 4] = [
    ("spins", || {
        ready();
        loop {
            hint::spin_loop();
        }
    }),
    ("yields for ever", || {
        ready();
        loop {
            thread::yield_now();
        }
    }),
    ("sleeps again and again", || {
        ready();
        loop {
            thread::sleep(Duration::from_secs(1));
        }
    }),
    ("is suspended", ready),
];

/// The variable that says which of them the calling process is to do.
const WHAT: &str = "CONAN_TEST_SIGNALS";

fn ready() {
    println!("\nready");
}

/// Runs a world in which a thread does this; one after the other, as an exploration
/// does, if a signal is to come from outside.
fn be(what: &str) -> ExitCode {
    let mut jobs = BY_ITSELF.into_iter().chain(FROM_OUTSIDE);
    let (_, job) = jobs.find(|(name, _)| *name == what).unwrap();
    stay_aboard(|| {
        loop {
            let mut world = world();
            spawn(&mut world, "waits for ever", || {
                let lock = Mutex::new(());
                drop(Condvar::new().wait(lock.lock().unwrap()));
            });
            spawn(&mut world, "ends", job);
            run_to_the_end(&mut world);
            if BY_ITSELF.iter().any(|(name, _)| *name == what) {
                return ExitCode::SUCCESS;
            }
        }
    })
}

fn ends_by_itself(what: &str, handover: &str) -> Result<(), Failed> {
    expect(Process::start(what, handover).status(), SIGTERM)
}

fn ends_from_outside(what: &str, handover: &str) -> Result<(), Failed> {
    for signal in [SIGTERM, SIGINT] {
        let mut process = Process::start(what, handover);
        process.is_ready();
        process.send(signal);
        expect(process.status(), signal)?;
    }
    Ok(())
}

fn expect(status: ExitStatus, signal: c_int) -> Result<(), Failed> {
    if status.signal() == Some(signal) {
        return Ok(());
    }
    Err(format!("signal {signal} was to end it, but it ended with {status}").into())
}

/// Ends with the test.
struct Process(Child);

impl Process {
    fn start(what: &str, handover: &str) -> Self {
        let mut command = Command::new(env::current_exe().expect("there is a path"));
        command.env(WHAT, what).env("CONAN_HANDOVER", handover);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        Self(command.spawn().expect("it can be started"))
    }

    fn is_ready(&mut self) {
        let stdout = self.0.stdout.take().expect("it is a pipe");
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "ready"), "it ended before");
    }

    fn send(&self, signal: c_int) {
        // SAFETY: numbers only; the process has not been waited for.
        unsafe { kill(self.0.id() as c_int, signal) };
    }

    /// Waits for its end, which must come in this time.
    fn status(mut self) -> ExitStatus {
        const LIMIT: Duration = Duration::from_secs(60);
        let begun = Instant::now();
        loop {
            match self.0.try_wait().expect("it is our child") {
                Some(status) => return status,
                None if begun.elapsed() > LIMIT => {
                    let _ = self.0.kill();
                    return self.0.wait().expect("it has been killed");
                }
                None => thread::yield_now(),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}
