//! A pool of objects that are dear to make.
//!
//! Component 19 of the paper, from a commercial payment system. Its source
//! was never published; this does what pools of that time and name did.

use std::error::Error;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Makes the objects of an [`ObjectPool`], and knows which are still good.
pub trait Factory {
    /// What is made.
    type Object;
    /// Why nothing could be made.
    type Error;

    /// Makes an object. It may take a while.
    fn make(&self) -> Result<Self::Object, Self::Error>;

    /// Whether an object that has been idle may be used again.
    fn is_valid(&self, object: &Self::Object) -> bool;
}

/// Lends objects, up to a maximum at a time, and keeps some that come back.
///
/// The object that came back last is lent first.
#[derive(Debug)]
pub struct ObjectPool<F: Factory> {
    factory: F,
    max_active: usize,
    max_idle: usize,
    state: Mutex<State<F::Object>>,
    /// One object less is lent: for one borrower.
    returned: Condvar,
}

#[derive(Debug)]
struct State<T> {
    idle: Vec<T>,
    active: usize,
    is_closed: bool,
}

impl<F: Factory> ObjectPool<F> {
    /// A pool without an object, which will lend up to `max_active` at a time
    /// and keep up to `max_idle` that nobody has.
    pub fn new(factory: F, max_active: usize, max_idle: usize) -> Self {
        Self {
            factory,
            max_active,
            max_idle,
            state: Mutex::new(State {
                idle: Vec::new(),
                active: 0,
                is_closed: false,
            }),
            returned: Condvar::new(),
        }
    }

    /// Lends an object: an idle one that is still valid, or a new one. Waits
    /// while as many as may be are lent, and gives up after `timeout`.
    pub fn borrow(&self, timeout: Duration) -> Result<F::Object, BorrowError<F::Error>> {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        while !state.is_closed && state.active == self.max_active {
            let left = deadline.checked_duration_since(Instant::now());
            let left = left.ok_or(BorrowError::TimedOut)?;
            (state, _) = self.returned.wait_timeout(state, left).unwrap();
        }
        if state.is_closed {
            return Err(BorrowError::Closed);
        }
        state.active += 1;
        // Nobody else shall wait while the factory takes its time.
        drop(state);
        while let Some(object) = self.take_idle() {
            if self.factory.is_valid(&object) {
                return Ok(object);
            }
        }
        self.factory.make().map_err(|error| {
            self.one_less();
            BorrowError::Factory(error)
        })
    }

    /// Takes an object back, to keep it for others, or to drop it if there
    /// are idle ones enough.
    pub fn give_back(&self, object: F::Object) {
        let mut state = self.lock();
        state.active -= 1;
        if !state.is_closed && state.idle.len() < self.max_idle {
            state.idle.push(object);
        }
        self.returned.notify_one();
    }

    /// Takes an object back that nobody shall have again.
    pub fn invalidate(&self, object: F::Object) {
        drop(object);
        self.one_less();
    }

    /// The factory that makes its objects.
    pub fn factory(&self) -> &F {
        &self.factory
    }

    /// How many objects are lent, and how many are idle.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.active, state.idle.len())
    }

    /// Lends nothing any more; whoever waits is turned away. What is lent is
    /// dropped when it comes back.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.idle.clear();
        self.returned.notify_all();
    }

    fn take_idle(&self) -> Option<F::Object> {
        self.lock().idle.pop()
    }

    fn one_less(&self) {
        let mut state = self.lock();
        state.active -= 1;
        self.returned.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State<F::Object>> {
        self.state.lock().unwrap()
    }
}

/// Why an [`ObjectPool`] lent nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BorrowError<E> {
    /// Nothing came back in time.
    TimedOut,
    /// The pool has been closed.
    Closed,
    /// The factory could not make an object.
    Factory(E),
}

impl<E: fmt::Display> fmt::Display for BorrowError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("timed out"),
            Self::Closed => f.write_str("the pool is closed"),
            Self::Factory(error) => write!(f, "nothing could be made: {error}"),
        }
    }
}

impl<E: Error> Error for BorrowError<E> {}
