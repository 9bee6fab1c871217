//! The programs of Cooperari's evaluation (Simões, 2014), written anew. The
//! thesis has the code of Dining and Semaphore; the bugs of the others are
//! known by a line each and by the programs that they come from. It says
//! nothing of Apache Lang and Bank but "race" and "deadlock", and nothing of
//! who does what where there are more threads.

use std::sync::Arc;

use super::super::tool::{Condvar, Mutex, Stage};
use super::{Cell, cells, lock};

/// A clock and its clients. A client enters itself in the list under the
/// monitor's lock, and looks its entry up without it. Meanwhile the clock may
/// have taken another one out, and all behind it have moved up: there must be
/// two clients for that.
pub(super) fn alarm_clock(stage: &mut Stage, threads: usize) {
    const TICKS: i64 = 5;
    const INTERVAL: i64 = 2;

    struct Monitor {
        /// The time; and whether the clock has stopped.
        now: Mutex<(i64, bool)>,
        tick: Condvar,
        /// When the clients want to be woken, and who they are; 0 is nobody.
        times: Vec<Cell>,
        clients: Vec<Cell>,
        length: Cell,
        /// Who waits already. Only they are woken.
        waits: Vec<Cell>,
    }

    impl Monitor {
        /// Takes out who is due; under the lock.
        fn pop(&self, now: i64) {
            let length = self.length.get();
            if length == 0 || self.times[0].get() > now {
                return;
            }
            let client = self.clients[0].get();
            if client == 0 || self.waits[client as usize].get() == 0 {
                return;
            }
            for place in 1..length as usize {
                self.times[place - 1].set(self.times[place].get());
                self.clients[place - 1].set(self.clients[place].get());
            }
            self.clients[length as usize - 1].set(0);
            self.length.set(length - 1);
            self.waits[client as usize].set(0);
        }

        fn wake_me(&self, client: i64) {
            let mut now = lock(&self.now);
            let place = self.length.get();
            self.times[place as usize].set(now.0 + INTERVAL);
            self.clients[place as usize].set(client);
            self.length.set(place + 1);
            drop(now);
            let entry = self.clients[place as usize].get();
            assert_ne!(entry, 0, "there is no such entry");
            now = lock(&self.now);
            self.waits[client as usize].set(1);
            while self.waits[client as usize].get() == 1 && !now.1 {
                now = self.tick.wait(now).unwrap();
            }
        }
    }

    let monitor = Arc::new(Monitor {
        now: Mutex::new((0, false)),
        tick: Condvar::new(),
        times: cells(threads, 0),
        clients: cells(threads, 0),
        length: Cell::new(0),
        waits: cells(threads + 1, 0),
    });
    for client in 1..threads as i64 {
        let monitor = Arc::clone(&monitor);
        stage.spawn("client", move || monitor.wake_me(client));
    }
    stage.spawn("clock", move || {
        for _ in 0..TICKS {
            let mut now = lock(&monitor.now);
            now.0 += 1;
            monitor.pop(now.0);
            monitor.tick.notify_all();
        }
        lock(&monitor.now).1 = true;
        monitor.tick.notify_all();
    });
}

/// Not specified. A cache without synchronisation, as the library has had
/// several: each thread makes the instance if it sees none.
pub(super) fn apache_lang(stage: &mut Stage, threads: usize) {
    let instance = Arc::new(Cell::new(0));
    let gotten = Arc::new(cells(threads, 0));
    for number in 0..threads {
        let (instance, gotten) = (Arc::clone(&instance), Arc::clone(&gotten));
        stage.spawn("caller", move || {
            if instance.get() == 0 {
                instance.set(number as i64 + 1);
                gotten[number].set(number as i64 + 1);
            } else {
                gotten[number].set(instance.get());
            }
        });
    }
    stage.check(move || {
        let first = gotten[0].get();
        assert!(gotten.iter().all(|it| it.get() == first), "two instances");
    });
}

/// Not specified. Transfers between two accounts in both directions, each
/// under the locks of both.
pub(super) fn bank(stage: &mut Stage, threads: usize) {
    let accounts = Arc::new([Mutex::new(100), Mutex::new(100)]);
    for number in 0..threads {
        let accounts = Arc::clone(&accounts);
        stage.spawn("transfers", move || {
            for turn in 0..2 {
                let from = (number + turn) % 2;
                let mut payer = lock(&accounts[from]);
                let mut payee = lock(&accounts[1 - from]);
                *payer -= 1;
                *payee += 1;
            }
        });
    }
}

/// Two sorts of threads signal each other by events; the count of an event is
/// looked at without its lock, so that a signal can be missed.
pub(super) fn clean(stage: &mut Stage, threads: usize) {
    const ROUNDS: usize = 2;

    struct Event {
        lock: Mutex<()>,
        count: Cell,
        signalled: Condvar,
    }

    impl Event {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                lock: Mutex::new(()),
                count: Cell::new(0),
                signalled: Condvar::new(),
            })
        }

        fn wait_for(&self, count: i64) {
            let guard = lock(&self.lock);
            if count == self.count.get() {
                drop(self.signalled.wait(guard).unwrap());
            }
        }

        fn signal(&self) {
            let _guard = lock(&self.lock);
            self.count.set((self.count.get() + 1) % 100);
            self.signalled.notify_all();
        }
    }

    let (one, two) = (Event::new(), Event::new());
    for number in 0..threads {
        let (one, two) = (Arc::clone(&one), Arc::clone(&two));
        if number % 2 == 0 {
            stage.spawn("first", move || {
                let mut count = one.count.get();
                for _ in 0..ROUNDS {
                    one.wait_for(count);
                    count = one.count.get();
                    two.signal();
                }
            });
        } else {
            stage.spawn("second", move || {
                let mut count = two.count.get();
                for _ in 0..ROUNDS {
                    one.signal();
                    two.wait_for(count);
                    count = two.count.get();
                }
            });
        }
    }
}

/// Philosophers, who all take the left fork first.
pub(super) fn dining(stage: &mut Stage, threads: usize) {
    let forks: Arc<Vec<_>> = Arc::new((0..threads).map(|_| Mutex::new(())).collect());
    for number in 0..threads {
        let forks = Arc::clone(&forks);
        stage.spawn("philosopher", move || {
            let _left = lock(&forks[number]);
            let _right = lock(&forks[(number + 1) % forks.len()]);
        });
    }
}

/// Each thread appends a node, without synchronisation: it walks to the end
/// and links it there.
pub(super) fn linked_list(stage: &mut Stage, threads: usize) {
    // Node 0 is the head; 0 as the next one is the end.
    let next = Arc::new(cells(threads + 1, 0));
    for node in 1..=threads {
        let next = Arc::clone(&next);
        stage.spawn("builder", move || {
            let mut last = 0;
            loop {
                match next[last].get() {
                    0 => break,
                    node => last = node as usize,
                }
            }
            next[last].set(node as i64);
        });
    }
    stage.check(move || {
        let mut size = 0;
        let mut last = 0;
        while next[last].get() != 0 {
            last = next[last].get() as usize;
            size += 1;
        }
        assert_eq!(size, next.len() - 1, "nodes are missing");
    });
}

/// Sorters share two further threads that may be started. Each looks and takes
/// under a lock, but it is its own.
pub(super) fn merge_sort(stage: &mut Stage, threads: usize) {
    let available = Arc::new(Cell::new(2));
    for _ in 0..threads {
        let available = Arc::clone(&available);
        let own = Mutex::new(());
        stage.spawn("sorter", move || {
            let guard = lock(&own);
            let wanted = available.get().min(2);
            if wanted > 0 {
                available.add(-wanted);
            }
            drop(guard);
            assert!(available.get() >= 0, "more threads than there are");
            let _guard = lock(&own);
            if wanted > 0 {
                available.add(wanted);
            }
        });
    }
}

/// A plane with one seat, which is filled twice by each of half of the threads,
/// and emptied by the others. Who fills it waits once where the loop should be,
/// and may overwrite a passenger; then one who empties waits for ever.
pub(super) fn piper(stage: &mut Stage, threads: usize) {
    const PASSENGERS: usize = 2;

    struct Plane {
        seat: Mutex<Option<usize>>,
        changed: Condvar,
    }

    impl Plane {
        fn fill(&self, passenger: usize) {
            let mut seat = lock(&self.seat);
            if seat.is_some() {
                seat = self.changed.wait(seat).unwrap();
            }
            *seat = Some(passenger);
            self.changed.notify_all();
        }

        fn empty(&self) {
            let mut seat = lock(&self.seat);
            while seat.is_none() {
                seat = self.changed.wait(seat).unwrap();
            }
            *seat = None;
            self.changed.notify_all();
        }
    }

    let plane = Arc::new(Plane {
        seat: Mutex::new(None),
        changed: Condvar::new(),
    });
    for number in 0..threads {
        let plane = Arc::clone(&plane);
        if number % 2 == 0 {
            stage.spawn("fills", move || {
                for passenger in 0..PASSENGERS {
                    plane.fill(passenger);
                }
            });
        } else {
            stage.spawn("empties", move || {
                for _ in 0..PASSENGERS {
                    plane.empty();
                }
            });
        }
    }
}

/// Half of the threads set *a*, then *b*; the others see *a* without *b*.
pub(super) fn reorder(stage: &mut Stage, threads: usize) {
    let values = Arc::new((Cell::new(0), Cell::new(0)));
    for number in 0..threads {
        let values = Arc::clone(&values);
        if number % 2 == 0 {
            stage.spawn("sets", move || {
                values.0.set(1);
                values.1.set(-1);
            });
        } else {
            stage.spawn("checks", move || {
                let seen = (values.0.get(), values.1.get());
                assert!(seen == (0, 0) || seen == (1, -1), "{seen:?}");
            });
        }
    }
}

/// One permit less than threads; `up` looks at the count once more, without
/// the lock, before it notifies.
pub(super) fn semaphore(stage: &mut Stage, threads: usize) {
    let value = Arc::new((
        Mutex::new(()),
        Condvar::new(),
        Cell::new(threads as i64 - 1),
    ));
    for _ in 0..threads {
        let value = Arc::clone(&value);
        stage.spawn("client", move || {
            let (monitor, free, value) = &*value;
            let mut guard = lock(monitor);
            while value.get() == 0 {
                guard = free.wait(guard).unwrap();
            }
            value.add(-1);
            drop(guard);

            let guard = lock(monitor);
            value.add(1);
            drop(guard);
            if value.get() == 1 {
                let _guard = lock(monitor);
                free.notify_one();
            }
        });
    }
}

/// A value in two stages, each under its own lock; between them, one is
/// there, and the other is not.
pub(super) fn two_stage(stage: &mut Stage, threads: usize) {
    let stages = Arc::new((Mutex::new(0), Mutex::new(0)));
    for number in 0..threads {
        let stages = Arc::clone(&stages);
        if number % 2 == 0 {
            stage.spawn("writes", move || {
                *lock(&stages.0) = 1;
                *lock(&stages.1) = 2;
            });
        } else {
            stage.spawn("reads", move || {
                let first = *lock(&stages.0);
                if first == 0 {
                    return;
                }
                let second = *lock(&stages.1);
                assert_eq!(second, first + 1, "the second stage is not there");
            });
        }
    }
}

/// Half of the threads use a value under one lock, the others under another.
pub(super) fn wrong_lock(stage: &mut Stage, threads: usize) {
    let data = Arc::new((Mutex::new(()), Mutex::new(()), Cell::new(0)));
    for number in 0..threads {
        let data = Arc::clone(&data);
        if number % 2 == 0 {
            stage.spawn("right", move || {
                let _guard = lock(&data.0);
                let before = data.2.get();
                data.2.add(1);
                assert_eq!(data.2.get(), before + 1, "another one has it, too");
            });
        } else {
            stage.spawn("wrong", move || {
                let _guard = lock(&data.1);
                data.2.add(1);
            });
        }
    }
}
