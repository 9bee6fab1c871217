//! A pool of database connections.
//!
//! Component 17 of the paper (5.8), from a commercial payment system. Its
//! source was never published; this is built after the paper's description.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What opens connections, and knows whether they still work.
pub trait Driver {
    /// A connection; dropping it closes it.
    type Connection;

    /// Opens a connection. It may take a while, and need not work.
    fn connect(&self) -> Result<Self::Connection, ConnectionError>;

    /// Whether a connection still works.
    fn is_valid(&self, connection: &Self::Connection) -> bool;
}

/// Keeps up to a maximum of connections open, and lends them.
///
/// Connections are opened when they are needed. A broken one is closed and
/// makes room for another, whether it broke in use or while it lay idle.
#[derive(Debug)]
pub struct JdbcConnectionPool<D: Driver> {
    driver: D,
    maximum: usize,
    state: Mutex<State<D::Connection>>,
    /// A connection lies idle, or there is room to open one: for one client.
    available: Condvar,
}

#[derive(Debug)]
struct State<C> {
    idle: VecDeque<C>,
    /// Idle, lent, or about to be opened.
    open: usize,
    is_shut_down: bool,
}

impl<D: Driver> JdbcConnectionPool<D> {
    /// A pool that has no connection yet, and will have up to `maximum`.
    pub fn new(driver: D, maximum: usize) -> Self {
        Self {
            driver,
            maximum,
            state: Mutex::new(State {
                idle: VecDeque::new(),
                open: 0,
                is_shut_down: false,
            }),
            available: Condvar::new(),
        }
    }

    /// Lends a connection that works. Waits while all of them are lent, and
    /// gives up after `timeout`.
    pub fn get(&self, timeout: Duration) -> Result<Lent<'_, D>, ConnectionError> {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        while self.must_wait(&state) {
            let left = deadline.checked_duration_since(Instant::now());
            let left = left.ok_or(ConnectionError::TimedOut)?;
            (state, _) = self.available.wait_timeout(state, left).unwrap();
        }
        if state.is_shut_down {
            return Err(ConnectionError::ShutDown);
        }
        let idle = state.idle.pop_front();
        if idle.is_none() {
            state.open += 1;
        }
        // Nobody else shall wait while the database takes its time.
        drop(state);
        let valid = idle.filter(|connection| self.driver.is_valid(connection));
        // In place of a broken one comes a new one.
        match valid.map_or_else(|| self.driver.connect(), Ok) {
            Ok(connection) => Ok(self.lend(connection)),
            Err(error) => {
                self.make_room();
                Err(error)
            }
        }
    }

    /// The driver that opens its connections.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// How many connections are open, and how many of them lie idle.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.open, state.idle.len())
    }

    /// Lends nothing any more; whoever waits is turned away. Idle connections
    /// are closed now, the others when they come back.
    pub fn shut_down(&self) {
        let mut state = self.lock();
        state.is_shut_down = true;
        state.open -= mem::take(&mut state.idle).len();
        self.available.notify_all();
    }

    fn must_wait(&self, state: &State<D::Connection>) -> bool {
        !state.is_shut_down && state.idle.is_empty() && state.open == self.maximum
    }

    fn lend(&self, connection: D::Connection) -> Lent<'_, D> {
        let connection = Some(connection);
        Lent {
            pool: self,
            connection,
        }
    }

    fn put_back(&self, connection: D::Connection) {
        if !self.driver.is_valid(&connection) {
            return self.make_room();
        }
        let mut state = self.lock();
        if state.is_shut_down {
            // mutants: equivalent: early-unlock: a pool that is shut down stays so
            state.open -= 1;
        } else {
            state.idle.push_back(connection);
            self.available.notify_one();
        }
    }

    /// There is one connection less, so another can be opened.
    fn make_room(&self) {
        self.lock().open -= 1;
        self.available.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State<D::Connection>> {
        self.state.lock().unwrap()
    }
}

/// A connection that goes back to its [`JdbcConnectionPool`] when dropped.
#[derive(Debug)]
pub struct Lent<'a, D: Driver> {
    pool: &'a JdbcConnectionPool<D>,
    /// There until it is dropped.
    connection: Option<D::Connection>,
}

impl<D: Driver> Deref for Lent<'_, D> {
    type Target = D::Connection;

    fn deref(&self) -> &D::Connection {
        let connection = self.connection.as_ref();
        connection.expect("it is there until it is dropped")
    }
}

impl<D: Driver> DerefMut for Lent<'_, D> {
    fn deref_mut(&mut self) -> &mut D::Connection {
        let connection = self.connection.as_mut();
        connection.expect("it is there until it is dropped")
    }
}

impl<D: Driver> Drop for Lent<'_, D> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.pool.put_back(connection);
        }
    }
}

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionError {
    /// None came in time.
    TimedOut,
    /// The pool has been shut down.
    ShutDown,
    /// The database does not let us in.
    Refused,
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "timed out",
            Self::ShutDown => "the pool is shut down",
            Self::Refused => "the database refused",
        })
    }
}

impl Error for ConnectionError {}
