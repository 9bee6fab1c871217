//! Stopping early: on SIGINT and SIGTERM, and when standard output fails.
//!
//! A signal sets a flag and ends the processes that run on our behalf. The
//! command itself then comes to its end in the ordinary way, and prints what it
//! has found so far. A command that does not come to its end soon is ended.

use std::fs;
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, ExitStatus, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use super::guardian;
use crate::exit::{Exit, Stop, error};
use crate::output;

/// True once a signal has come.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// True if the command prints what it has found before it ends.
static HAS_FINDINGS: AtomicBool = AtomicBool::new(false);

/// True while a child process has the terminal, and handles Ctrl-C itself.
static HAS_FOREGROUND: AtomicBool = AtomicBool::new(false);

/// Held for reading while a process is started or a file is replaced. Taken
/// for writing by the signal handler: afterwards all processes are listed.
static BUSY: RwLock<()> = RwLock::new(());

/// The processes that run on our behalf at this moment.
static RUNNING: Mutex<Vec<(u32, Group)>> = Mutex::new(Vec::new());

/// Files and folders that are of no use without us.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A process that was asked to end is killed after this time.
const GRACE: Duration = Duration::from_millis(300);

/// A command that has not ended after this time is ended.
const PATIENCE: Duration = Duration::from_millis(600);

/// How often to look whether something has come.
const PERIOD: Duration = Duration::from_millis(5);

/// How long a signal to this process may take, after a child has received it.
const DELAY: Duration = Duration::from_millis(100);

/// The process group that a process is started in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// Ours: a Ctrl-C on the terminal reaches it, too.
    Ours,
    /// One of its own, so that it can be ended with all that it has started.
    Own,
}

/// Begins to handle SIGINT and SIGTERM. Without [`will_report`], the command
/// ends at once.
pub(crate) fn listen() -> Stop<()> {
    ctrlc::set_handler(handle)
        .map_err(|failure| error(format_args!("cannot listen for Ctrl-C: {failure}")))
}

/// Says that this command prints what it has found when it is interrupted.
pub(crate) fn will_report() {
    HAS_FINDINGS.store(true, Ordering::SeqCst);
}

/// The signal handler: a thread of its own, so it may do everything.
fn handle() {
    if HAS_FOREGROUND.load(Ordering::SeqCst) {
        return;
    }
    INTERRUPTED.store(true, Ordering::SeqCst);
    drop(BUSY.write().unwrap_or_else(PoisonError::into_inner));
    end_all();
    if HAS_FINDINGS.load(Ordering::SeqCst) {
        // The command ends the process meanwhile.
        thread::sleep(PATIENCE);
    }
    announce();
    remove_temporary();
    process::exit(Exit::Interrupted as i32);
}

/// Says that the command was interrupted. The line before it may be unfinished:
/// a terminal shows `^C` there.
pub(crate) fn announce() {
    output::err(format_args!("\ninterrupted\n"));
}

/// Asks all processes to end, and kills those that have not ended in time.
fn end_all() {
    for &(id, group) in running().iter() {
        end(id, group, Signal::Terminate);
    }
    let limit = Instant::now() + GRACE;
    while !running().is_empty() && Instant::now() < limit {
        thread::sleep(PERIOD);
    }
    for &(id, group) in running().iter() {
        end(id, group, Signal::Kill);
    }
}

/// Removes the files and folders that are of no use without us.
fn remove_temporary() {
    locked(&TEMPORARY).iter().for_each(|path| remove(path));
}

/// Removes a file, or a folder with all that is in it; it may be gone already.
pub(super) fn remove(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn running() -> MutexGuard<'static, Vec<(u32, Group)>> {
    locked(&RUNNING)
}

/// True once the command has received a signal.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// True if the command should go no further.
pub(crate) fn must_stop() -> bool {
    is_interrupted() || output::state() != output::Output::Open
}

/// Goes no further if the command should not.
pub(crate) fn checkpoint() -> Stop<()> {
    if must_stop() {
        return Err(exit(false));
    }
    Ok(())
}

/// The exit code of a command that has stopped early, after it has found a
/// failure or not.
pub(crate) fn exit(has_failed: bool) -> Exit {
    match output::state() {
        _ if is_interrupted() => Exit::Interrupted,
        output::Output::Failed => Exit::Wrong,
        _ if has_failed => Exit::Failed,
        _ => Exit::Undecided,
    }
}

/// True if the command should go no further, or is about to learn so: on a
/// terminal, a Ctrl-C may end a child process before this process knows of it.
pub(crate) fn is_stopping() -> bool {
    let limit = Instant::now() + DELAY;
    while !must_stop() && Instant::now() < limit {
        thread::sleep(PERIOD);
    }
    must_stop()
}

/// What the failure of a child process comes to: it is not the child's failure
/// if it is the consequence of an interruption.
pub(crate) fn unless_stopped(otherwise: impl FnOnce() -> Exit) -> Exit {
    if is_stopping() {
        exit(false)
    } else {
        otherwise()
    }
}

/// Remembers a file or a folder that is removed when this process ends, in whatever way.
pub(crate) fn remove_with_us(path: &Path) {
    let mut temporary = locked(&TEMPORARY);
    if !temporary.iter().any(|known| known == path) {
        guardian::remove(path);
        temporary.push(path.to_owned());
    }
}

/// Does something that must not be interrupted half-way.
pub(crate) fn uninterrupted<R>(work: impl FnOnce() -> R) -> R {
    let _busy = BUSY.read().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Runs a process that has the terminal, such as a debugger, to its end. A Ctrl-C
/// is for that process.
pub(crate) fn run_in_foreground(command: &mut Command) -> io::Result<ExitStatus> {
    let mut running = start(command, Group::Ours)?;
    HAS_FOREGROUND.store(true, Ordering::SeqCst);
    let status = running.wait();
    HAS_FOREGROUND.store(false, Ordering::SeqCst);
    status
}

/// Starts a process that ends when this one does.
pub(crate) fn start(command: &mut Command, group: Group) -> io::Result<Running> {
    #[cfg(unix)]
    if group == Group::Own {
        use std::os::unix::process::CommandExt;
        command.process_group(0);
    }
    let child = listed(group, || command.spawn(), Child::id)?;
    let (child, listed) = child;
    Ok(Running { child, listed })
}

/// Has a process started by another process, which returns its number.
#[cfg(target_os = "linux")]
pub(crate) fn list(start: impl FnOnce() -> io::Result<u32>) -> io::Result<Listed> {
    let (_, listed) = listed(Group::Ours, start, |id| *id)?;
    Ok(listed)
}

fn listed<T>(
    group: Group,
    start: impl FnOnce() -> io::Result<T>,
    id: impl FnOnce(&T) -> u32,
) -> io::Result<(T, Listed)> {
    let _busy = BUSY.read().unwrap_or_else(PoisonError::into_inner);
    if is_interrupted() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let started = start()?;
    let listed = Listed::new(id(&started), group);
    Ok((started, listed))
}

/// A process while it runs.
pub(crate) struct Running {
    child: Child,
    listed: Listed,
}

impl Running {
    /// Waits for the end of the process and returns its output.
    pub(crate) fn output(self) -> io::Result<Output> {
        let Self { child, listed } = self;
        let output = child.wait_with_output();
        drop(listed);
        output
    }

    /// Ends the process at once, and what it has started if it is a group.
    pub(crate) fn end(&mut self) {
        let Listed { id, group } = self.listed;
        if group == Group::Own {
            end(id, group, Signal::Kill);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

/// A process's place among those that run on our behalf.
pub(crate) struct Listed {
    id: u32,
    group: Group,
}

impl Listed {
    fn new(id: u32, group: Group) -> Self {
        guardian::watch(id, group);
        running().push((id, group));
        Self { id, group }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        running().retain(|(id, _)| *id != self.id);
        guardian::forget(self.id, self.group);
    }
}

/// How a process is ended.
#[derive(Clone, Copy)]
pub(super) enum Signal {
    /// It may clean up.
    Terminate,
    /// It cannot refuse.
    Kill,
}

/// Ends a process, or a group of processes.
#[cfg(unix)]
pub(super) fn end(id: u32, group: Group, signal: Signal) {
    use nix::sys::signal::{self, kill, killpg};
    use nix::unistd::Pid;
    let signal = match signal {
        Signal::Terminate => signal::SIGTERM,
        Signal::Kill => signal::SIGKILL,
    };
    let Ok(id) = i32::try_from(id) else { return };
    let id = Pid::from_raw(id);
    // It may have ended by itself.
    let _ = match group {
        Group::Ours => kill(id, signal),
        Group::Own => killpg(id, signal),
    };
}

/// Ends a process with all that it has started: there are no groups here, and
/// no signal that a process could handle.
#[cfg(windows)]
pub(super) fn end(id: u32, _: Group, _: Signal) {
    let _ = Command::new("taskkill")
        .args(["/F", "/T", "/PID", &id.to_string()])
        .status();
}
