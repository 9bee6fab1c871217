//! Who may hold a lock, by what is on the threads' stacks.
//!
//! A lock that nobody waits for is taken without a call that could be seen. Its
//! guard, though, is a pointer to it on the stack of whoever holds it. A thread
//! that waits looks through its own stack: such a pointer may also be left from
//! before, or belong to a thread that only knows the lock.

use std::hint::black_box;
use std::mem::size_of;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::bottom::Bottom;

/// How much of a stack is cleared before it is used again, in bytes.
const CLEARED: usize = 8 * 1024;

/// True once somebody was asked.
static ARE_ASKED: AtomicBool = AtomicBool::new(false);

/// What a thread is asked for, and its answer.
#[derive(Default)]
pub(crate) struct Sought {
    /// The address of the word that threads wait at; 0 if nothing is asked.
    word: AtomicUsize,
    is_found: AtomicBool,
}

impl Sought {
    /// Asks for a lock, by the word that threads wait at.
    pub(crate) fn ask(&self, word: usize) {
        ARE_ASKED.store(true, Ordering::Relaxed);
        self.is_found.store(false, Ordering::Relaxed);
        self.word.store(word, Ordering::Relaxed);
    }

    /// The thread itself looks, if it was asked to.
    pub(crate) fn look(&self, bottom: &Bottom) -> bool {
        let word = self.word.swap(0, Ordering::Relaxed);
        if word == 0 {
            return false;
        }
        let is_it = |value| value <= word && are_of_one_lock(value, word);
        self.is_found
            .store(bottom.has_word(is_it), Ordering::Relaxed);
        true
    }

    pub(crate) fn is_found(&self) -> bool {
        self.is_found.load(Ordering::Relaxed)
    }
}

/// True for words of the same lock, which has two at most: writers may have
/// their own. A word and a flag are the least that a lock is made of.
pub(crate) fn are_of_one_lock(one: usize, other: usize) -> bool {
    one.abs_diff(other) <= size_of::<u32>()
}

/// Clears the part of the stack that comes next, so that nothing is found there
/// that another thread has left; only where it might matter.
pub(crate) fn clear_ahead() {
    if ARE_ASKED.load(Ordering::Relaxed) {
        clear();
    }
}

#[inline(never)]
fn clear() {
    black_box([0_u8; CLEARED]);
}
