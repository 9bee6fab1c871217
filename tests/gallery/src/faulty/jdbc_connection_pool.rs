//! The fault that the paper found in its pool of database connections.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::jdbc_connection_pool::{ConnectionError, Driver};

/// Waits again when the time is up.
///
/// The line that would say so stands behind the loop, and is not reached
/// before there is a connection. Connections are not validated here.
#[derive(Debug)]
pub struct WaitsAgain<D: Driver> {
    driver: D,
    maximum: usize,
    state: Mutex<State<D::Connection>>,
    available: Condvar,
}

#[derive(Debug)]
struct State<C> {
    idle: VecDeque<C>,
    open: usize,
}

impl<D: Driver> WaitsAgain<D> {
    /// A pool that has no connection yet, and will have up to `maximum`.
    pub fn new(driver: D, maximum: usize) -> Self {
        let state = State {
            idle: VecDeque::new(),
            open: 0,
        };
        Self {
            driver,
            maximum,
            state: Mutex::new(state),
            available: Condvar::new(),
        }
    }

    /// Lends a connection; waits while all of them are lent, and ought to
    /// give up after `timeout`.
    pub fn get(&self, timeout: Duration) -> Result<Lent<'_, D>, ConnectionError> {
        let mut state = self.state.lock().unwrap();
        let mut is_too_late = false;
        while state.idle.is_empty() && state.open == self.maximum {
            let (woken, result) = self.available.wait_timeout(state, timeout).unwrap();
            state = woken;
            is_too_late = result.timed_out();
        }
        if is_too_late {
            return Err(ConnectionError::TimedOut);
        }
        let connection = match state.idle.pop_front() {
            Some(connection) => connection,
            None => {
                state.open += 1;
                self.driver.connect()?
            }
        };
        let connection = Some(connection);
        Ok(Lent {
            pool: self,
            connection,
        })
    }
}

/// A connection that goes back to its pool when dropped.
#[derive(Debug)]
pub struct Lent<'a, D: Driver> {
    pool: &'a WaitsAgain<D>,
    connection: Option<D::Connection>,
}

impl<D: Driver> Deref for Lent<'_, D> {
    type Target = D::Connection;

    fn deref(&self) -> &D::Connection {
        let connection = self.connection.as_ref();
        connection.expect("it is there until it is dropped")
    }
}

impl<D: Driver> Drop for Lent<'_, D> {
    fn drop(&mut self) {
        let mut state = self.pool.state.lock().unwrap();
        state.idle.extend(self.connection.take());
        self.pool.available.notify_one();
    }
}
