//! Threads that are kept between worlds.

mod common;

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use common::{Log, all_finished, run_to_the_end, spawn};
use conan_kernel::{Crew, Fifo, World};

fn world(crew: &Arc<Crew>) -> World {
    let world = World::open(Fifo).expect("interposition works here");
    world.with_crew(crew)
}

#[test]
fn every_job_finds_the_thread_as_new() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);

    struct Counted(usize);

    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(self.0, Ordering::SeqCst);
        }
    }

    thread_local! {
        static PLAIN: Cell<u32> = const { Cell::new(7) };
        static LAZY: RefCell<Vec<u32>> = RefCell::new(vec![1]);
        static WITH_DROP: RefCell<Counted> = const { RefCell::new(Counted(1)) };
    }

    let crew = Arc::new(Crew::new());
    let threads = Log::default();
    for round in 1..=50 {
        let mut world = world(&crew);
        let log = threads.clone();
        spawn(&mut world, "one", move || {
            assert_eq!(PLAIN.replace(8), 7);
            LAZY.with_borrow_mut(|list| {
                assert_eq!(*list, [1]);
                list.push(2);
            });
            WITH_DROP.with_borrow_mut(|counted| {
                assert_eq!(counted.0, 1);
                counted.0 = 2;
            });
            assert_eq!(thread::current().name(), Some("one"));
            log.note(format!("{:?}", thread::current().id()));
        });
        run_to_the_end(&mut world);
        assert!(all_finished(&world));
        assert_eq!(DROPPED.load(Ordering::SeqCst), 2 * round);
    }
    let mut threads = threads.noted();
    assert_eq!(threads.len(), 50);
    threads.dedup();
    assert_eq!(threads.len(), 1, "one thread has done all of it");
}

#[test]
fn a_thread_local_is_dropped_before_the_thread_counts_as_ended() {
    struct Last(Log);

    impl Drop for Last {
        fn drop(&mut self) {
            self.0.note("dropped");
        }
    }

    thread_local! {
        static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
    }

    let crew = Arc::new(Crew::new());
    for _ in 0..3 {
        let log = Log::default();
        let mut world = world(&crew);
        let (inner, other) = (log.clone(), log.clone());
        spawn(&mut world, "first", move || {
            LAST.set(Some(Last(inner.clone())));
            inner.note("first");
        });
        spawn(&mut world, "second", move || other.note("second"));
        run_to_the_end(&mut world);
        assert_eq!(log.noted(), ["first", "dropped", "second"]);
    }
}

#[test]
fn a_thread_that_does_not_come_back_is_replaced() {
    let crew = Arc::new(Crew::new());
    for round in 0..20 {
        let mut world = world(&crew);
        let stuck = Arc::new((Mutex::new(false), Condvar::new()));
        let waits = stuck.clone();
        let waiter = spawn(&mut world, "waits", move || {
            let (lock, condition) = &*waits;
            let mut woken = lock.lock().unwrap();
            while !*woken {
                woken = condition.wait(woken).unwrap();
            }
        });
        if round % 2 == 0 {
            spawn(&mut world, "wakes", move || {
                *stuck.0.lock().unwrap() = true;
                stuck.1.notify_all();
            });
        }
        run_to_the_end(&mut world);
        assert_eq!(common::is_finished(&world, waiter), round % 2 == 0);
    }
}

#[test]
fn a_panic_ends_the_job_only() {
    let crew = Arc::new(Crew::new());
    let done = Arc::new(AtomicUsize::new(0));
    for round in 0..10 {
        let mut world = world(&crew);
        let done = done.clone();
        spawn(&mut world, "panics", move || {
            // Without a message: a hook that prints would read debug info.
            if round % 2 == 0 {
                std::panic::resume_unwind(Box::new(round));
            }
            done.fetch_add(1, Ordering::SeqCst);
        });
        run_to_the_end(&mut world);
        assert!(all_finished(&world));
    }
    assert_eq!(done.load(Ordering::SeqCst), 5);
}
