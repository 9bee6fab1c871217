//! Ctrl-C: end what is running, say so, leave nothing half-written.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Child};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::exit::{Exit, Stop, error};
use crate::output;

/// True once Ctrl-C has come.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The processes that run on our behalf at this moment.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A file that is of no use without us.
static TEMPORARY: Mutex<Option<PathBuf>> = Mutex::new(None);

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

/// Ends what runs on our behalf and removes what is of no use without us.
pub(crate) fn clean_up() {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    for &id in &*running {
        end(id);
    }
    let temporary = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = &*temporary {
        let _ = fs::remove_file(path);
    }
}

/// A process of ours that did not come to its end may have been ended by the
/// Ctrl-C that we are about to hear of, too: let that come first.
pub(crate) fn let_the_handler_go_first() {
    for _ in 0..20 {
        if INTERRUPTED.load(Ordering::SeqCst) {
            // The handler ends this process.
            thread::park();
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Remembers a file that goes when we do.
pub(super) fn remove_with_us(path: &Path) {
    *TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.to_owned());
}

/// Remembers a process while it runs.
pub(crate) fn watch(child: &Child) {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.insert(child.id());
}

/// Forgets it again.
pub(crate) fn forget(child: &Child) {
    forget_id(child.id());
}

/// Forgets a process by its number.
pub(crate) fn forget_id(id: u32) {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.remove(&id);
}

/// Asks a process to end. On a terminal it has got the Ctrl-C itself; this is
/// for when only we were told.
fn end(id: u32) {
    #[cfg(unix)]
    let _ = process::Command::new("kill").arg(id.to_string()).status();
    #[cfg(windows)]
    let _ = process::Command::new("taskkill")
        .args(["/F", "/T", "/PID", &id.to_string()])
        .status();
}
