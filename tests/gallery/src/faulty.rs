//! Components with a fault in them, put there on purpose.
//!
//! The first three are [`ProducerConsumer`](crate::ProducerConsumer) with one
//! change each, the slips that the paper planted in its readers-writers
//! monitor (5.5) among them. `scripts/producer_consumer.conan` must fail on
//! every one. [`Wayward`] is for `scripts/errors.conan`. Each module has the
//! faults of the component after which it is named.

pub mod blocking_terminal_pool;
pub mod bounded_overtaking_allocator;
pub mod buffer_impl;
pub mod jdbc_connection_pool;
pub mod record_input_stream;
pub mod semaphore_buffer;

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::sync::{Condvar, Mutex};

use crate::gate::Gate;

pub mod read_write_priority;

pub use read_write_priority::ReadWritePriority;

/// Wakes one thread where all must be woken.
///
/// Senders and receivers wait on the same condition variable. The one that is
/// woken may be of the kind that cannot go on; it waits again, the wake-up is
/// lost, and those who could have used it are never woken.
#[derive(Debug, Default)]
pub struct NotifyOne {
    remaining: Mutex<VecDeque<char>>,
    changed: Condvar,
}

impl NotifyOne {
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
        self.changed.notify_one();
    }

    /// Takes the next character out; waits while there is none.
    pub fn receive(&self) -> char {
        let mut remaining = self.remaining.lock().unwrap();
        while remaining.is_empty() {
            remaining = self.changed.wait(remaining).unwrap();
        }
        let next = remaining.pop_front().expect("the loop has seen one");
        self.changed.notify_one();
        next
    }
}

/// Does not look again when it wakes.
///
/// A woken sender overwrites characters that nobody has received. A woken
/// receiver may find that another one was faster, and panics.
#[derive(Debug, Default)]
pub struct IfForWhile {
    remaining: Mutex<VecDeque<char>>,
    changed: Condvar,
}

impl IfForWhile {
    /// A monitor without a character in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores the characters of `text`; waits, once, if earlier ones remain.
    pub fn send(&self, text: &str) {
        let mut remaining = self.remaining.lock().unwrap();
        if !remaining.is_empty() {
            remaining = self.changed.wait(remaining).unwrap();
        }
        *remaining = text.chars().collect();
        self.changed.notify_all();
    }

    /// Takes the next character out; waits, once, if there is none.
    pub fn receive(&self) -> char {
        let mut remaining = self.remaining.lock().unwrap();
        if remaining.is_empty() {
            remaining = self.changed.wait(remaining).unwrap();
        }
        let next = remaining.pop_front();
        self.changed.notify_all();
        // A panic under the lock would poison it, and then every later call
        // would complain of that instead of the fault.
        drop(remaining);
        next.expect("receive woke up and found no character")
    }
}

/// Gives the characters of a string out from the wrong end.
#[derive(Debug, Default)]
pub struct WrongValue {
    remaining: Mutex<VecDeque<char>>,
    changed: Condvar,
}

impl WrongValue {
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
        self.changed.notify_all();
    }

    /// Takes the *last* character out; waits while there is none.
    pub fn receive(&self) -> char {
        let mut remaining = self.remaining.lock().unwrap();
        while remaining.is_empty() {
            remaining = self.changed.wait(remaining).unwrap();
        }
        let last = remaining.pop_back().expect("the loop has seen one");
        self.changed.notify_all();
        last
    }
}

/// Answers, refuses, panics and waits on demand: for the script that shows
/// every kind of error.
#[derive(Debug, Default)]
pub struct Wayward {
    gate: Gate,
}

impl Wayward {
    /// One that makes its callers wait until it is told to let them go.
    pub fn new() -> Self {
        Self::default()
    }

    /// 41, which is one short of the answer.
    pub fn answer(&self) -> u32 {
        41
    }

    /// Never fails.
    pub fn comply(&self) -> Result<u32, Refusal> {
        Ok(self.answer())
    }

    /// Always fails, with [`Refusal::Busy`].
    pub fn refuse(&self) -> Result<u32, Refusal> {
        Err(Refusal::Busy)
    }

    /// Always panics, with the message "out of order".
    pub fn break_down(&self) {
        panic!("out of order");
    }

    /// Waits until [`let_go`](Self::let_go) is called.
    pub fn wait(&self) {
        self.gate.pass();
    }

    /// Lets those who wait go, and those who come later.
    pub fn let_go(&self) {
        self.gate.open();
    }
}

/// Why [`Wayward`] refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It has better things to do.
    Busy,
    /// It has gone home.
    Closed,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "busy",
            Self::Closed => "closed",
        })
    }
}

impl Error for Refusal {}
