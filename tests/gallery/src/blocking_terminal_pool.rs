//! A pool of terminals that makes its clients wait.
//!
//! Component 16 of the paper (5.8), from a commercial payment system. Its
//! source was never published; this is built after the paper's description.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A device that one client at a time works with.
pub trait Terminal {
    /// The name by which a pool knows it.
    fn name(&self) -> &str;

    /// How it is. This asks the device, which may take a while to answer.
    fn status(&self) -> String;
}

/// Serves terminals out to clients, up to a maximum at a time.
///
/// Clients wait for a terminal, others for one to come back that they want to
/// remove, or for all of them. They wait on one condition variable, so every
/// change notifies all of them, and each looks again when it wakes.
#[derive(Debug)]
pub struct BlockingTerminalPool<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// In the order in which they were added.
    entries: Vec<Entry<T>>,
    maximum: usize,
    is_shut_down: bool,
}

#[derive(Debug)]
struct Entry<T> {
    terminal: Arc<T>,
    is_out: bool,
}

impl<T: Terminal> BlockingTerminalPool<T> {
    /// A pool without a terminal, which will let `maximum` be out at a time.
    pub fn new(maximum: usize) -> Self {
        Self {
            state: Mutex::new(State {
                entries: Vec::new(),
                maximum,
                is_shut_down: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Takes the first free terminal; waits while there is none, and while
    /// the maximum is out.
    pub fn get(&self) -> Result<Arc<T>, TerminalError> {
        let mut state = self.lock();
        while state.client_must_wait() {
            state = self.changed.wait(state).unwrap();
        }
        state.serve()
    }

    /// As [`get`](Self::get), but gives up after `timeout`.
    pub fn get_timeout(&self, timeout: Duration) -> Result<Arc<T>, TerminalError> {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        while state.client_must_wait() {
            let left = time_left(deadline).ok_or(TerminalError::TimedOut)?;
            (state, _) = self.changed.wait_timeout(state, left).unwrap();
        }
        state.serve()
    }

    /// Gives a terminal back.
    pub fn put_back(&self, name: &str) -> Result<(), TerminalError> {
        let mut state = self.lock();
        let index = state.position(name).ok_or(TerminalError::Unknown)?;
        let entry = &mut state.entries[index];
        if !entry.is_out {
            return Err(TerminalError::NotOut);
        }
        entry.is_out = false;
        self.changed.notify_all();
        Ok(())
    }

    /// Adds a terminal to the list.
    pub fn add(&self, terminal: T) -> Result<(), TerminalError> {
        let mut state = self.lock();
        if state.is_shut_down {
            return Err(TerminalError::ShutDown);
        }
        if state.position(terminal.name()).is_some() {
            return Err(TerminalError::NameTaken);
        }
        state.entries.push(Entry {
            terminal: Arc::new(terminal),
            is_out: false,
        });
        self.changed.notify_all();
        Ok(())
    }

    /// Removes a terminal from the list; waits while a client has it.
    pub fn remove(&self, name: &str) -> Result<(), TerminalError> {
        let mut state = self.lock();
        while state.is_out(name) && !state.is_shut_down {
            state = self.changed.wait(state).unwrap();
        }
        if state.is_shut_down {
            return Err(TerminalError::ShutDown);
        }
        let index = state.position(name).ok_or(TerminalError::Unknown)?;
        state.entries.remove(index);
        Ok(())
    }

    /// Lets up to `maximum` terminals be out from now on. Those that are out
    /// already stay with their clients.
    pub fn set_maximum(&self, maximum: usize) {
        let mut state = self.lock();
        state.maximum = maximum;
        self.changed.notify_all();
    }

    /// The status of each terminal in the list, in the order of the list.
    ///
    /// It is the list of one moment: which terminals there are is settled
    /// before the first of them is asked. The pool goes on meanwhile.
    pub fn statuses(&self) -> Vec<String> {
        let terminals = self.lock().terminals();
        terminals.iter().map(|terminal| terminal.status()).collect()
    }

    /// How many terminals are in the list, and how many of them are out.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.entries.len(), state.out())
    }

    /// Serves nobody any more; whoever waits is turned away. Terminals that
    /// are out can still be put back.
    pub fn shut_down(&self) {
        let mut state = self.lock();
        state.is_shut_down = true;
        self.changed.notify_all();
    }

    /// Waits until no terminal is out; gives up after `timeout`.
    pub fn await_all_back(&self, timeout: Duration) -> Result<(), TerminalError> {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        while state.out() > 0 {
            let left = time_left(deadline).ok_or(TerminalError::TimedOut)?;
            (state, _) = self.changed.wait_timeout(state, left).unwrap();
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap()
    }
}

impl<T: Terminal> State<T> {
    fn client_must_wait(&self) -> bool {
        let all_are_out = self.entries.iter().all(|entry| entry.is_out);
        !self.is_shut_down && (all_are_out || self.out() >= self.maximum)
    }

    fn serve(&mut self) -> Result<Arc<T>, TerminalError> {
        if self.is_shut_down {
            return Err(TerminalError::ShutDown);
        }
        let free = self.entries.iter_mut().find(|entry| !entry.is_out);
        let entry = free.expect("a client is served when a terminal is free");
        entry.is_out = true;
        Ok(Arc::clone(&entry.terminal))
    }

    fn position(&self, name: &str) -> Option<usize> {
        let mut entries = self.entries.iter();
        entries.position(|entry| entry.terminal.name() == name)
    }

    fn is_out(&self, name: &str) -> bool {
        let index = self.position(name);
        index.is_some_and(|index| self.entries[index].is_out)
    }

    fn out(&self) -> usize {
        self.entries.iter().filter(|entry| entry.is_out).count()
    }

    fn terminals(&self) -> Vec<Arc<T>> {
        let entries = self.entries.iter();
        entries.map(|entry| Arc::clone(&entry.terminal)).collect()
    }
}

fn time_left(deadline: Instant) -> Option<Duration> {
    deadline.checked_duration_since(Instant::now())
}

/// Why a [`BlockingTerminalPool`] did not do what it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalError {
    /// It did not come in time.
    TimedOut,
    /// The pool has been shut down.
    ShutDown,
    /// There is no terminal of that name.
    Unknown,
    /// There is a terminal of that name already.
    NameTaken,
    /// Nobody has that terminal.
    NotOut,
}

impl fmt::Display for TerminalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "timed out",
            Self::ShutDown => "the pool is shut down",
            Self::Unknown => "no terminal has that name",
            Self::NameTaken => "a terminal has that name already",
            Self::NotOut => "the terminal is not out",
        })
    }
}

impl Error for TerminalError {}
