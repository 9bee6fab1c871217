//! Small programs, most of them wrong in a way that only some schedules show.
//! Several are in the style of programs of the `SCTBench` collection (Thomson,
//! Donaldson and Betts, 2014), written anew for std's primitives.
//!
//! Threads change places where they wait and wake, and where the programs say
//! so: an unsynchronised access, and a lock that nobody else holds, are no
//! scheduling points by themselves.

#[path = "phantom.rs"]
mod phantom;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, mpsc};
use std::thread;
use std::time::Duration;

use conan_explore::{Failure, Program, Stage, Threads};
use conan_kernel::point;

pub trait Failing: Program<Failure = Failure> {}
impl<P: Program<Failure = Failure>> Failing for P {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    point();
    mutex.lock().unwrap()
}

/// `threads` threads with `points` points each. Nothing is wrong with it.
pub fn points(threads: usize, points: usize) -> impl Failing {
    Threads::new(move |stage: &mut Stage| {
        for thread in 0..threads {
            stage.spawn(&format!("t{thread}"), move || {
                for _ in 0..points {
                    point();
                }
            });
        }
    })
}

/// Two locks, taken in one order and in the other.
pub fn ab_ba() -> impl Failing {
    Threads::new(|stage: &mut Stage| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let turned = locks.clone();
        stage.spawn("ab", move || {
            let _a = lock(&locks.0);
            let _b = lock(&locks.1);
        });
        stage.spawn("ba", move || {
            let _b = lock(&turned.1);
            let _a = lock(&turned.0);
        });
    })
}

/// Two locks, taken in one order and in the other; and a lock that a thread takes
/// twice if it comes second.
pub fn two_deadlocks() -> impl Failing {
    Threads::new(|stage: &mut Stage| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(()), Mutex::new(false)));
        let turned = locks.clone();
        stage.spawn("ab", move || {
            let is_second = *lock(&locks.2);
            if is_second {
                let _once = lock(&locks.2);
                let _twice = lock(&locks.2);
            }
            let _a = lock(&locks.0);
            let _b = lock(&locks.1);
        });
        stage.spawn("ba", move || {
            *lock(&turned.2) = true;
            let _b = lock(&turned.1);
            let _a = lock(&turned.0);
        });
    })
}

/// A wait without a condition: the notification may have come before.
pub fn lost_notify() -> impl Failing {
    Threads::new(|stage: &mut Stage| {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let notifies = pair.clone();
        stage.spawn("waits", move || {
            drop(pair.1.wait(pair.0.lock().unwrap()).unwrap());
        });
        stage.spawn("notifies", move || notifies.1.notify_one());
    })
}

/// A buffer for one item; producers and consumers wait at the same condition
/// variable, and `notify_one` may wake one of the wrong sort.
pub fn wrong_waiter(producers: usize, consumers: usize, all: bool) -> impl Failing {
    Threads::new(move |stage: &mut Stage| {
        let buffer = Arc::new((Mutex::new(VecDeque::new()), Condvar::new()));
        let notify = move |changed: &Condvar| {
            if all {
                changed.notify_all();
            } else {
                changed.notify_one();
            }
        };
        for number in 0..producers {
            let buffer = buffer.clone();
            stage.spawn(&format!("producer {number}"), move || {
                for item in 0..consumers {
                    let (items, changed) = &*buffer;
                    let mut items = changed
                        .wait_while(items.lock().unwrap(), |items| !items.is_empty())
                        .unwrap();
                    items.push_back(item);
                    notify(changed);
                }
            });
        }
        for number in 0..consumers {
            let buffer = buffer.clone();
            stage.spawn(&format!("consumer {number}"), move || {
                for _ in 0..producers {
                    let (items, changed) = &*buffer;
                    let mut items = changed
                        .wait_while(items.lock().unwrap(), |items| items.is_empty())
                        .unwrap();
                    items.pop_front();
                    notify(changed);
                }
            });
        }
    })
}

/// Looks under a lock, and acts under the same lock, but another time.
pub fn check_then_act(has_points: bool) -> impl Failing {
    Threads::new(move |stage: &mut Stage| {
        let taken = Arc::new(Mutex::new(Vec::new()));
        for number in 0..2 {
            let taken = taken.clone();
            stage.spawn(&format!("t{number}"), move || {
                let is_free = taken.lock().unwrap().is_empty();
                if has_points {
                    point();
                }
                if is_free {
                    taken.lock().unwrap().push(number);
                }
            });
        }
        stage.check(move || match taken.lock().unwrap().len() {
            1 => Ok(()),
            count => Err(format!("taken by {count}")),
        });
    })
}

/// A bounded buffer without any synchronisation: adds and takes count in two
/// steps.
pub fn unsynchronised_buffer() -> impl Failing {
    Threads::new(|stage: &mut Stage| {
        let count = Arc::new(AtomicI64::new(0));
        let add = |count: &AtomicI64, number: i64| {
            let before = count.load(Ordering::SeqCst);
            point();
            count.store(before + number, Ordering::SeqCst);
        };
        for name in ["one", "two"] {
            let count = count.clone();
            stage.spawn(name, move || {
                for _ in 0..2 {
                    add(&count, 1);
                    point();
                }
            });
        }
        stage.check(move || match count.load(Ordering::SeqCst) {
            4 => Ok(()),
            other => Err(format!("{other} items instead of 4")),
        });
    })
}

/// Some threads set *a*, then *b*; another one sees *a* without *b*.
pub fn reorder(setters: usize) -> impl Failing {
    Threads::new(move |stage: &mut Stage| {
        let (a, b) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
        for number in 0..setters {
            let (a, b) = (a.clone(), b.clone());
            stage.spawn(&format!("sets {number}"), move || {
                point();
                a.store(1, Ordering::SeqCst);
                point();
                b.store(-1, Ordering::SeqCst);
            });
        }
        stage.spawn("checks", move || {
            point();
            let a = a.load(Ordering::SeqCst);
            point();
            let b = b.load(Ordering::SeqCst);
            assert!((a, b) == (0, 0) || (a, b) == (1, -1), "{a} and {b}");
        });
    })
}

/// A value in two stages, under a lock each.
pub fn two_stage(pairs: usize) -> impl Failing {
    Threads::new(move |stage: &mut Stage| {
        let stages = Arc::new((Mutex::new(0), Mutex::new(0)));
        for number in 0..pairs {
            let writes = stages.clone();
            let reads = stages.clone();
            stage.spawn(&format!("writes {number}"), move || {
                *lock(&writes.0) = 1;
                let first = *lock(&writes.0);
                *lock(&writes.1) = first + 1;
            });
            stage.spawn(&format!("reads {number}"), move || {
                let first = *lock(&reads.0);
                if first == 0 {
                    return;
                }
                let second = *lock(&reads.1);
                assert_eq!(second, first + 1, "the second stage is not there");
            });
        }
    })
}

/// A value under a lock, and under another lock.
pub fn wrong_lock(others: usize) -> impl Failing {
    Threads::new(move |stage: &mut Stage| {
        let value = Arc::new(AtomicI64::new(0));
        let right = Arc::new(Mutex::new(()));
        let wrong = Arc::new(Mutex::new(()));
        let (data, right) = (value.clone(), right);
        stage.spawn("right", move || {
            let _guard = lock(&right);
            let before = data.load(Ordering::SeqCst);
            point();
            let after = data.fetch_add(1, Ordering::SeqCst) + 1;
            assert_eq!(after, before + 1, "somebody else has the value, too");
        });
        for number in 0..others {
            let (data, wrong) = (value.clone(), wrong.clone());
            stage.spawn(&format!("wrong {number}"), move || {
                let _guard = lock(&wrong);
                data.fetch_add(1, Ordering::SeqCst);
            });
        }
    })
}

/// Two classes of threads exclude each other: the first of a class takes a
/// lock for all of it, while it holds the lock of the counters.
pub fn carter() -> impl Failing {
    Threads::new(|stage: &mut Stage| {
        let counters = Arc::new(Mutex::new([0, 0]));
        let class = Arc::new(Mutex::new(()));
        for (number, name) in ["a", "b"].into_iter().enumerate() {
            let (counters, class) = (counters.clone(), class.clone());
            stage.spawn(name, move || {
                let mut held = None;
                let mut guard = lock(&counters);
                guard[number] += 1;
                if guard[number] == 1 {
                    held = Some(lock(&class));
                }
                drop(guard);
                let mut guard = lock(&counters);
                guard[number] -= 1;
                if guard[number] == 0 {
                    drop(held);
                }
                drop(guard);
            });
        }
    })
}

/// A thread may come to its end with a lock in its hands.
pub fn phase() -> impl Failing {
    Threads::new(|stage: &mut Stage| {
        let (phase, gate) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(())));
        for name in ["one", "two"] {
            let (phase, gate) = (phase.clone(), gate.clone());
            stage.spawn(name, move || {
                let guard = lock(&gate);
                let mut phase = lock(&phase);
                *phase += 1;
                if *phase == 2 {
                    return;
                }
                // Never given back.
                std::mem::forget(guard);
            });
        }
    })
}

/// Looks whether there is enough, then takes it.
pub fn account() -> impl Failing {
    Threads::new(|stage: &mut Stage| {
        let balance = Arc::new(Mutex::new(100_i64));
        for name in ["one", "two"] {
            let balance = balance.clone();
            stage.spawn(name, move || {
                if *lock(&balance) >= 70 {
                    *lock(&balance) -= 70;
                }
            });
        }
        stage.check(move || match *balance.lock().unwrap() {
            30 => Ok(()),
            other => Err(format!("{other} are left")),
        });
    })
}

/// Philosophers; all take the left fork first.
pub fn dining(count: usize) -> impl Failing {
    Threads::new(move |stage: &mut Stage| {
        let forks: Arc<Vec<_>> = Arc::new((0..count).map(|_| Mutex::new(())).collect());
        for number in 0..count {
            let forks = forks.clone();
            stage.spawn(&format!("p{number}"), move || {
                let _left = lock(&forks[number]);
                let _right = lock(&forks[(number + 1) % count]);
            });
        }
    })
}

/// Cooperari's semaphore: with *n* − 1 permits for *n* threads; `up` looks
/// at the count without the lock before it notifies.
pub fn semaphore(threads: usize) -> impl Failing {
    Threads::new(move |stage: &mut Stage| {
        let permits = Arc::new((
            Mutex::new(threads - 1),
            Condvar::new(),
            AtomicUsize::new(threads - 1),
        ));
        for number in 0..threads {
            let permits = permits.clone();
            stage.spawn(&format!("t{number}"), move || {
                let (count, free, seen) = &*permits;
                let mut left = lock(count);
                while *left == 0 {
                    left = free.wait(left).unwrap();
                }
                *left -= 1;
                seen.store(*left, Ordering::SeqCst);
                drop(left);
                let mut left = lock(count);
                *left += 1;
                seen.store(*left, Ordering::SeqCst);
                drop(left);
                point();
                if seen.load(Ordering::SeqCst) == 1 {
                    let _left = lock(count);
                    free.notify_one();
                }
            });
        }
    })
}

/// `if` where `while` is needed: harmless, until a wait ends for no reason.
pub fn waits_once() -> impl Failing {
    Threads::new(|stage: &mut Stage| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let opens = pair.clone();
        stage.spawn("waits", move || {
            let mut open = pair.0.lock().unwrap();
            if !*open {
                open = pair.1.wait(open).unwrap();
            }
            assert!(*open, "woken, but not open");
        });
        stage.spawn("opens", move || {
            *opens.0.lock().unwrap() = true;
            opens.1.notify_one();
        });
    })
}

/// Each of two threads gives way whenever the other one wants to go, too.
pub fn too_polite(steps: u64) -> impl Failing {
    Threads::new(|stage: &mut Stage| {
        let wants = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        for number in 0..2 {
            let wants = wants.clone();
            stage.spawn(&format!("t{number}"), move || {
                loop {
                    wants[number].store(true, Ordering::SeqCst);
                    point();
                    if !wants[1 - number].load(Ordering::SeqCst) {
                        break;
                    }
                    point();
                    wants[number].store(false, Ordering::SeqCst);
                    point();
                }
                wants[number].store(false, Ordering::SeqCst);
            });
        }
    })
    .steps(steps)
}

/// Four threads over a buffer of two, and nothing is wrong with it.
pub fn producer_consumer(items: usize) -> impl Failing {
    Threads::new(move |stage: &mut Stage| {
        let buffer = Arc::new((Mutex::new(VecDeque::new()), Condvar::new(), Condvar::new()));
        let sum = Arc::new(AtomicUsize::new(0));
        for number in 0..2 {
            let buffer = buffer.clone();
            stage.spawn(&format!("producer {number}"), move || {
                let (queue, not_empty, not_full) = &*buffer;
                for item in 0..items {
                    let queue = queue.lock().unwrap();
                    let mut queue = not_full.wait_while(queue, |it| it.len() == 2).unwrap();
                    queue.push_back(item);
                    not_empty.notify_one();
                }
            });
        }
        for number in 0..2 {
            let (buffer, sum) = (buffer.clone(), sum.clone());
            stage.spawn(&format!("consumer {number}"), move || {
                let (queue, not_empty, not_full) = &*buffer;
                for _ in 0..items {
                    let queue = queue.lock().unwrap();
                    let mut queue = not_empty.wait_while(queue, |it| it.is_empty()).unwrap();
                    let item = queue.pop_front().unwrap();
                    not_full.notify_one();
                    sum.fetch_add(item, Ordering::SeqCst);
                }
            });
        }
        stage.check(move || match sum.load(Ordering::SeqCst) {
            right if right == items * (items - 1) => Ok(()),
            wrong => Err(format!("the sum is {wrong}")),
        });
    })
}

/// A thread starts others, which start one more each; they share a channel.
pub fn children(count: usize) -> impl Failing {
    Threads::new(move |stage: &mut Stage| {
        stage.spawn("main", move || {
            let (sender, receiver) = mpsc::channel();
            let children: Vec<_> = (0..count)
                .map(|number| {
                    let sender = sender.clone();
                    thread::spawn(move || {
                        let other = sender.clone();
                        let child = thread::spawn(move || other.send(10 * number).unwrap());
                        sender.send(number).unwrap();
                        child.join().unwrap();
                    })
                })
                .collect();
            drop(sender);
            let sum: usize = receiver.iter().sum();
            assert_eq!(sum, 11 * count * (count - 1) / 2);
            for child in children {
                child.join().unwrap();
            }
        });
    })
}

/// Sleeps and time-outs that end at the same time.
pub fn timers() -> impl Failing {
    Threads::new(|stage: &mut Stage| {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        for number in 0..3 {
            let pair = pair.clone();
            stage.spawn(&format!("sleeps {number}"), move || {
                for _ in 0..2 {
                    thread::sleep(Duration::from_secs(1));
                    *pair.0.lock().unwrap() += 1;
                    pair.1.notify_all();
                    thread::yield_now();
                }
            });
        }
        stage.spawn("waits", move || {
            let mut count = pair.0.lock().unwrap();
            while *count < 6 {
                let second = Duration::from_secs(1);
                count = pair.1.wait_timeout(count, second).unwrap().0;
            }
        });
    })
}

/// A waiter gives up; later ones wait for a notification each, and get it.
/// (A scheduler for Java once counted the one that had given up among those
/// that wait, and said that this deadlocks.) Nothing is wrong with it, unless
/// the queue keeps who has given up.
pub fn phantom(keeps: bool) -> impl Failing {
    /// A monitor with a queue of its own: a notification is for the first.
    struct Queue {
        waiting: Mutex<VecDeque<(u64, bool)>>,
        changed: Condvar,
    }

    impl Queue {
        /// True if it was notified in time.
        fn wait(&self, ticket: u64, seconds: Option<u64>, keeps: bool) -> bool {
            let mut waiting = self.waiting.lock().unwrap();
            waiting.push_back((ticket, false));
            let is_due =
                |waiting: &VecDeque<(u64, bool)>| waiting.iter().any(|it| *it == (ticket, true));
            let mut is_late = false;
            while !is_due(&waiting) && !is_late {
                waiting = match seconds {
                    None => self.changed.wait(waiting).unwrap(),
                    Some(seconds) => {
                        let patience = Duration::from_secs(seconds);
                        let waited = self.changed.wait_timeout(waiting, patience).unwrap();
                        is_late = waited.1.timed_out();
                        waited.0
                    }
                };
            }
            if !keeps || !is_late {
                waiting.retain(|it| it.0 != ticket);
            }
            !is_late
        }

        fn notify(&self) {
            let mut waiting = self.waiting.lock().unwrap();
            if let Some(first) = waiting.iter_mut().find(|it| !it.1) {
                first.1 = true;
            }
            self.changed.notify_all();
        }
    }

    Threads::new(move |stage: &mut Stage| {
        let queue = Arc::new(Queue {
            waiting: Mutex::new(VecDeque::new()),
            changed: Condvar::new(),
        });
        let [gives_up, waits, notifies] = [0, 1, 2].map(|_| queue.clone());
        stage.spawn("gives up", move || {
            assert!(!gives_up.wait(0, Some(1), keeps), "nobody has notified");
        });
        stage.spawn("waits", move || {
            for ticket in 1..3 {
                thread::sleep(Duration::from_secs(2));
                waits.wait(ticket, None, keeps);
            }
        });
        stage.spawn("notifies", move || {
            for _ in 0..2 {
                thread::sleep(Duration::from_secs(3));
                notifies.notify();
            }
        });
    })
}

/// The same with std's own condition variable.
pub fn phantom_at_a_condvar() -> impl Failing {
    Threads::new(phantom::set)
}
