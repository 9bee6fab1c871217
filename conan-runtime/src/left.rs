//! What the sequences that have run in this process have left behind.
//!
//! A thread that is suspended for good stays until the process ends, with what
//! it holds: the lock of standard output, a lock in a static variable, a value
//! that it was about to initialise. What comes after it in the same process may
//! wait for that in vain.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::wake::joined;

/// The names of the sequences that have left threads behind.
static LEFT: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

fn left() -> MutexGuard<'static, Vec<&'static str>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that a sequence has left threads behind.
pub(crate) fn note(sequence: &'static str) {
    let mut left = left();
    if !left.contains(&sequence) {
        left.push(sequence);
    }
}

/// True if any sequence has left threads behind.
pub(crate) fn is_any() -> bool {
    !left().is_empty()
}

/// What the process was like before a sequence ran in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before {
    sequence: &'static str,
    was_used: bool,
    was_known: bool,
}

impl Before {
    pub(crate) fn of(sequence: &'static str) -> Self {
        let left = left();
        Self {
            sequence,
            was_used: !left.is_empty(),
            was_known: left.contains(&sequence),
        }
    }

    /// True if threads had been left behind.
    pub(crate) fn was_used(self) -> bool {
        self.was_used
    }

    /// What the sequence has left behind since then is the fault of others.
    pub(crate) fn excuse(self) {
        if !self.was_known {
            left().retain(|name| *name != self.sequence);
        }
    }
}

/// The sequences one of which, or more, it must have been that have left a
/// thread behind, as in a sentence.
pub(crate) fn in_words() -> String {
    let left = left();
    let names: Vec<_> = left.iter().map(|name| format!("`{name}`")).collect();
    joined(&names, "or")
}
