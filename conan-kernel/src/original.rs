//! A process that has been loaded and goes no further: an *original*, of which
//! *copies* are made by `fork`. Each goes on as if it had been loaded for itself,
//! which takes longer than most tests.
//!
//! Whoever has started the original writes requests to its standard input and
//! reads replies from its standard output. A request is a list of words, each
//! with a zero behind it, and another zero at the end: the word that takes the
//! place of the last argument, which has room for it; the paths of standard output
//! and of standard error; settings, as in the environment. The replies are lines:
//!
//! ```text
//! ready
//! started 4711
//! ended 256
//! unfit why there will be no copy
//! ```
//!
//! `started` has the copy's number, and says that its output is open; `ended` has
//! its status, as `waitpid` tells it. The original ends when there are no more
//! requests. Between two of them nothing of what a program can see in it changes,
//! so that all copies begin alike.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process;

use crate::parent::end_with_parent;
use crate::settings::Settings;

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn dup2(from: c_int, to: c_int) -> c_int;
    fn _exit(code: c_int) -> !;
}

/// What a request may be long, in bytes.
const LONGEST: usize = 1 << 13;

/// A program's last argument: the room that is kept for it.
pub struct LastArgument(&'static mut [u8]);

impl LastArgument {
    /// # Safety
    ///
    /// The arguments must be those that `main` is going to have, and nobody may
    /// have looked at them yet.
    pub unsafe fn of(count: c_int, arguments: *mut *mut c_char) -> Option<Self> {
        let last = usize::try_from(count).ok()?.checked_sub(1)?;
        // SAFETY: the caller vouches for it: there are so many, each ends with a
        // zero, and all may be written to.
        unsafe {
            let start = *arguments.add(last);
            let length = CStr::from_ptr(start).count_bytes();
            Some(Self(std::slice::from_raw_parts_mut(start.cast(), length)))
        }
    }

    fn has_room_for(&self, word: &[u8]) -> bool {
        word.len() <= self.0.len()
    }

    fn set(&mut self, word: &[u8]) {
        let (start, rest) = self.0.split_at_mut(word.len());
        start.copy_from_slice(word);
        rest.fill(0);
    }
}

/// What a copy is to be like.
struct Request<'r> {
    argument: &'r [u8],
    output: &'r Path,
    errors: &'r Path,
    settings: Vec<&'r [u8]>,
}

impl<'r> Request<'r> {
    /// Nothing if it is not whole.
    fn parse(bytes: &'r [u8]) -> Option<Self> {
        let words = bytes.strip_suffix(b"\0\0")?;
        let mut words = words.split(|&byte| byte == 0);
        let mut path = || Some(Path::new(OsStr::from_bytes(words.next()?)));
        Some(Self {
            argument: path()?.as_os_str().as_bytes(),
            output: path()?,
            errors: path()?,
            settings: words.collect(),
        })
    }
}

/// Waits for requests, and makes a copy for each. Comes back in copies only.
/// There must be no other thread.
pub(crate) fn serve(mut last: LastArgument) -> Settings {
    // SAFETY: the process was started with them for this.
    let [mut requests, mut replies] =
        [0, 1].map(|number| ManuallyDrop::new(unsafe { File::from_raw_fd(number) }));
    let mut say = |text: &str| {
        if replies.write_all(text.as_bytes()).is_err() {
            end();
        }
    };
    let nothing = match alone().and_then(|()| File::open("/dev/null")) {
        Ok(nothing) => nothing,
        Err(why) => {
            say(&format!("unfit {why}\n"));
            end();
        }
    };
    say("ready\n");
    let mut bytes = Vec::with_capacity(LONGEST);
    loop {
        bytes.clear();
        while Request::parse(&bytes).is_none() {
            let before = bytes.len();
            bytes.resize(LONGEST, 0);
            match requests.read(&mut bytes[before..]) {
                Ok(0) => end(),
                Ok(more) => bytes.truncate(before + more),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => bytes.truncate(before),
                Err(_) => end(),
            }
        }
        let Some(request) = Request::parse(&bytes) else {
            continue;
        };
        if !last.has_room_for(request.argument) {
            say("unfit the test has too long a name\n");
            continue;
        }
        let open = |path: &Path| OpenOptions::new().write(true).open(path);
        let (output, errors) =
            match open(request.output).and_then(|output| Ok((output, open(request.errors)?))) {
                Ok(both) => both,
                Err(why) => {
                    say(&format!("unfit {why}\n"));
                    continue;
                }
            };
        let own = process::id();
        // SAFETY: this is the only thread.
        let copy = unsafe { fork() };
        if copy < 0 {
            say(&format!("unfit {}\n", io::Error::last_os_error()));
            continue;
        }
        if copy == 0 {
            end_with_parent(own);
            for (number, file) in [&nothing, &output, &errors].into_iter().enumerate() {
                // SAFETY: requests and replies are the original's affair.
                unsafe { dup2(file.as_raw_fd(), number as c_int) };
            }
            last.set(request.argument);
            return Settings::of(request.settings.into_iter());
        }
        drop((output, errors));
        say(&format!("started {copy}\n"));
        match wait_for(copy) {
            Ok(status) => say(&format!("ended {status}\n")),
            // Whoever listens sees that it is not known.
            Err(_) => end(),
        }
    }
}

/// Only the thread that calls `fork` is there in a copy.
fn alone() -> io::Result<()> {
    match fs::read_dir("/proc/self/task")?.count() {
        1 => Ok(()),
        _ => Err(io::Error::other("it has several threads before it begins")),
    }
}

/// How the copy has ended. The system does not tell where SIGCHLD is ignored.
fn wait_for(copy: c_int) -> io::Result<c_int> {
    let mut status = 0;
    // SAFETY: the system writes one number.
    while unsafe { waitpid(copy, &raw mut status, 0) } < 0 {
        let failure = io::Error::last_os_error();
        if failure.kind() != io::ErrorKind::Interrupted {
            return Err(failure);
        }
    }
    Ok(status)
}

/// Nothing of the program has begun, so nothing of it is to end.
fn end() -> ! {
    // SAFETY: ends the process.
    unsafe { _exit(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_when_it_is_whole() {
        let whole = b"a::test\0/out\0/err\0A=1\0B=2\0\0";
        let request = Request::parse(whole).expect("it is whole");
        assert_eq!(request.argument, b"a::test");
        assert_eq!(request.output, Path::new("/out"));
        assert_eq!(request.errors, Path::new("/err"));
        assert_eq!(request.settings, [b"A=1", b"B=2"]);
        for length in 0..whole.len() {
            assert!(Request::parse(&whole[..length]).is_none(), "{length}");
        }
        assert!(Request::parse(b"a::test\0\0").is_none());
    }

    #[test]
    fn an_argument_takes_the_place_of_the_last_one() {
        let mut program = *b"program\0";
        let mut room = *b"......\0";
        let mut arguments = [program.as_mut_ptr().cast(), room.as_mut_ptr().cast()];
        // SAFETY: there are two, and they end with a zero.
        let last = unsafe { LastArgument::of(2, arguments.as_mut_ptr()) };
        let mut last = last.expect("there is one");
        assert!(last.has_room_for(b"a::bcd"));
        assert!(!last.has_room_for(b"a::bcde"));
        last.set(b"a::b");
        assert_eq!(room, *b"a::b\0\0\0");
        assert_eq!(program, *b"program\0");
        // SAFETY: there is none to look at.
        assert!(unsafe { LastArgument::of(0, arguments.as_mut_ptr()) }.is_none());
    }
}
