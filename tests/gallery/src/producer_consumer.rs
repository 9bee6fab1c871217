//! The asymmetric producer-consumer monitor.
//!
//! It is the running example of the paper (its Fig. 1), which carried it over
//! to Java from P. Brinch Hansen's *Reproducible Testing of Monitors* (1978),
//! where it is written in Concurrent Pascal.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

/// Takes strings in whole and gives them out by the character: asymmetric.
///
/// Senders and receivers wait on one condition variable, so a wake-up may
/// reach a thread that cannot go on yet. That is why every change notifies
/// all of them, and why each looks again when it wakes.
#[derive(Debug, Default)]
pub struct ProducerConsumer {
    /// What has been sent and not yet received.
    remaining: Mutex<VecDeque<char>>,
    changed: Condvar,
}

impl ProducerConsumer {
    /// A monitor without a character in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores the characters of `text`; waits while earlier ones remain.
    pub fn send(&self, text: &str) {
        let mut remaining = self.remaining.lock().unwrap();
        while !remaining.is_empty() {
            remaining = self.changed.wait(remaining).unwrap();
        }
        remaining.extend(text.chars());
        // mutants: equivalent: notify-one: who took the last character has woken
        // all, so only receivers wait now, and each wakes all in its turn
        self.changed.notify_all();
    }

    /// Takes the next character out; waits while there is none.
    pub fn receive(&self) -> char {
        let mut remaining = self.remaining.lock().unwrap();
        while remaining.is_empty() {
            remaining = self.changed.wait(remaining).unwrap();
        }
        let next = remaining.pop_front().expect("the loop has seen one");
        // mutants: equivalent: notify-one: who sent the characters has woken all,
        // so only senders wait now, and each wakes all in its turn
        self.changed.notify_all();
        next
    }
}
