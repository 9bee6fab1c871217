//! Panics in the threads of an execution: kept, not printed.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use conan_kernel::{ThreadId, aside, current_thread, has_failed, is_component};

/// A panic of a managed thread.
#[derive(Debug, Clone)]
pub(crate) struct Caught {
    pub(crate) thread: ThreadId,
    pub(crate) message: String,
    pub(crate) location: Option<String>,
    /// True if it ended the thread. Of a component's own threads that is not
    /// known.
    pub(crate) has_escaped: bool,
}

/// The panics of an execution.
#[derive(Debug, Clone, Default)]
pub(crate) struct Panics {
    caught: Arc<Mutex<Vec<Caught>>>,
    /// True if those of a component's own threads are part of what is tested.
    ignores_component: bool,
}

/// Where panics go at present: there is one execution at a time.
static PRESENT: Mutex<Option<Panics>> = Mutex::new(None);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Panics {
    /// Keeps the panics of managed threads from now on, until it is dropped.
    pub(crate) fn keep(ignores_component: bool) -> Keeping {
        install();
        let panics = Self {
            ignores_component,
            ..Self::default()
        };
        *locked(&PRESENT) = Some(panics.clone());
        Keeping(panics)
    }

    /// Runs the code of a managed thread to its end or to its panic.
    pub(crate) fn catch(&self, code: impl FnOnce()) {
        let Err(payload) = panic::catch_unwind(AssertUnwindSafe(code)) else {
            return;
        };
        let Some(thread) = current_thread() else {
            return;
        };
        aside(|| {
            let mut caught = locked(&self.caught);
            let last = caught.iter_mut().rfind(|caught| caught.thread == thread);
            match last {
                Some(last) => last.has_escaped = true,
                // It was passed on from elsewhere, without a word.
                None => caught.push(Caught {
                    thread,
                    message: message(&*payload),
                    location: None,
                    has_escaped: true,
                }),
            }
        });
        has_failed();
        // A payload may panic when it is dropped, too.
        std::mem::forget(payload);
    }
}

/// While this lives, panics of managed threads are kept.
#[derive(Debug)]
pub(crate) struct Keeping(Panics);

impl Keeping {
    pub(crate) fn panics(&self) -> &Panics {
        &self.0
    }

    pub(crate) fn caught(&self) -> Vec<Caught> {
        locked(&self.0.caught).clone()
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        *locked(&PRESENT) = None;
    }
}

/// Puts our panic hook before the one that is there.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !remember(info) {
                others(info);
            }
        }));
    });
}

/// False if the panic is none of ours.
fn remember(info: &PanicHookInfo<'_>) -> bool {
    let Some(thread) = current_thread() else {
        return false;
    };
    aside(|| {
        let Some(panics) = locked(&PRESENT).clone() else {
            return false;
        };
        locked(&panics.caught).push(Caught {
            thread,
            message: message(info.payload()),
            location: info.location().map(ToString::to_string),
            has_escaped: false,
        });
        // It counts even if the component catches it.
        if is_component() && !panics.ignores_component {
            has_failed();
        }
        true
    })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic with a payload that is no text")
        .to_owned()
}
