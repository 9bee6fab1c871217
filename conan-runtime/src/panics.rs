//! Panics in the threads of a sequence: caught with their message and place,
//! and kept out of everybody's output.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Arc, Once};
use std::{mem, thread};

/// A panic that was caught.
#[derive(Debug, Clone)]
pub(crate) struct Caught {
    pub(crate) message: String,
    /// The source file, line and column, if the panic hook saw it.
    pub(crate) location: Option<(String, u32, u32)>,
    /// Not resolved yet: that takes longer than a tick may be.
    pub(crate) backtrace: Option<Arc<Backtrace>>,
}

thread_local! {
    static SILENT: Cell<bool> = const { Cell::new(false) };
    /// The last ones, of which one may be on its way.
    static LAST: RefCell<Vec<Caught>> = const { RefCell::new(Vec::new()) };
}

/// Makes panics of the calling thread silent: they are reported, not printed.
pub(crate) fn silence_this_thread() {
    SILENT.set(true);
}

/// Puts our panic hook before the one that is there. To be called before
/// there are threads of a sequence: the hook's lock is everybody's.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !SILENT.try_with(Cell::get).unwrap_or(false) {
                others(info);
            } else if can_unwind(info) {
                remember(info);
            } else {
                // The process is about to abort: there will be no report.
                print_remembered();
                others(info);
            }
        }));
    });
}

/// How many panics of a thread are kept, at most. A thread that panics again while
/// it unwinds has two; earlier ones have been caught by the component.
const KEPT: usize = 4;

/// False for a panic that aborts the process, such as one that comes of a panic in a
/// destructor while a thread unwinds. std tells it in this text only.
fn can_unwind(info: &PanicHookInfo<'_>) -> bool {
    !format!("{info:?}").contains("can_unwind: false")
}

/// Prints the panics of the calling thread that were not printed, as std does.
fn print_remembered() {
    let remembered =
        LAST.try_with(|last| last.try_borrow_mut().map(|mut last| mem::take(&mut *last)));
    let Ok(Ok(remembered)) = remembered else {
        return;
    };
    let thread = thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    for caught in remembered {
        let message = caught.message;
        match caught.location {
            Some((file, line, column)) => {
                eprintln!("\nthread '{name}' panicked at {file}:{line}:{column}:\n{message}");
            }
            None => eprintln!("\nthread '{name}' panicked:\n{message}"),
        }
    }
}

fn remember(info: &PanicHookInfo<'_>) {
    // std takes backtraces one at a time, all threads of the process.
    let backtrace = aside(Backtrace::capture);
    let caught = Caught {
        message: message(info.payload()),
        location: info
            .location()
            .map(|at| (at.file().to_owned(), at.line(), at.column())),
        backtrace: (backtrace.status() == BacktraceStatus::Captured).then(|| Arc::new(backtrace)),
    };
    LAST.with_borrow_mut(|last| {
        if last.len() == KEPT {
            last.remove(0);
        }
        last.push(caught);
    });
}

/// Runs code and catches its panic.
pub(crate) fn catch<R>(code: impl FnOnce() -> R) -> Result<R, Caught> {
    LAST.with_borrow_mut(Vec::clear);
    panic::catch_unwind(AssertUnwindSafe(code)).map_err(|payload| {
        let remembered = LAST.with_borrow_mut(Vec::pop);
        let caught = remembered.unwrap_or_else(|| Caught {
            message: message(&*payload),
            location: None,
            backtrace: None,
        });
        // A payload may panic when it is dropped, too.
        std::mem::forget(payload);
        caught
    })
}

/// Runs code that may wait for threads outside the sequence.
pub(crate) fn aside<R>(code: impl FnOnce() -> R) -> R {
    #[cfg(conan_kernel)]
    return conan_kernel::aside(code);
    #[cfg(not(conan_kernel))]
    code()
}

fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic with a payload that is no text".to_owned()
    }
}
