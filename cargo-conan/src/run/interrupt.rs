//! Ctrl-C: end what is running, say so, leave nothing half-written.

use std::fs;
use std::io;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use crate::exit::{Exit, Stop, error};
use crate::output;

/// True once Ctrl-C has come.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Taken by all who start a process, while they do: it takes its time, and they
/// need not wait for each other.
static STARTING: RwLock<()> = RwLock::new(());

/// The processes that run on our behalf at this moment.
static RUNNING: Mutex<Vec<(u32, Group)>> = Mutex::new(Vec::new());

/// Files that are of no use without us.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The process group that a process is started in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// Ours: a Ctrl-C on the terminal reaches it, too.
    Ours,
    /// One of its own, so that it can be ended with all that it has started.
    Own,
}

/// Begins to listen for Ctrl-C.
pub(crate) fn listen() -> Stop<()> {
    let handler = || {
        INTERRUPTED.store(true, Ordering::SeqCst);
        clean_up();
        output::err(format_args!("\ninterrupted; nothing was left half-done\n"));
        process::exit(Exit::Interrupted as i32);
    };
    ctrlc::set_handler(handler)
        .map_err(|failure| error(format_args!("cannot listen for Ctrl-C: {failure}")))
}

/// Ends what runs on our behalf and removes what is of no use without us. The
/// process must end after it: nothing can be started any more.
pub(crate) fn clean_up() {
    mem::forget(STARTING.write().unwrap_or_else(PoisonError::into_inner));
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    for (id, group) in running.iter() {
        end(*id, *group);
    }
    mem::forget(running);
    let temporary = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
    for path in temporary.iter() {
        let _ = fs::remove_file(path);
    }
}

/// A process of ours that did not come to its end may have been ended by the
/// Ctrl-C that we are about to hear of, too: let that come first.
pub(crate) fn let_the_handler_go_first() {
    for _ in 0..20 {
        stop_if_interrupted();
        thread::sleep(Duration::from_millis(5));
    }
}

/// Goes no further if Ctrl-C has come: the handler ends this process.
pub(crate) fn stop_if_interrupted() {
    while INTERRUPTED.load(Ordering::SeqCst) {
        thread::park();
    }
}

/// Remembers a file that goes when we do.
pub(crate) fn remove_with_us(path: &Path) {
    let mut temporary = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
    if !temporary.iter().any(|known| known == path) {
        temporary.push(path.to_owned());
    }
}

/// Starts a process that ends when we are interrupted.
pub(crate) fn start(command: &mut Command, group: Group) -> io::Result<Running> {
    #[cfg(unix)]
    if group == Group::Own {
        use std::os::unix::process::CommandExt;
        command.process_group(0);
    }
    // Held while it starts: who cleans up must not miss it.
    let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let child = command.spawn()?;
    let listed = Listed::new(child.id(), group);
    Ok(Running { child, listed })
}

/// Has a process started by somebody else, who names it, so that it ends when we
/// are interrupted.
#[cfg(target_os = "linux")]
pub(crate) fn list(start: impl FnOnce() -> io::Result<u32>) -> io::Result<Listed> {
    let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    Ok(Listed::new(start()?, Group::Ours))
}

/// A process while it runs.
pub(crate) struct Running {
    child: Child,
    listed: Listed,
}

impl Running {
    /// Waits for the process's end and returns what it has said.
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
            end(id, group);
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
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.push((id, group));
        Self { id, group }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|(id, _)| *id != self.id);
    }
}

/// Asks a process to end. On a terminal it has got the Ctrl-C itself, if it is
/// in our group; this is for when only we were told.
#[cfg_attr(windows, allow(unused_variables))]
fn end(id: u32, group: Group) {
    #[cfg(unix)]
    let _ = match group {
        Group::Ours => Command::new("kill").arg(id.to_string()).status(),
        Group::Own => Command::new("kill")
            .args(["-KILL", "--", &format!("-{id}")])
            .stderr(process::Stdio::null())
            .status(),
    };
    #[cfg(windows)]
    let _ = Command::new("taskkill")
        .args(["/F", "/T", "/PID", &id.to_string()])
        .status();
}
