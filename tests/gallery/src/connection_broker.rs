//! A broker that keeps connections ready, and renews them in time.
//!
//! Component 18 of the paper, from a commercial payment system. Its source
//! was never published; this does what brokers of that time and name did.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Has a minimum of connections open at all times, and never more than a
/// maximum.
///
/// A connection that is too old is not given to anybody any more. One that
/// nobody has used for long is closed, if the minimum is kept without it:
/// [`recycle`](Self::recycle), which is to be called every now and then.
#[derive(Debug)]
pub struct ConnectionBroker<F, C> {
    connect: F,
    limits: Limits,
    state: Mutex<State<C>>,
    changed: Condvar,
}

/// What a [`ConnectionBroker`] has to keep to.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many connections are open at least.
    pub minimum: usize,
    /// How many are open at most.
    pub maximum: usize,
    /// How long a connection is used, from its opening on.
    pub max_age: Duration,
    /// How long one that is not needed may lie idle.
    pub max_idle: Duration,
    /// How long a client waits for one.
    pub max_wait: Duration,
}

/// What a [`ConnectionBroker`] has at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Connections that lie idle.
    pub idle: usize,
    /// Connections that clients have.
    pub in_use: usize,
}

#[derive(Debug)]
struct State<C> {
    /// Those that have been idle for longest come first.
    idle: VecDeque<Idle<C>>,
    in_use: usize,
    is_destroyed: bool,
}

#[derive(Debug)]
struct Idle<C> {
    connection: Brokered<C>,
    since: Instant,
}

impl<C, F: Fn() -> C> ConnectionBroker<F, C> {
    /// Opens the minimum of connections, by calling `connect`.
    pub fn new(limits: Limits, connect: F) -> Self {
        assert!(
            limits.minimum <= limits.maximum,
            "the minimum must not be above the maximum"
        );
        let broker = Self {
            connect,
            limits,
            state: Mutex::new(State {
                idle: VecDeque::new(),
                in_use: 0,
                is_destroyed: false,
            }),
            changed: Condvar::new(),
        };
        broker.open_minimum(&mut broker.lock());
        broker
    }

    /// Takes a connection, the one that was used last; opens one if none is
    /// idle. Waits while the maximum is in use, for a limited time.
    pub fn get(&self) -> Result<Brokered<C>, BrokerError> {
        let deadline = Instant::now() + self.limits.max_wait;
        let mut state = self.lock();
        while !state.is_destroyed && state.in_use == self.limits.maximum {
            let left = time_left(deadline).ok_or(BrokerError::TimedOut)?;
            (state, _) = self.changed.wait_timeout(state, left).unwrap();
        }
        if state.is_destroyed {
            return Err(BrokerError::Destroyed);
        }
        self.close_old(&mut state);
        let idle = state.idle.pop_back();
        let connection = idle.map_or_else(|| self.open(), |idle| idle.connection);
        state.in_use += 1;
        Ok(connection)
    }

    /// Gives a connection back.
    pub fn free(&self, connection: Brokered<C>) {
        let mut state = self.lock();
        state.in_use -= 1;
        if !state.is_destroyed {
            state.idle.push_back(Idle {
                connection,
                since: Instant::now(),
            });
        }
        self.changed.notify_all();
    }

    /// Closes what is too old, and what has been idle for too long and is not
    /// needed; opens what is missing to the minimum.
    pub fn recycle(&self) {
        let mut state = self.lock();
        if state.is_destroyed {
            return;
        }
        self.close_old(&mut state);
        while state.open() > self.limits.minimum && state.longest_idle() > self.limits.max_idle {
            state.idle.pop_front();
        }
        self.open_minimum(&mut state);
    }

    /// What there is now.
    pub fn status(&self) -> Status {
        let state = self.lock();
        Status {
            idle: state.idle.len(),
            in_use: state.in_use,
        }
    }

    /// Closes all connections. Whoever waits for one is turned away. Waits up
    /// to `timeout` for those that are in use.
    pub fn destroy(&self, timeout: Duration) -> Result<(), BrokerError> {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        state.is_destroyed = true;
        state.idle.clear();
        self.changed.notify_all();
        // mutants: equivalent: early-unlock: the loop looks after the gap, and
        // no connection is given out any more
        while state.in_use > 0 {
            let left = time_left(deadline).ok_or(BrokerError::TimedOut)?;
            (state, _) = self.changed.wait_timeout(state, left).unwrap();
        }
        Ok(())
    }

    fn open(&self) -> Brokered<C> {
        Brokered {
            connection: (self.connect)(),
            opened: Instant::now(),
        }
    }

    fn open_minimum(&self, state: &mut State<C>) {
        while state.open() < self.limits.minimum {
            state.idle.push_back(Idle {
                connection: self.open(),
                since: Instant::now(),
            });
        }
    }

    fn close_old(&self, state: &mut State<C>) {
        let max_age = self.limits.max_age;
        let idle = &mut state.idle;
        idle.retain(|idle| idle.connection.opened.elapsed() <= max_age);
    }

    fn lock(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap()
    }
}

impl<C> State<C> {
    fn open(&self) -> usize {
        self.idle.len() + self.in_use
    }

    fn longest_idle(&self) -> Duration {
        let first = self.idle.front();
        first.map_or(Duration::ZERO, |idle| idle.since.elapsed())
    }
}

fn time_left(deadline: Instant) -> Option<Duration> {
    deadline.checked_duration_since(Instant::now())
}

/// A connection of a [`ConnectionBroker`], to which it must be given back.
#[derive(Debug)]
pub struct Brokered<C> {
    connection: C,
    opened: Instant,
}

impl<C> Deref for Brokered<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.connection
    }
}

impl<C> DerefMut for Brokered<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.connection
    }
}

/// Why a [`ConnectionBroker`] did not do what it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokerError {
    /// It would have taken too long.
    TimedOut,
    /// The broker has been destroyed.
    Destroyed,
}

impl fmt::Display for BrokerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "timed out",
            Self::Destroyed => "the broker is destroyed",
        })
    }
}

impl Error for BrokerError {}
