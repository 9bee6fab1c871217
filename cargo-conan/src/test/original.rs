//! Tests as copies of a process that has loaded their binary already: to load it
//! takes longer than most tests. The kernel's `original` has the other side.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{self, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::str::FromStr;

use conan_preload::ORIGINAL;
use nix::fcntl::{FcntlArg, fcntl};
use nix::poll::{PollFd, PollFlags, poll};

use super::execute::{Ran, native};
use super::library::{Library, Settings};
use super::list::Test;
use super::output::read_both;
use super::random::at_fixed_addresses;
use crate::run::interrupt::{self, Group, Running};

/// The longest name of a test that a copy can have. An argument of this length is
/// kept for it: what a process is started with moves its stack.
const LONGEST_NAME: usize = 1000;

/// The longest request, in bytes.
const LONGEST_REQUEST: usize = 8000;

/// For so long nobody listens to a copy, in milliseconds. The test harness writes
/// a few words at a time, and who listens wakes up for each of them.
const DEAF_MS: u8 = 5;

/// What a copy can say before it has to wait for somebody to listen, in bytes: as
/// much as the system gives anybody.
const ROOM: i32 = 1 << 20;

/// The original of the binary that a worker is at.
#[derive(Default)]
pub(super) struct Originals {
    path: PathBuf,
    /// Nothing if no copies can be made of it.
    present: Option<Original>,
}

impl Originals {
    /// The one that has loaded a test's binary; nothing if the test has to be
    /// started by itself.
    pub(super) fn of(&mut self, test: &Test<'_>, library: &Library) -> Option<&mut Original> {
        let name = test.name.as_ref()?;
        if name.len() > LONGEST_NAME {
            return None;
        }
        if self.path != test.binary.path {
            self.path.clone_from(&test.binary.path);
            // The old one goes first.
            self.present = None;
            self.present = Original::start(test, library).ok().flatten();
        }
        self.present.as_mut()
    }
}

/// A process that has loaded a binary and runs nothing.
pub(super) struct Original {
    running: Running,
    /// Nothing once there are no more.
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl Original {
    /// Nothing if the library does not answer from within.
    fn start(test: &Test<'_>, library: &Library) -> io::Result<Option<Self>> {
        let mut command = native(test.binary);
        // In place of the last one comes the name of a test.
        command
            .args(["--nocapture", "--exact", "--include-ignored"])
            .arg("-".repeat(LONGEST_NAME))
            .env(ORIGINAL, "")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        library.load_into(&mut command);
        let mut running = at_fixed_addresses(|| interrupt::start(&mut command, Group::Ours))?;
        let requests = running.stdin.take();
        let Some(replies) = running.stdout.take().map(BufReader::new) else {
            return Ok(None);
        };
        let mut original = Self {
            running,
            requests,
            replies,
        };
        Ok((original.reply()? == "ready").then_some(original))
    }

    /// Runs a test in a copy; nothing if none can be made.
    pub(super) fn copy(&mut self, name: &str, settings: &Settings) -> io::Result<Option<Ran>> {
        let (stdout, stdout_writer) = roomy_pipe()?;
        let (stderr, stderr_writer) = roomy_pipe()?;
        let request = request(name, [&stdout_writer, &stderr_writer], settings);
        if request.len() > LONGEST_REQUEST {
            return Ok(None);
        }
        let Ok(copy) = interrupt::list(|| self.start_copy(&request)) else {
            return Ok(None);
        };
        // The copy has opened them.
        drop((stdout_writer, stderr_writer));
        let output = self.output([stdout, stderr]);
        drop(copy);
        if output.is_err() {
            // Nobody knows what it would say next.
            self.running.end();
        }
        output.map(Some)
    }

    /// What a copy leaves that was started.
    fn output(&mut self, pipes: [PipeReader; 2]) -> io::Result<Ran> {
        self.has_replied_within(DEAF_MS);
        let written = read_both(pipes, || Ok(self.has_replied_within(0)))?;
        let status = number(&self.reply()?, "ended")?;
        Ok(Ran {
            status: ExitStatus::from_raw(status),
            written,
        })
    }

    /// True if a reply comes within this number of milliseconds.
    fn has_replied_within(&self, limit_ms: u8) -> bool {
        if !self.replies.buffer().is_empty() {
            return true;
        }
        let replies = self.replies.get_ref().as_fd();
        let mut asked = [PollFd::new(replies, PollFlags::POLLIN)];
        poll(&mut asked, limit_ms).is_ok_and(|ready| ready > 0)
    }

    /// The number of the process.
    fn start_copy(&mut self, request: &[u8]) -> io::Result<u32> {
        if let Some(requests) = &mut self.requests {
            requests.write_all(request)?;
        }
        number(&self.reply()?, "started")
    }

    fn reply(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.replies.read_line(&mut line)? == 0 {
            return Err(io::Error::other("the process that has made it is gone"));
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        // It ends when there are no more requests.
        drop(self.requests.take());
        let _ = self.running.wait();
    }
}

/// What a copy is to be like. It opens our ends of its output anew.
fn request(name: &str, output: [&PipeWriter; 2], settings: &Settings) -> Vec<u8> {
    let mut request = Vec::new();
    let mut add = |words: &[&[u8]]| {
        request.extend(words.concat());
        request.push(0);
    };
    add(&[name.as_bytes()]);
    for pipe in output {
        let path = format!("/proc/{}/fd/{}", process::id(), pipe.as_raw_fd());
        add(&[path.as_bytes()]);
    }
    for (name, value) in settings {
        add(&[name.as_bytes(), b"=", value.as_bytes()]);
    }
    add(&[]);
    request
}

/// The number in a reply.
fn number<N: FromStr>(reply: &str, word: &str) -> io::Result<N> {
    let number = reply
        .strip_prefix(word)
        .and_then(|rest| rest.trim().parse().ok());
    number.ok_or_else(|| io::Error::other(reply))
}

/// With as much room as can be had.
fn roomy_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    let _ = fcntl(&writer, FcntlArg::F_SETPIPE_SZ(ROOM));
    Ok((reader, writer))
}
