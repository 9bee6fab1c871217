//! The paper's monitor; and its buffer, with semaphores that count and nothing
//! that excludes.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::tool::{Condvar, Mutex, Stage};
use super::{Cell, cells, lock};

/// The asymmetric producer-consumer monitor: `send` waits until everything was
/// taken out, `receive` takes one character.
struct Monitor {
    remaining: Mutex<VecDeque<char>>,
    changed: Condvar,
}

impl Monitor {
    fn send(&self, text: &str) {
        let mut remaining = lock(&self.remaining);
        while !remaining.is_empty() {
            remaining = self.changed.wait(remaining).unwrap();
        }
        remaining.extend(text.chars());
        self.changed.notify_all();
    }

    fn receive(&self) -> char {
        let mut remaining = lock(&self.remaining);
        while remaining.is_empty() {
            remaining = self.changed.wait(remaining).unwrap();
        }
        let next = remaining.pop_front().expect("the loop has seen one");
        self.changed.notify_all();
        next
    }
}

/// As many senders as receivers; each sender has a text of two characters, and
/// each receiver takes two.
pub(super) fn monitor(stage: &mut Stage, threads: usize) {
    let monitor = Arc::new(Monitor {
        remaining: Mutex::new(VecDeque::new()),
        changed: Condvar::new(),
    });
    for _ in 0..threads / 2 {
        let (sends, receives) = (Arc::clone(&monitor), Arc::clone(&monitor));
        stage.spawn("sender", move || sends.send("ab"));
        stage.spawn("receiver", move || {
            receives.receive();
            receives.receive();
        });
    }
}

/// Counts, and lets wait.
struct Semaphore {
    count: Mutex<usize>,
    free: Condvar,
}

impl Semaphore {
    fn new(count: usize) -> Self {
        Self {
            count: Mutex::new(count),
            free: Condvar::new(),
        }
    }

    fn down(&self) {
        let mut count = lock(&self.count);
        while *count == 0 {
            count = self.free.wait(count).unwrap();
        }
        *count -= 1;
    }

    fn up(&self) {
        *lock(&self.count) += 1;
        self.free.notify_one();
    }
}

/// A ring whose semaphores keep it from overflowing and running dry; two that
/// put at the same time may use the same slot.
struct Buffer {
    slots: Vec<Cell>,
    first: Cell,
    last: Cell,
    empty: Semaphore,
    full: Semaphore,
}

impl Buffer {
    fn put(&self, item: i64) {
        self.empty.down();
        let last = self.last.get();
        self.slots[last as usize].set(item);
        self.last.set((last + 1) % self.slots.len() as i64);
        self.full.up();
    }

    fn take(&self) -> i64 {
        self.full.down();
        let first = self.first.get();
        let item = self.slots[first as usize].get();
        self.first.set((first + 1) % self.slots.len() as i64);
        self.empty.up();
        item
    }
}

/// What is put is not always what is taken.
pub(super) fn unsynchronised(stage: &mut Stage, threads: usize) {
    let pairs = threads / 2;
    let buffer = Arc::new(Buffer {
        slots: cells(2, 0),
        first: Cell::new(0),
        last: Cell::new(0),
        empty: Semaphore::new(2),
        full: Semaphore::new(0),
    });
    let taken = Arc::new(Mutex::new(Vec::new()));
    for number in 1..=pairs as i64 {
        let puts = Arc::clone(&buffer);
        stage.spawn("producer", move || puts.put(number));
        let (takes, taken) = (Arc::clone(&buffer), Arc::clone(&taken));
        stage.spawn("consumer", move || {
            let item = takes.take();
            lock(&taken).push(item);
        });
    }
    stage.check(move || {
        let mut taken = lock(&taken).clone();
        taken.sort_unstable();
        let put: Vec<_> = (1..=pairs as i64).collect();
        assert_eq!(taken, put, "taken is not what was put");
    });
}
