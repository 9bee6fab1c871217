//! Threads that leave the engine's hands: not exact, but never stuck.

mod common;

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::hint;
use std::io::{Read, Write, pipe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{Log, all_finished, run_to_the_end, spawn, world};
use conan_kernel::{Inexact, Reason, ThreadId, World, set_tag};

/// Runs until every thread has ended, however often the world stands still.
/// Only a world that is stuck takes a minute.
#[track_caller]
fn run_until_all_have_ended(world: &mut World) {
    let begun = Instant::now();
    while !all_finished(world) {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "the world is stuck"
        );
        world.run(u64::MAX);
        if let Some(deadline) = world.next_deadline() {
            world.advance_to(deadline);
            world.fire_one();
        }
    }
}

/// That a thread left the engine's hands, once or more often, and no other.
#[track_caller]
fn assert_left(world: &World, thread: ThreadId, running: bool) {
    let inexact = world.inexact();
    assert!(!inexact.is_empty(), "the run was not exact");
    let reason = if running {
        Reason::Running
    } else {
        Reason::Blocked
    };
    let expected = Inexact {
        thread,
        reason,
        tag: 0,
    };
    assert!(
        inexact.iter().all(|inexact| *inexact == expected),
        "{inexact:?}"
    );
}

/// A clock of real time, also for a managed thread: the one without leap seconds.
const REAL: c_int = 11;
/// A clock that goes while the calling thread has a processor.
const OWN: c_int = 3;

fn read(clock: c_int) -> u64 {
    unsafe extern "C" {
        fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int;
    }
    let mut time = [0; 2];
    // SAFETY: a time is two such numbers.
    let error = unsafe { clock_gettime(clock, &raw mut time) };
    assert_eq!(error, 0);
    time[0] as u64 * 1_000_000_000 + time[1] as u64
}

/// Computes for a second by that clock.
fn compute(clock: c_int) {
    let begun = read(clock);
    let mut sum = 0_u64;
    while read(clock) - begun < 1_000_000_000 {
        sum = (0..10_000).fold(sum, |sum, n| hint::black_box(sum.wrapping_add(n)));
    }
}

#[test]
fn a_pipe_that_another_managed_thread_writes_to_can_be_read() {
    let mut world = world();
    let log = Log::default();
    let (mut reader, mut writer) = pipe().unwrap();
    let out = log.clone();
    let blocked = spawn(&mut world, "reader", move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        out.note(text);
    });
    spawn(&mut world, "writer", move || {
        writer.write_all(b"from a friend").unwrap();
    });
    run_until_all_have_ended(&mut world);
    assert_eq!(log.noted(), ["from a friend"]);
    assert_left(&world, blocked, false);
}

#[test]
fn a_pipe_that_is_written_to_after_an_hour_of_virtual_time_can_be_read() {
    let mut world = world();
    let log = Log::default();
    let (mut reader, mut writer) = pipe().unwrap();
    let out = log.clone();
    let blocked = spawn(&mut world, "reader", move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        out.note(text);
    });
    spawn(&mut world, "writer", move || {
        thread::sleep(Duration::from_secs(3600));
        writer.write_all(b"late").unwrap();
    });
    run_until_all_have_ended(&mut world);
    assert_eq!(log.noted(), ["late"]);
    assert_left(&world, blocked, false);
}

#[test]
fn a_pipe_that_an_outside_thread_writes_to_can_be_read() {
    let mut world = world();
    let log = Log::default();
    let (mut reader, mut writer) = pipe().unwrap();
    let out = log.clone();
    let blocked = spawn(&mut world, "reader", move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        out.note(text);
    });
    let out = log.clone();
    spawn(&mut world, "other", move || out.note("the others go on"));
    let outside = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        writer.write_all(b"from outside").unwrap();
    });
    run_until_all_have_ended(&mut world);
    outside.join().unwrap();
    assert_eq!(log.noted(), ["the others go on", "from outside"]);
    assert_left(&world, blocked, false);
}

/// A lock of libc's own.
struct CMutex(UnsafeCell<[u64; 16]>);

// SAFETY: libc's functions may be called by any thread.
unsafe impl Sync for CMutex {}
// SAFETY: it does not belong to the thread that made it.
unsafe impl Send for CMutex {}

unsafe extern "C" {
    fn pthread_mutex_lock(mutex: *mut [u64; 16]) -> c_int;
    fn pthread_mutex_unlock(mutex: *mut [u64; 16]) -> c_int;
}

impl CMutex {
    fn new() -> Arc<Self> {
        // All zero is libc's static initializer, in less than this room.
        Arc::new(Self(UnsafeCell::new([0; 16])))
    }

    fn with(&self, critical: impl FnOnce()) {
        // SAFETY: it was initialized and does not move.
        assert_eq!(unsafe { pthread_mutex_lock(self.0.get()) }, 0);
        critical();
        // SAFETY: the calling thread holds it.
        assert_eq!(unsafe { pthread_mutex_unlock(self.0.get()) }, 0);
    }
}

#[test]
fn a_lock_of_libc_that_a_yielding_thread_holds_can_be_waited_for() {
    let mut world = world();
    let log = Log::default();
    let lock = CMutex::new();
    let (held, out) = (lock.clone(), log.clone());
    spawn(&mut world, "holder", move || {
        held.with(|| {
            thread::yield_now();
            out.note("holder");
        });
    });
    let out = log.clone();
    let blocked = spawn(&mut world, "waiter", move || {
        lock.with(|| out.note("waiter"));
    });
    run_until_all_have_ended(&mut world);
    assert_eq!(log.noted(), ["holder", "waiter"]);
    assert_left(&world, blocked, false);
}

#[test]
fn a_lock_of_libc_that_a_sleeping_thread_holds_can_be_waited_for() {
    let mut world = world();
    let log = Log::default();
    let lock = CMutex::new();
    let (held, out) = (lock.clone(), log.clone());
    spawn(&mut world, "holder", move || {
        held.with(|| {
            thread::sleep(Duration::from_secs(60));
            out.note("holder");
        });
    });
    let out = log.clone();
    let blocked = spawn(&mut world, "waiter", move || {
        lock.with(|| out.note("waiter"));
    });
    run_until_all_have_ended(&mut world);
    assert_eq!(log.noted(), ["holder", "waiter"]);
    assert_left(&world, blocked, false);
}

#[test]
fn a_thread_that_spins_on_an_atomic_lets_the_one_run_that_sets_it() {
    let mut world = world();
    let flag = Arc::new(AtomicBool::new(false));
    let seen = flag.clone();
    let spinner = spawn(&mut world, "spins", move || {
        while !seen.load(Ordering::SeqCst) {
            hint::spin_loop();
        }
    });
    spawn(&mut world, "sets", move || {
        flag.store(true, Ordering::SeqCst);
    });
    run_until_all_have_ended(&mut world);
    assert_left(&world, spinner, true);
}

#[test]
fn threads_that_spin_for_each_other_come_to_an_end() {
    let mut world = world();
    let turn = Arc::new(AtomicU64::new(0));
    for member in 0..3 {
        let turn = turn.clone();
        spawn(&mut world, "spins", move || {
            for round in 0..3 {
                while turn.load(Ordering::SeqCst) != 3 * round + 2 - member {
                    hint::spin_loop();
                }
                turn.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    run_until_all_have_ended(&mut world);
    assert_eq!(turn.load(Ordering::SeqCst), 9);
    assert!(
        world
            .inexact()
            .iter()
            .all(|inexact| inexact.reason == Reason::Running)
    );
}

#[test]
fn a_thread_that_computes_for_long_is_left_alone_while_others_wait_for_it() {
    let mut world = world();
    let log = Log::default();
    let (sender, receiver) = mpsc::channel();
    let busy = spawn(&mut world, "computes", move || {
        compute(OWN);
        sender.send("computed").unwrap();
    });
    let out = log.clone();
    spawn(&mut world, "waits", move || {
        out.note("waits");
        out.note(receiver.recv().unwrap());
    });
    run_until_all_have_ended(&mut world);
    assert_eq!(log.noted(), ["waits", "computed"]);
    assert_left(&world, busy, true);
}

#[test]
fn a_thread_that_computes_for_a_second_while_nobody_is_ready_is_exact() {
    let mut world = world();
    let log = Log::default();
    let (sender, receiver) = mpsc::channel();
    let out = log.clone();
    spawn(&mut world, "waits", move || {
        out.note(receiver.recv().unwrap());
    });
    spawn(&mut world, "computes", move || {
        compute(REAL);
        sender.send("computed").unwrap();
    });
    world.run(u64::MAX);
    assert!(all_finished(&world));
    assert_eq!(log.noted(), ["computed"]);
    assert_eq!(world.inexact(), []);
}

#[test]
fn a_thread_that_polls_a_lock_gets_it_in_the_end() {
    let mut world = world();
    let lock = Arc::new(Mutex::new(0));
    let held = lock.clone();
    spawn(&mut world, "holder", move || {
        let mut held = held.lock().unwrap();
        thread::yield_now();
        *held = 1;
    });
    let seen = Arc::new(AtomicU64::new(0));
    let out = seen.clone();
    let poller = spawn(&mut world, "polls", move || {
        loop {
            if let Ok(value) = lock.try_lock() {
                out.store(*value, Ordering::SeqCst);
                return;
            }
            hint::spin_loop();
        }
    });
    run_until_all_have_ended(&mut world);
    assert_eq!(seen.load(Ordering::SeqCst), 1);
    assert_left(&world, poller, true);
}

#[test]
fn a_thread_that_polls_a_lock_held_in_a_sleep_gets_it_in_the_end() {
    let mut world = world();
    let lock = Arc::new(Mutex::new(0));
    let held = lock.clone();
    spawn(&mut world, "holder", move || {
        let mut held = held.lock().unwrap();
        thread::sleep(Duration::from_secs(1));
        *held = 1;
    });
    let seen = Arc::new(AtomicU64::new(0));
    let out = seen.clone();
    let poller = spawn(&mut world, "polls", move || {
        let value = loop {
            match lock.try_lock() {
                Ok(value) => break value,
                Err(_) => hint::spin_loop(),
            }
        };
        out.store(*value, Ordering::SeqCst);
    });
    run_until_all_have_ended(&mut world);
    assert_eq!(seen.load(Ordering::SeqCst), 1);
    assert_left(&world, poller, true);
}

#[test]
fn what_a_thread_had_said_of_itself_is_in_the_report() {
    let mut world = world();
    let (mut reader, mut writer) = pipe().unwrap();
    let blocked = spawn(&mut world, "reader", move || {
        set_tag(17);
        let mut byte = [0];
        reader.read_exact(&mut byte).unwrap();
        set_tag(18);
    });
    spawn(&mut world, "writer", move || {
        writer.write_all(b"!").unwrap();
    });
    run_until_all_have_ended(&mut world);
    let expected = Inexact {
        thread: blocked,
        reason: Reason::Blocked,
        tag: 17,
    };
    assert_eq!(world.inexact(), [expected]);
}

#[test]
fn a_thread_that_comes_back_is_managed_as_before() {
    let mut world = world();
    let log = Log::default();
    let (mut reader, mut writer) = pipe().unwrap();
    let (sender, receiver) = mpsc::channel();
    let out = log.clone();
    let blocked = spawn(&mut world, "reader", move || {
        let mut byte = [0];
        reader.read_exact(&mut byte).unwrap();
        let begun = Instant::now();
        thread::sleep(Duration::from_secs(3600));
        assert_eq!(begun.elapsed().as_secs(), 3600);
        out.note("slept");
        out.note(receiver.recv().unwrap());
    });
    spawn(&mut world, "writer", move || {
        writer.write_all(b"!").unwrap();
        thread::sleep(Duration::from_secs(7200));
        sender.send("sent").unwrap();
    });
    run_until_all_have_ended(&mut world);
    assert_eq!(log.noted(), ["slept", "sent"]);
    assert_left(&world, blocked, false);
}

#[test]
fn a_world_after_one_that_was_not_exact_is_exact() {
    {
        let mut world = world();
        let (mut reader, writer) = pipe().unwrap();
        let stuck = spawn(&mut world, "stuck", move || {
            let _ = reader.read(&mut [0]);
        });
        world.run(u64::MAX);
        assert!(!all_finished(&world));
        assert_left(&world, stuck, false);
        drop(world);
        // It goes on when nobody manages it any more.
        drop(writer);
    }
    let mut world = world();
    let log = Log::default();
    for name in ["a", "b"] {
        let log = log.clone();
        spawn(&mut world, name, move || {
            for _ in 0..100 {
                thread::sleep(Duration::from_secs(1));
                log.note(name);
            }
        });
    }
    run_until_all_have_ended(&mut world);
    assert_eq!(log.noted(), ["a", "b"].repeat(100));
    assert_eq!(world.inexact(), []);
}

#[test]
fn one_run_waits_for_a_thread_that_is_about_to_come_back() {
    let mut world = world();
    let (mut reader, mut writer) = pipe().unwrap();
    spawn(&mut world, "reader", move || {
        reader.read_exact(&mut [0]).unwrap();
    });
    spawn(&mut world, "writer", move || {
        thread::sleep(Duration::from_secs(3600));
        writer.write_all(b"!").unwrap();
    });
    run_to_the_end(&mut world);
    assert!(all_finished(&world), "{:#?}", world.threads());
}

#[test]
fn one_run_waits_for_a_thread_that_computes_for_a_second() {
    let mut world = world();
    spawn(&mut world, "computes", || compute(REAL));
    spawn(&mut world, "other", || {});
    run_to_the_end(&mut world);
    assert!(all_finished(&world), "{:#?}", world.threads());
}

mod of_libc {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        pub(super) fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int;
        pub(super) fn pthread_mutex_lock(mutex: *mut [u64; 16]) -> c_int;
        pub(super) fn pthread_cond_timedwait(
            condition: *mut c_void,
            mutex: *mut c_void,
            until: *const [i64; 2],
        ) -> c_int;
        pub(super) fn pthread_cond_clockwait(
            condition: *mut c_void,
            mutex: *mut c_void,
            clock: c_int,
            until: *const [i64; 2],
        ) -> c_int;
        pub(super) fn pthread_mutex_timedlock(mutex: *mut c_void, until: *const [i64; 2]) -> c_int;
        pub(super) fn sem_timedwait(semaphore: *mut c_void, until: *const [i64; 2]) -> c_int;
    }
}

/// The system waits by its own clocks, which know nothing of the day that has
/// passed here: by them, these would be over tomorrow.
#[test]
fn what_libc_waits_for_is_as_far_away_in_real_time() {
    const TIMED_OUT: c_int = 110;
    let mut world = world();
    let waits = spawn(&mut world, "waits", || {
        thread::sleep(Duration::from_secs(24 * 3600));
        let soon = |clock| {
            let mut time = [0; 2];
            // SAFETY: a time is two such numbers.
            unsafe { of_libc::clock_gettime(clock, &raw mut time) };
            let [seconds, nanoseconds] = time;
            let ns = nanoseconds + 30_000_000;
            [seconds + ns / 1_000_000_000, ns % 1_000_000_000]
        };
        // More room than any of them takes; zeros are how they begin.
        let (mut condition, mut mutex, mut semaphore) = ([0_u64; 16], [0_u64; 16], [0_u64; 16]);
        let [condition, mutex, semaphore] = [&mut condition, &mut mutex, &mut semaphore]
            .map(|room| room.as_mut_ptr().cast::<c_void>());
        let (system, monotonic) = (0, 1);
        // SAFETY: they are what they are taken for, and there are no others.
        let results = unsafe {
            of_libc::pthread_mutex_lock(mutex.cast());
            [
                of_libc::pthread_cond_timedwait(condition, mutex, &soon(system)),
                of_libc::pthread_cond_clockwait(condition, mutex, monotonic, &soon(monotonic)),
                of_libc::pthread_mutex_timedlock(mutex, &soon(system)),
                of_libc::sem_timedwait(semaphore, &soon(system)),
            ]
        };
        assert_eq!(results, [TIMED_OUT, TIMED_OUT, TIMED_OUT, -1]);
    });
    run_until_all_have_ended(&mut world);
    assert_left(&world, waits, false);
}
