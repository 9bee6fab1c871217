//! The three faults that the paper found in its stream of records, each in a
//! stream of its own. None of these can be closed.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};

use crate::record_input_stream::RecordError;

/// Looks at the size of the buffer without keeping others out until the
/// record is removed.
///
/// Several readers may find the same record, and all but one of them come too
/// late to remove it.
#[derive(Debug)]
pub struct SizeCheckedBefore {
    record_length: usize,
    capacity: usize,
    size: AtomicUsize,
    bytes: Mutex<VecDeque<u8>>,
    changed: Condvar,
}

impl SizeCheckedBefore {
    /// An empty stream.
    pub fn new(record_length: usize, capacity: usize) -> Self {
        Self {
            record_length,
            capacity,
            size: AtomicUsize::new(0),
            bytes: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Adds bytes at the end; waits until there is room for all of them.
    pub fn write(&self, added: &[u8]) -> Result<(), RecordError> {
        let mut bytes = self.bytes.lock().unwrap();
        while bytes.len() + added.len() > self.capacity {
            bytes = self.changed.wait(bytes).unwrap();
        }
        bytes.extend(added);
        self.size.store(bytes.len(), SeqCst);
        self.changed.notify_all();
        Ok(())
    }

    /// Takes the next record out; waits until it is whole.
    pub fn read_record(&self) -> Result<Option<Vec<u8>>, RecordError> {
        if self.size.load(SeqCst) < self.record_length {
            self.await_record();
        }
        let mut bytes = self.bytes.lock().unwrap();
        if bytes.len() < self.record_length {
            let (there, wanted) = (bytes.len(), self.record_length);
            // A panic under the lock would poison it, and then every later
            // call would complain of that instead of the fault.
            drop(bytes);
            panic!("cannot remove {wanted} bytes from a buffer with {there} bytes in it");
        }
        let record = bytes.drain(..self.record_length).collect();
        self.size.store(bytes.len(), SeqCst);
        self.changed.notify_all();
        Ok(Some(record))
    }

    /// Shows the bytes that have not been read. Nobody reads or writes while
    /// `look` has them.
    pub fn inspect<R>(&self, look: impl FnOnce(&[u8]) -> R) -> R {
        let mut bytes = self.bytes.lock().unwrap();
        look(bytes.make_contiguous())
    }

    fn await_record(&self) {
        let mut bytes = self.bytes.lock().unwrap();
        while bytes.len() < self.record_length {
            bytes = self.changed.wait(bytes).unwrap();
        }
    }
}

/// Wakes one thread where all must be woken.
#[derive(Debug)]
pub struct NotifiesOne {
    record_length: usize,
    capacity: usize,
    bytes: Mutex<VecDeque<u8>>,
    changed: Condvar,
}

impl NotifiesOne {
    /// An empty stream.
    pub fn new(record_length: usize, capacity: usize) -> Self {
        Self {
            record_length,
            capacity,
            bytes: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Adds bytes at the end; waits until there is room for all of them.
    pub fn write(&self, added: &[u8]) -> Result<(), RecordError> {
        let mut bytes = self.bytes.lock().unwrap();
        while bytes.len() + added.len() > self.capacity {
            bytes = self.changed.wait(bytes).unwrap();
        }
        bytes.extend(added);
        self.changed.notify_one();
        Ok(())
    }

    /// Takes the next record out; waits until it is whole.
    pub fn read_record(&self) -> Result<Option<Vec<u8>>, RecordError> {
        let mut bytes = self.bytes.lock().unwrap();
        while bytes.len() < self.record_length {
            bytes = self.changed.wait(bytes).unwrap();
        }
        Ok(Some(bytes.drain(..self.record_length).collect()))
    }
}

/// Remembers that it has notified those who wait, and does not do it again.
#[derive(Debug)]
pub struct NotifiesOnce {
    record_length: usize,
    capacity: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    bytes: VecDeque<u8>,
    is_notified: bool,
}

impl NotifiesOnce {
    /// An empty stream.
    pub fn new(record_length: usize, capacity: usize) -> Self {
        Self {
            record_length,
            capacity,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Adds bytes at the end; waits until there is room for all of them.
    pub fn write(&self, added: &[u8]) -> Result<(), RecordError> {
        let mut state = self.state.lock().unwrap();
        while state.bytes.len() + added.len() > self.capacity {
            state = self.changed.wait(state).unwrap();
        }
        state.bytes.extend(added);
        self.notify(&mut state);
        Ok(())
    }

    /// Takes the next record out; waits until it is whole.
    pub fn read_record(&self) -> Result<Option<Vec<u8>>, RecordError> {
        let mut state = self.state.lock().unwrap();
        while state.bytes.len() < self.record_length {
            state = self.changed.wait(state).unwrap();
        }
        let record = state.bytes.drain(..self.record_length).collect();
        self.notify(&mut state);
        Ok(Some(record))
    }

    fn notify(&self, state: &mut State) {
        if !state.is_notified {
            state.is_notified = true;
            self.changed.notify_all();
        }
    }
}
