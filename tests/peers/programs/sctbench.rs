//! Programs in the style of the `SCTBench` collection (Thomson, Donaldson and
//! Betts, 2014), written anew.

use std::sync::Arc;

use super::super::tool::{AtomicI64, Condvar, Mutex, Ordering, Stage};
use super::{Cell, cells, lock};

/// One pays in, one takes out, one looks, and expects the wrong sum: only if
/// it is the last does it notice.
pub(super) fn account(stage: &mut Stage, _: usize) {
    let account = Arc::new(Mutex::new((100, false, false)));
    let [pays, takes, looks] = [0, 1, 2].map(|_| Arc::clone(&account));
    stage.spawn("pays in", move || {
        let mut account = lock(&pays);
        account.0 += 30;
        account.1 = true;
    });
    stage.spawn("takes out", move || {
        let mut account = lock(&takes);
        account.0 -= 20;
        account.2 = true;
    });
    stage.spawn("looks", move || {
        let account = lock(&looks);
        if account.1 && account.2 {
            assert_eq!(account.0, 100 - 30 - 20, "the wrong sum");
        }
    });
}

/// All but one set *a*, then *b*; the last sees *a* without *b*.
pub(super) fn reorder(stage: &mut Stage, threads: usize) {
    let values = Arc::new((Cell::new(0), Cell::new(0)));
    for _ in 1..threads {
        let values = Arc::clone(&values);
        stage.spawn("sets", move || {
            values.0.set(1);
            values.1.set(-1);
        });
    }
    stage.spawn("checks", move || {
        let seen = (values.0.get(), values.1.get());
        assert!(seen == (0, 0) || seen == (1, -1), "{seen:?}");
    });
}

/// A value in two stages, under a lock each.
pub(super) fn twostage(stage: &mut Stage, _: usize) {
    let stages = Arc::new((Mutex::new(0), Mutex::new(0)));
    let reads = Arc::clone(&stages);
    stage.spawn("writes", move || {
        *lock(&stages.0) = 1;
        let first = *lock(&stages.0);
        *lock(&stages.1) = first + 1;
    });
    stage.spawn("reads", move || {
        let first = *lock(&reads.0);
        if first != 0 {
            let second = *lock(&reads.1);
            assert_eq!(second, first + 1, "the second stage is not there");
        }
    });
}

/// A value under a lock, and by the others under another lock.
pub(super) fn wronglock(stage: &mut Stage, threads: usize) {
    let data = Arc::new((Mutex::new(()), Mutex::new(()), Cell::new(0)));
    let right = Arc::clone(&data);
    stage.spawn("right", move || {
        let _guard = lock(&right.0);
        let before = right.2.get();
        right.2.add(1);
        assert_eq!(right.2.get(), before + 1, "another one has it, too");
    });
    for _ in 1..threads {
        let data = Arc::clone(&data);
        stage.spawn("wrong", move || {
            let _guard = lock(&data.1);
            data.2.add(1);
        });
    }
}

/// Two locks in two orders.
pub(super) fn deadlock01(stage: &mut Stage, _: usize) {
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let turned = Arc::clone(&locks);
    stage.spawn("ab", move || {
        let mut a = lock(&locks.0);
        let mut b = lock(&locks.1);
        *a += 1;
        *b += 1;
    });
    stage.spawn("ba", move || {
        let mut b = lock(&turned.1);
        let mut a = lock(&turned.0);
        *b -= 1;
        *a -= 1;
    });
}

/// Two classes of threads exclude each other. The first of a class takes the
/// lock for all of it, while it holds the lock of the counters, which the last
/// of the other class needs to give it back.
pub(super) fn carter01(stage: &mut Stage, threads: usize) {
    struct Classes {
        counters: Mutex<[usize; 2]>,
        /// Whether a class is inside.
        taken: Mutex<bool>,
        free: Condvar,
    }

    let classes = Arc::new(Classes {
        counters: Mutex::new([0; 2]),
        taken: Mutex::new(false),
        free: Condvar::new(),
    });
    for number in 0..threads {
        let classes = Arc::clone(&classes);
        let class = number % 2;
        stage.spawn("member", move || {
            let mut counters = lock(&classes.counters);
            counters[class] += 1;
            if counters[class] == 1 {
                let mut taken = lock(&classes.taken);
                while *taken {
                    taken = classes.free.wait(taken).unwrap();
                }
                *taken = true;
            }
            drop(counters);
            let mut counters = lock(&classes.counters);
            counters[class] -= 1;
            if counters[class] == 0 {
                *lock(&classes.taken) = false;
                classes.free.notify_one();
            }
        });
    }
}

/// Who comes first does not give the gate back.
pub(super) fn phase01(stage: &mut Stage, _: usize) {
    let phase = Arc::new((Mutex::new(false), Condvar::new(), Mutex::new(0)));
    for _ in 0..2 {
        let phase = Arc::clone(&phase);
        stage.spawn("passes", move || {
            let mut gate = lock(&phase.0);
            while *gate {
                gate = phase.1.wait(gate).unwrap();
            }
            *gate = true;
            drop(gate);
            let mut count = lock(&phase.2);
            *count += 1;
            if *count == 2 {
                *lock(&phase.0) = false;
                phase.1.notify_one();
            }
        });
    }
}

/// Both look at the number without the lock before they wait: the signal may
/// come in between.
pub(super) fn sync01(stage: &mut Stage, _: usize) {
    let shared = Arc::new((Mutex::new(()), Condvar::new(), Cell::new(1)));
    let other = Arc::clone(&shared);
    stage.spawn("fills", move || {
        let (monitor, empty, number) = &*shared;
        if number.get() > 0 {
            drop(empty.wait(lock(monitor)).unwrap());
        }
        number.add(1);
    });
    stage.spawn("empties", move || {
        let (monitor, empty, number) = &*other;
        number.add(-1);
        let _guard = lock(monitor);
        empty.notify_one();
    });
}

/// A driver is stopped while a request comes in: that looks whether it is
/// stopping before it counts itself.
pub(super) fn bluetooth_driver(stage: &mut Stage, _: usize) {
    struct Driver {
        pending: AtomicI64,
        is_stopping: Cell,
        is_stopped: Cell,
        event: Mutex<bool>,
        happened: Condvar,
    }

    impl Driver {
        fn leave(&self) {
            if self.pending.fetch_sub(1, Ordering::SeqCst) == 1 {
                *lock(&self.event) = true;
                self.happened.notify_all();
            }
        }
    }

    let driver = Arc::new(Driver {
        pending: AtomicI64::new(1),
        is_stopping: Cell::new(0),
        is_stopped: Cell::new(0),
        event: Mutex::new(false),
        happened: Condvar::new(),
    });
    let stops = Arc::clone(&driver);
    stage.spawn("stops", move || {
        stops.is_stopping.set(1);
        stops.leave();
        let mut event = lock(&stops.event);
        while !*event {
            event = stops.happened.wait(event).unwrap();
        }
        stops.is_stopped.set(1);
    });
    stage.spawn("requests", move || {
        if driver.is_stopping.get() == 0 {
            driver.pending.fetch_add(1, Ordering::SeqCst);
            assert_eq!(driver.is_stopped.get(), 0, "the driver has stopped");
            driver.leave();
        }
    });
}

/// Two add, and the third, if it is the last, sees more than it expects.
pub(super) fn lazy01(stage: &mut Stage, _: usize) {
    let data = Arc::new(Mutex::new(0));
    let [one, two, looks] = [0, 1, 2].map(|_| Arc::clone(&data));
    stage.spawn("one", move || *lock(&one) += 1);
    stage.spawn("two", move || *lock(&two) += 2);
    stage.spawn("looks", move || assert!(*lock(&looks) < 3, "3 or more"));
}

/// A ring of which the one who sends publishes the index before the item.
pub(super) fn circular_buffer(stage: &mut Stage, _: usize) {
    const ITEMS: i64 = 3;

    struct Ring {
        slots: Vec<Cell>,
        sent: Cell,
    }

    let ring = Arc::new(Ring {
        slots: cells(ITEMS as usize, 0),
        sent: Cell::new(0),
    });
    let receives = Arc::clone(&ring);
    stage.spawn("sends", move || {
        for item in 1..=ITEMS {
            let place = ring.sent.get();
            ring.sent.set(place + 1);
            ring.slots[place as usize].set(item);
        }
    });
    stage.spawn("receives", move || {
        let mut received = 0;
        for _ in 0..ITEMS {
            if received < receives.sent.get() {
                let item = receives.slots[received as usize].get();
                assert_eq!(item, received + 1, "no item there yet");
                received += 1;
            }
        }
    });
}

/// A queue from whose one end its owner takes, while another one steals from
/// the other. For the last item they have to agree; the owner does not look
/// at the head again after it has taken hold of the tail.
pub(super) fn work_stealing(stage: &mut Stage, _: usize) {
    const ITEMS: i64 = 3;

    struct Queue {
        head: AtomicI64,
        tail: AtomicI64,
        taken: Vec<Cell>,
    }

    impl Queue {
        fn take(&self) -> bool {
            let tail = self.tail.load(Ordering::SeqCst) - 1;
            if self.head.load(Ordering::SeqCst) > tail {
                return false;
            }
            self.tail.store(tail, Ordering::SeqCst);
            self.taken[tail as usize].add(1);
            true
        }

        fn steal(&self) {
            let head = self.head.load(Ordering::SeqCst);
            if head >= self.tail.load(Ordering::SeqCst) {
                return;
            }
            let stolen =
                self.head
                    .compare_exchange(head, head + 1, Ordering::SeqCst, Ordering::SeqCst);
            if stolen.is_ok() {
                self.taken[head as usize].add(1);
            }
        }
    }

    let queue = Arc::new(Queue {
        head: AtomicI64::new(0),
        tail: AtomicI64::new(ITEMS),
        taken: cells(ITEMS as usize, 0),
    });
    let (owner, thief) = (Arc::clone(&queue), Arc::clone(&queue));
    stage.spawn("owner", move || while owner.take() {});
    stage.spawn("thief", move || {
        thief.steal();
        thief.steal();
    });
    stage.check(move || {
        assert!(
            queue.taken.iter().all(|taken| taken.get() == 1),
            "an item was taken twice, or never"
        );
    });
}
