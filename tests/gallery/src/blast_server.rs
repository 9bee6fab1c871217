//! A server that stands between clients and workers.
//!
//! Component 15 of the paper's Table 2. The paper says of it that it is part
//! of a middleware product, and a variation of the producer-consumer monitor.
//! This one is made after that description, not after the product.

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::fmt;
use std::sync::{Condvar, Mutex};

/// Takes requests from clients, hands them to workers, and brings each answer
/// back to the client who asked.
///
/// Only so many requests can lie on its desk: clients wait for room, and
/// workers for work. After [`shut_down`](Self::shut_down) it lets no request
/// in, but those on the desk are worked on.
#[derive(Debug)]
pub struct BlastServer<Q, A> {
    desk: Mutex<Desk<Q, A>>,
    capacity: usize,
    room: Condvar,
    work: Condvar,
    answered: Condvar,
}

#[derive(Debug)]
struct Desk<Q, A> {
    is_open: bool,
    /// The number of the next request.
    next: u64,
    requests: VecDeque<(u64, Q)>,
    /// What clients have not fetched yet; nothing where a worker gave up.
    answers: HashMap<u64, Option<A>>,
}

impl<Q, A> BlastServer<Q, A> {
    /// An open server with an empty desk for `capacity` requests.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a desk must have a place for a request");
        let desk = Desk {
            is_open: true,
            // mutants: equivalent: initial-value: the numbers tell requests apart,
            // whichever is the first
            next: 0,
            requests: VecDeque::with_capacity(capacity),
            answers: HashMap::new(),
        };
        Self {
            desk: Mutex::new(desk),
            capacity,
            room: Condvar::new(),
            work: Condvar::new(),
            answered: Condvar::new(),
        }
    }

    /// Asks for something, and waits: for room on the desk, then for the
    /// answer.
    pub fn ask(&self, question: Q) -> Result<A, Refusal> {
        let mut desk = self.desk.lock().unwrap();
        while desk.is_open && desk.requests.len() == self.capacity {
            desk = self.room.wait(desk).unwrap();
        }
        if !desk.is_open {
            return Err(Refusal::ShutDown);
        }
        let number = desk.next;
        desk.next += 1;
        desk.requests.push_back((number, question));
        self.work.notify_one();
        while !desk.answers.contains_key(&number) {
            desk = self.answered.wait(desk).unwrap();
        }
        // mutants: equivalent: early-unlock: an answer that is there stays there
        // until its client takes it
        let answer = desk.answers.remove(&number).flatten();
        answer.ok_or(Refusal::GivenUp)
    }

    /// The oldest request on the desk, for a worker; waits while there is
    /// none. Nothing if there is none and the server has been shut down.
    pub fn take(&self) -> Option<Request<'_, Q, A>> {
        let mut desk = self.desk.lock().unwrap();
        while desk.is_open && desk.requests.is_empty() {
            desk = self.work.wait(desk).unwrap();
        }
        let (number, question) = desk.requests.pop_front()?;
        self.room.notify_one();
        Some(Request {
            server: self,
            number,
            question,
            answer: None,
        })
    }

    /// Lets no more requests in, and workers go home when the desk is empty.
    pub fn shut_down(&self) {
        self.desk.lock().unwrap().is_open = false;
        self.room.notify_all();
        self.work.notify_all();
    }

    /// How many requests lie on the desk.
    pub fn pending(&self) -> usize {
        self.desk.lock().unwrap().requests.len()
    }
}

/// A request in the hands of a worker.
///
/// If it is dropped without an answer, as by a worker that panics, the client
/// is told so.
#[derive(Debug)]
pub struct Request<'a, Q, A> {
    server: &'a BlastServer<Q, A>,
    number: u64,
    question: Q,
    answer: Option<A>,
}

impl<Q, A> Request<'_, Q, A> {
    /// What the client has asked for.
    pub fn question(&self) -> &Q {
        &self.question
    }

    /// Sends the answer to the client.
    pub fn answer(mut self, answer: A) {
        self.answer = Some(answer);
    }
}

impl<Q, A> Drop for Request<'_, Q, A> {
    fn drop(&mut self) {
        let mut desk = self.server.desk.lock().unwrap();
        desk.answers.insert(self.number, self.answer.take());
        self.server.answered.notify_all();
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The server lets no more requests in.
    ShutDown,
    /// The worker dropped the request.
    GivenUp,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ShutDown => "the server has been shut down",
            Self::GivenUp => "the request has been given up",
        })
    }
}

impl Error for Refusal {}
