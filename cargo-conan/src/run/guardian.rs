//! A process that cleans up after the command if the command is killed.
//!
//! No process can handle SIGKILL. So the command starts this one, and tells it
//! through a pipe which processes it has started and which files it has made.
//! When the command ends, in whatever way, the system closes the pipe; the
//! guardian then kills the processes that are still listed, removes the files,
//! and ends.
//!
//! A message is a sign (`+` or `-`), a letter (`p` for a process, `g` for a
//! process group, `f` for a file or a folder), a number or a path, and a zero byte.

#[cfg(unix)]
pub(crate) use self::unix::run_if_asked;
#[cfg(unix)]
pub(super) use self::unix::{forget, remove, watch};

#[cfg(unix)]
mod unix {
    use std::collections::BTreeSet;
    use std::env;
    use std::ffi::OsStr;
    use std::io::{self, BufRead, BufReader, Write};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::{ChildStdin, Command, ExitCode, Stdio};
    use std::sync::{Mutex, PoisonError};

    use super::super::interrupt::{Group, Signal, end, remove as remove_path};

    /// The only argument of a guardian.
    const GUARDIAN: &str = "conan-guardian";

    /// Our end of the pipe; nothing if there is no guardian yet.
    static PIPE: Mutex<Option<ChildStdin>> = Mutex::new(None);

    /// Has a process killed when this one ends.
    pub(in super::super) fn watch(id: u32, group: Group) {
        tell(b'+', letter(group), id.to_string().as_bytes());
    }

    /// A process has ended, and its number may be given to another one.
    pub(in super::super) fn forget(id: u32, group: Group) {
        tell(b'-', letter(group), id.to_string().as_bytes());
    }

    /// Has a file or a folder removed when this process ends.
    pub(in super::super) fn remove(path: &Path) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        tell(b'+', b'f', path.as_os_str().as_bytes());
    }

    fn letter(group: Group) -> u8 {
        match group {
            Group::Ours => b'p',
            Group::Own => b'g',
        }
    }

    /// Sends a message. Without a guardian, only a SIGKILL leaves something
    /// behind: no reason to do without the command.
    fn tell(sign: u8, letter: u8, what: &[u8]) {
        let mut pipe = PIPE.lock().unwrap_or_else(PoisonError::into_inner);
        if pipe.is_none() {
            *pipe = start().ok();
        }
        if let Some(pipe) = &mut *pipe {
            let _ = pipe.write_all(&[&[sign, letter], what, &[0]].concat());
        }
    }

    fn start() -> io::Result<ChildStdin> {
        let mut command = Command::new(env::current_exe()?);
        command
            .arg(GUARDIAN)
            .current_dir("/")
            // A Ctrl-C on the terminal is for the others.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn()?;
        child.stdin.ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    /// Is a guardian, if this process was started as one.
    pub(crate) fn run_if_asked() -> Option<ExitCode> {
        let mut arguments = env::args_os().skip(1);
        if arguments.next()? != GUARDIAN || arguments.next().is_some() {
            return None;
        }
        let left = listed(BufReader::new(io::stdin()));
        for (letter, what) in left {
            clean_up(letter, &what);
        }
        Some(ExitCode::SUCCESS)
    }

    /// What is still listed when the pipe is closed.
    fn listed(messages: impl BufRead) -> BTreeSet<(u8, Vec<u8>)> {
        let mut listed = BTreeSet::new();
        for message in messages.split(0).map_while(Result::ok) {
            let Some((&[sign, letter], what)) = message.split_first_chunk() else {
                continue;
            };
            let entry = (letter, what.to_vec());
            match sign {
                b'+' => listed.insert(entry),
                _ => listed.remove(&entry),
            };
        }
        listed
    }

    fn clean_up(letter: u8, what: &[u8]) {
        let group = match letter {
            b'p' => Group::Ours,
            b'g' => Group::Own,
            _ => {
                remove_path(Path::new(OsStr::from_bytes(what)));
                return;
            }
        };
        let id = str::from_utf8(what).ok().and_then(|id| id.parse().ok());
        if let Some(id) = id {
            end(id, group, Signal::Kill);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::listed;

        #[test]
        fn what_was_added_and_not_taken_away_is_left() {
            let messages = b"+p12\0+g7\0+f/a\nb\0-p12\0+p13\0-g8\0";
            let left: Vec<_> = listed(&messages[..]).into_iter().collect();
            let expected = [(b'f', "/a\nb"), (b'g', "7"), (b'p', "13")];
            let expected = expected.map(|(letter, what)| (letter, what.as_bytes().to_vec()));
            assert_eq!(left, expected);
        }

        #[test]
        fn half_a_message_means_nothing() {
            assert!(listed(&b"+\0\0"[..]).is_empty());
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::path::Path;
    use std::process::ExitCode;

    use super::super::interrupt::Group;

    pub(in super::super) fn watch(_: u32, _: Group) {}

    pub(in super::super) fn forget(_: u32, _: Group) {}

    pub(in super::super) fn remove(_: &Path) {}

    pub(crate) fn run_if_asked() -> Option<ExitCode> {
        None
    }
}

#[cfg(not(unix))]
pub(crate) use self::elsewhere::run_if_asked;
#[cfg(not(unix))]
pub(super) use self::elsewhere::{forget, remove, watch};
