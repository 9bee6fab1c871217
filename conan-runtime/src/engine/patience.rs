//! How long threads are waited for that still run at the end of a sequence.

use std::collections::BTreeSet;
use std::env;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The processor time in seconds that such threads get.
const PATIENCE: &str = "CONAN_PATIENCE";

/// The processor time that they get, unless something else is asked for.
const DEFAULT: Duration = Duration::from_secs(60);

/// The same for an execution of an exploration, which has many.
const DEFAULT_OF_EXECUTION: Duration = Duration::from_secs(5);

/// The real time that a system call gets which the engine does not emulate, and
/// in which no processor is used.
const CALL: Duration = Duration::from_secs(10);

/// What a sequence gets at most that was waited for in vain before: an
/// exploration runs it again and again.
const AGAIN: Duration = Duration::from_secs(1);

/// The sequences that were waited for in vain in this process.
static IN_VAIN: Mutex<BTreeSet<(&'static str, &'static str)>> = Mutex::new(BTreeSet::new());

/// How long threads are waited for that still run at the end of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For so much processor time of theirs.
    pub processor: Duration,
    /// For so much real time in which they use none.
    pub call: Duration,
}

impl Patience {
    /// What a sequence of a script gets; less if it is explored.
    pub(crate) fn of(script: &'static str, sequence: &'static str, is_explored: bool) -> Self {
        let asked = env::var(PATIENCE).ok().and_then(|text| text.parse().ok());
        let default = if is_explored {
            DEFAULT_OF_EXECUTION
        } else {
            DEFAULT
        };
        let full = Self {
            processor: asked.map_or(default, Duration::from_secs),
            call: CALL,
        };
        let in_vain = IN_VAIN.lock().unwrap_or_else(PoisonError::into_inner);
        if in_vain.contains(&(script, sequence)) {
            Self {
                processor: full.processor.min(AGAIN),
                call: full.call.min(AGAIN),
            }
        } else {
            full
        }
    }

    /// Whether the environment asks for something that can be understood.
    pub(crate) fn check() -> Result<(), String> {
        match env::var(PATIENCE) {
            Ok(text) if text.parse::<u64>().is_err() => Err(format!(
                "{PATIENCE}: `{text}` is not a whole number of seconds"
            )),
            _ => Ok(()),
        }
    }

    /// A sequence was waited for in vain.
    pub(crate) fn was_in_vain(script: &'static str, sequence: &'static str) {
        let mut in_vain = IN_VAIN.lock().unwrap_or_else(PoisonError::into_inner);
        in_vain.insert((script, sequence));
    }
}
