//! A stream of bytes that is read by the record.
//!
//! Component 20 of the paper (5.8), from a commercial payment system. Its
//! source was never published; this is built after the paper's description.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard};

/// A bounded circular buffer: bytes go in, records of one length come out.
///
/// Writers wait for room, each for as much as it needs, and readers for a
/// whole record. They wait on one condition variable, so every change
/// notifies all of them, and each looks again when it wakes.
#[derive(Debug)]
pub struct RecordInputStream {
    record_length: usize,
    capacity: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// What has been written and not yet read.
    bytes: VecDeque<u8>,
    is_closed: bool,
}

impl RecordInputStream {
    /// An empty stream of records of `record_length` bytes, which holds up to
    /// `capacity` bytes.
    pub fn new(record_length: usize, capacity: usize) -> Self {
        assert!(
            (1..=capacity).contains(&record_length),
            "a record must have a byte, and fit into the buffer"
        );
        Self {
            record_length,
            capacity,
            state: Mutex::new(State {
                bytes: VecDeque::with_capacity(capacity),
                is_closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Adds bytes at the end; waits until there is room for all of them, so
    /// that the bytes of two writers do not mix.
    pub fn write(&self, bytes: &[u8]) -> Result<(), RecordError> {
        if bytes.len() > self.capacity {
            return Err(RecordError::TooLong);
        }
        let mut state = self.lock();
        while !state.is_closed && state.bytes.len() + bytes.len() > self.capacity {
            state = self.changed.wait(state).unwrap();
        }
        if state.is_closed {
            return Err(RecordError::Closed);
        }
        state.bytes.extend(bytes);
        self.changed.notify_all();
        Ok(())
    }

    /// Takes the next record out; waits until it is whole. `None` is the end
    /// of the stream.
    pub fn read_record(&self) -> Result<Option<Vec<u8>>, RecordError> {
        let mut state = self.lock();
        while !state.is_closed && state.bytes.len() < self.record_length {
            state = self.changed.wait(state).unwrap();
        }
        if state.bytes.len() >= self.record_length {
            let record = state.bytes.drain(..self.record_length).collect();
            self.changed.notify_all();
            return Ok(Some(record));
        }
        // mutants: equivalent: early-unlock: the stream is closed, so nobody writes
        // any more, and nobody takes less than a record
        match state.bytes.len() {
            0 => Ok(None),
            _ => Err(RecordError::Truncated),
        }
    }

    /// Shows the bytes that have not been read. Nobody reads or writes while
    /// `look` has them.
    pub fn inspect<R>(&self, look: impl FnOnce(&[u8]) -> R) -> R {
        let mut state = self.lock();
        look(state.bytes.make_contiguous())
    }

    /// Ends the stream: nothing can be written any more, and whoever waits
    /// for room is turned away. What has been written can still be read.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// Why a [`RecordInputStream`] did not do what it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordError {
    /// More bytes at once than the buffer holds.
    TooLong,
    /// The stream has been closed.
    Closed,
    /// The stream ended in the middle of a record.
    Truncated,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "longer than the buffer",
            Self::Closed => "the stream is closed",
            Self::Truncated => "the stream ended within a record",
        })
    }
}

impl Error for RecordError {}
