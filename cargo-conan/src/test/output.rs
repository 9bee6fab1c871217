//! What a process writes, up to its end, and hardly longer.
//!
//! A child of the process may live on and hold its output open, so that it does not
//! come to its end with the process.

#[cfg(target_os = "linux")]
pub(super) use linux::read_both;

/// What a process has written.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// The name of another process that holds the output open after the end of this
    /// one, if there is such.
    pub(super) leaks: Option<String>,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::fs::{self, DirEntry};
    use std::io::{self, Read};
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
    use std::os::unix::ffi::OsStrExt;
    use std::time::{Duration, Instant};

    use nix::errno::Errno;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::Written;

    /// How long the output of a process that has ended may stay open.
    const GRACE: Duration = Duration::from_millis(200);

    /// How often to look whether the process has ended, in milliseconds. Without a child
    /// that lives on, its output tells that.
    const PERIOD_MS: u16 = 20;

    /// What a process that has ended may have left in its pipes, in bytes, is no more than
    /// this. A child that lives on and goes on to write does not keep us.
    const ROOM: usize = 4 << 20;

    /// Reads both, to their ends or until a while after `has_ended`.
    pub(in super::super) fn read_both<R: Read + AsFd>(
        pipes: [R; 2],
        mut has_ended: impl FnMut() -> io::Result<bool>,
    ) -> io::Result<Written> {
        let mut read = [Vec::new(), Vec::new()];
        let mut leaks = None;
        let mut open: Vec<_> = pipes.into_iter().zip(&mut read).collect();
        let mut part = vec![0; 1 << 16];
        let mut ended: Option<Instant> = None;
        let mut left = ROOM;
        while !open.is_empty() {
            let pipes = open.iter().map(|(pipe, _)| pipe.as_fd());
            let mut asked: Vec<_> = pipes
                .map(|pipe| PollFd::new(pipe, PollFlags::POLLIN))
                .collect();
            let ready = match poll(&mut asked, PollTimeout::from(PERIOD_MS)) {
                Ok(ready) => ready,
                Err(Errno::EINTR) => continue,
                Err(failure) => return Err(failure.into()),
            };
            let is_ready: Vec<_> = asked.iter().map(|it| it.any() != Some(false)).collect();
            let mut still = Vec::new();
            let mut count_of_all = 0;
            for ((mut pipe, text), is_ready) in open.into_iter().zip(is_ready) {
                let count = if is_ready { pipe.read(&mut part)? } else { 0 };
                text.extend_from_slice(&part[..count]);
                count_of_all += count;
                if !is_ready || count > 0 {
                    still.push((pipe, text));
                }
            }
            open = still;
            match ended {
                None if !open.is_empty() && has_ended()? => ended = Some(Instant::now()),
                None => {}
                Some(ended) => {
                    left = left.saturating_sub(count_of_all);
                    if ended.elapsed() >= GRACE && (ready == 0 || left == 0) {
                        let pipes = open.iter().map(|(pipe, _)| pipe.as_fd());
                        leaks = holder(pipes);
                        if leaks.is_some() {
                            break;
                        }
                    }
                }
            }
        }
        let [stdout, stderr] = read;
        Ok(Written {
            stdout,
            stderr,
            leaks,
        })
    }

    /// The name of a process that has one of these pipes open: one that has got it
    /// from the test. Between `fork` and `exec` processes that we start have all of
    /// ours, for a moment; they look like us.
    fn holder<'p>(pipes: impl Iterator<Item = BorrowedFd<'p>>) -> Option<String> {
        let link = |path: String| fs::read_link(path).ok();
        let pipes: Vec<_> = pipes
            .filter_map(|pipe| link(format!("/proc/self/fd/{}", pipe.as_raw_fd())))
            .collect();
        let own = link("/proc/self/exe".to_owned());
        let is_number = |name: &OsString| name.as_bytes().iter().all(u8::is_ascii_digit);
        let processes = fs::read_dir("/proc").ok()?.flatten();
        let mut processes = processes.filter(|process| is_number(&process.file_name()));
        let holds = |process: &DirEntry| {
            let path = process.path();
            let descriptors = fs::read_dir(path.join("fd"))
                .into_iter()
                .flatten()
                .flatten();
            let mut links = descriptors.filter_map(|it| fs::read_link(it.path()).ok());
            fs::read_link(path.join("exe")).ok() != own && links.any(|it| pipes.contains(&it))
        };
        let holder = processes.find(holds)?;
        let name = fs::read_to_string(holder.path().join("comm")).unwrap_or_default();
        Some(name.trim_end().to_owned())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{self, Write};
    use std::process::{Command, Stdio};

    use super::read_both;

    #[test]
    fn output_is_read_to_its_end() {
        let (first, mut to_first) = io::pipe().expect("a pipe");
        let (second, to_second) = io::pipe().expect("a pipe");
        to_first.write_all(b"all of it").expect("there is room");
        drop((to_first, to_second));
        let written = read_both([first, second], || Ok(false)).expect("it can be read");
        assert_eq!(written.stdout, b"all of it");
        assert_eq!(written.leaks, None);
    }

    #[test]
    fn output_that_another_process_holds_after_the_end_leaks() {
        let (first, mut to_first) = io::pipe().expect("a pipe");
        let (second, to_second) = io::pipe().expect("a pipe");
        to_first.write_all(b"all of it").expect("there is room");
        drop(to_second);
        let mut child = Command::new("cat");
        let child = child.stdin(Stdio::piped()).stdout(to_first);
        let mut child = child.spawn().expect("there is `cat`");
        let written = read_both([first, second], || Ok(true)).expect("it can be read");
        assert_eq!(written.stdout, b"all of it");
        assert_eq!(written.leaks.as_deref(), Some("cat"));
        drop(child.stdin.take());
        child.wait().expect("it ends");
    }
}
