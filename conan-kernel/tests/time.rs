//! Virtual time as std shows it.

mod common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use common::{Log, all_finished, is_finished, run_to_the_end, spawn, world};
use conan_kernel::{Stopped, World};

const SECOND: u64 = 1_000_000_000;
const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn the_system_clock_moves_with_the_monotonic_one() {
    let mut world = world();
    let seen = Arc::new(Mutex::new(None));
    let out = seen.clone();
    let before = SystemTime::now();
    spawn(&mut world, "reader", move || {
        let (instant, system) = (Instant::now(), SystemTime::now());
        thread::sleep(HOUR);
        let passed = (instant.elapsed(), system.elapsed().unwrap());
        *out.lock().unwrap() = Some((system, passed));
    });
    run_to_the_end(&mut world);
    let (system, passed) = seen.lock().unwrap().expect("the reader came to its end");
    // One reading each, apart from the hour.
    let reading = Duration::from_nanos(2);
    assert_eq!(passed, (HOUR + reading, HOUR + reading));
    // Earlier worlds may have left the clock ahead of the real one.
    let early = before.duration_since(system).unwrap_or_default();
    assert!(early < Duration::from_secs(1), "{early:?} before it began");
    assert_eq!(world.inexact(), []);
}

#[test]
fn sleepers_wake_in_the_order_of_their_deadlines() {
    let mut world = world();
    let log = Log::default();
    for seconds in [5, 1, 4, 2, 3] {
        let log = log.clone();
        spawn(&mut world, "sleeper", move || {
            let begun = Instant::now();
            thread::sleep(Duration::from_secs(seconds));
            log.note(format!("{seconds} after {}", begun.elapsed().as_secs()));
        });
    }
    run_to_the_end(&mut world);
    let expected = [
        "1 after 1",
        "2 after 2",
        "3 after 3",
        "4 after 4",
        "5 after 5",
    ];
    assert_eq!(log.noted(), expected);
}

#[test]
fn waits_with_the_same_deadline_end_in_the_order_in_which_they_began() {
    let mut world = world();
    let log = Log::default();
    let never = Arc::new((Mutex::new(()), Condvar::new()));
    let point = Arc::new(Mutex::new(None));
    let out = point.clone();
    spawn(&mut world, "clock", move || {
        *out.lock().unwrap() = Some(Instant::now() + Duration::from_secs(10));
    });
    world.run(u64::MAX);
    let point = point.lock().unwrap().expect("the clock was read");
    for name in ["waits 1", "parks 2", "sleeps 3", "parks 4", "waits 5"] {
        let (out, never) = (log.clone(), never.clone());
        spawn(&mut world, name, move || {
            // However late it begins, this is until the same point in time. To
            // wait and to park read the clock once more, to sleep does not.
            let left = point - Instant::now();
            if name.starts_with("waits") {
                let guard = never.0.lock().unwrap();
                drop(never.1.wait_timeout(guard, left).unwrap());
            } else if name.starts_with("parks") {
                thread::park_timeout(left);
            } else {
                thread::sleep(left + Duration::from_nanos(1));
            }
            out.note(name);
        });
    }
    world.run(u64::MAX);
    let deadline = world.next_deadline().expect("they wait");
    world.advance_to(deadline);
    let mut fired = 0;
    while world.fire_one() {
        fired += 1;
        world.run(u64::MAX);
    }
    assert_eq!(fired, 5, "they all had the same deadline");
    let expected = ["waits 1", "parks 2", "sleeps 3", "parks 4", "waits 5"];
    assert_eq!(log.noted(), expected);
}

#[test]
fn a_park_ends_by_unpark_or_by_its_time_whichever_is_first() {
    let mut world = world();
    let log = Log::default();
    let out = log.clone();
    spawn(&mut world, "parked", move || {
        let begun = Instant::now();
        let me = thread::current();
        thread::spawn(move || {
            thread::sleep(Duration::from_secs(3));
            me.unpark();
        });
        thread::park_timeout(Duration::from_secs(2));
        out.note(format!("by time after {}", begun.elapsed().as_secs()));
        thread::park_timeout(Duration::from_secs(10));
        out.note(format!("by unpark after {}", begun.elapsed().as_secs()));
        thread::current().unpark();
        thread::park_timeout(Duration::from_secs(10));
        out.note(format!("at once after {}", begun.elapsed().as_secs()));
    });
    run_to_the_end(&mut world);
    assert_eq!(
        log.noted(),
        ["by time after 2", "by unpark after 3", "at once after 3"]
    );
}

#[test]
fn a_wait_for_a_condition_goes_on_after_a_wake_in_vain() {
    let mut world = world();
    let log = Log::default();
    let monitor = Arc::new((Mutex::new(0), Condvar::new()));
    let (waiting, out) = (monitor.clone(), log.clone());
    spawn(&mut world, "waiter", move || {
        let begun = Instant::now();
        for limit in [2, 60] {
            let count = waiting.0.lock().unwrap();
            let limit = Duration::from_secs(limit);
            let waited = waiting
                .1
                .wait_timeout_while(count, limit, |count| *count < 3);
            let (count, outcome) = waited.unwrap();
            let seconds = begun.elapsed().as_secs();
            out.note(format!("{} {} at {seconds}", *count, outcome.timed_out()));
        }
    });
    spawn(&mut world, "counter", move || {
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(1500));
            *monitor.0.lock().unwrap() += 1;
            monitor.1.notify_all();
        }
    });
    run_to_the_end(&mut world);
    assert_eq!(log.noted(), ["1 true at 2", "3 false at 4"]);
}

#[test]
fn an_hour_in_recv_timeout_is_an_hour_to_the_nanosecond() {
    let mut world = world();
    let (sender, receiver) = mpsc::channel::<&str>();
    let log = Log::default();
    let out = log.clone();
    spawn(&mut world, "receiver", move || {
        let begun = Instant::now();
        let first = receiver.recv_timeout(HOUR);
        out.note(format!("{first:?} {:?}", begun.elapsed()));
        let second = receiver.recv_timeout(HOUR);
        out.note(format!("{second:?} {:?}", begun.elapsed()));
    });
    spawn(&mut world, "sender", move || {
        thread::sleep(HOUR + HOUR / 2);
        sender.send("late").unwrap();
    });
    run_to_the_end(&mut world);
    let noted = log.noted();
    // Beyond the hour there is only what reading the clock costs.
    assert!(
        noted[0].starts_with("Err(Timeout) 3600.00000000"),
        "{noted:?}"
    );
    assert!(
        noted[1].starts_with("Ok(\"late\") 5400.00000000"),
        "{noted:?}"
    );
    assert_eq!(world.inexact(), []);
}

#[test]
fn the_same_run_takes_the_same_time_to_the_nanosecond() {
    let run = || {
        let mut world = world();
        let begun = world.now();
        let (sender, receiver) = mpsc::sync_channel::<u64>(1);
        spawn(&mut world, "receiver", move || {
            while receiver.recv_timeout(Duration::from_millis(70)).is_ok() {
                thread::sleep(Duration::from_millis(15));
            }
        });
        spawn(&mut world, "sender", move || {
            for n in 0..20 {
                thread::sleep(Duration::from_millis(5 * n % 60));
                let _ = sender.send(n);
            }
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(100) {}
        });
        run_to_the_end(&mut world);
        world.now() - begun
    };
    let first = run();
    for _ in 0..10 {
        assert_eq!(run(), first);
    }
}

#[test]
fn two_readings_of_one_thread_always_differ() {
    let mut world = world();
    spawn(&mut world, "reader", || {
        let mut last = Instant::now();
        for _ in 0..5000 {
            let now = Instant::now();
            assert!(now > last);
            last = now;
        }
    });
    run_to_the_end(&mut world);
    assert!(all_finished(&world));
}

#[test]
fn a_loop_on_the_clock_ends_soon_after_its_time() {
    for length in [1_000, SECOND / 1000, SECOND, 3600 * SECOND] {
        let mut world = world();
        let length = Duration::from_nanos(length);
        let passed = Arc::new(Mutex::new(Duration::ZERO));
        let out = passed.clone();
        spawn(&mut world, "clock", move || {
            let begun = Instant::now();
            while begun.elapsed() < length {}
            *out.lock().unwrap() = begun.elapsed();
        });
        run_to_the_end(&mut world);
        let passed = *passed.lock().unwrap();
        assert!(passed >= length, "{passed:?} instead of {length:?}");
        assert!(
            passed < length * 3 / 2 + Duration::from_micros(5),
            "{passed:?} instead of {length:?}"
        );
        assert_eq!(world.inexact(), []);
    }
}

#[test]
fn a_loop_on_the_clock_does_not_pass_over_the_time_outs_of_others() {
    let mut world = world();
    let log = Log::default();
    for milliseconds in [700, 300, 100] {
        let log = log.clone();
        spawn(&mut world, "sleeper", move || {
            let begun = Instant::now();
            thread::sleep(Duration::from_millis(milliseconds));
            let passed = begun.elapsed();
            let late = passed.saturating_sub(Duration::from_millis(milliseconds));
            assert!(late < Duration::from_micros(10), "late by {late:?}");
            log.note(format!("{milliseconds}"));
        });
    }
    let out = log.clone();
    spawn(&mut world, "clock", move || {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(500) {}
        out.note("clock");
    });
    run_to_the_end(&mut world);
    assert_eq!(log.noted(), ["100", "300", "clock", "700"]);
    assert!(all_finished(&world));
}

#[test]
fn threads_that_yield_let_the_timers_of_others_come_due() {
    let mut world = world();
    let done = Arc::new(AtomicBool::new(false));
    for _ in 0..3 {
        let done = done.clone();
        spawn(&mut world, "yields", move || {
            while !done.load(Ordering::SeqCst) {
                thread::yield_now();
            }
        });
    }
    let passed = Arc::new(AtomicU64::new(0));
    let out = passed.clone();
    spawn(&mut world, "sleeper", move || {
        let begun = Instant::now();
        thread::sleep(Duration::from_secs(30));
        out.store(begun.elapsed().as_nanos() as u64, Ordering::SeqCst);
        done.store(true, Ordering::SeqCst);
    });
    // Time is never moved by the owner here.
    assert_eq!(world.run(u64::MAX), Stopped::Quiescent);
    assert!(all_finished(&world));
    let passed = passed.load(Ordering::SeqCst);
    assert!(
        (30 * SECOND..30 * SECOND + 1000).contains(&passed),
        "{passed}"
    );
    assert_eq!(world.inexact(), []);
}

#[test]
fn a_run_does_not_move_time_for_sleepers_only() {
    let mut world = world();
    let sleeper = spawn(&mut world, "sleeper", || {
        thread::sleep(Duration::from_secs(1));
    });
    let begun = world.now();
    assert_eq!(world.run(u64::MAX), Stopped::Quiescent);
    assert_eq!(world.now(), begun);
    assert_eq!(world.next_deadline(), Some(begun + SECOND));
    world.advance_to(begun + SECOND - 1);
    assert!(!world.fire_one(), "it is not due yet");
    world.advance_to(begun + SECOND);
    assert!(world.fire_one());
    assert!(!world.fire_one(), "there was only one");
    world.run(u64::MAX);
    assert!(is_finished(&world, sleeper));
}

#[test]
fn time_does_not_creep_beyond_the_horizon() {
    let mut world = world();
    let stop = Arc::new(AtomicBool::new(false));
    let seen = stop.clone();
    spawn(&mut world, "yields", move || {
        while !seen.load(Ordering::SeqCst) {
            thread::yield_now();
        }
    });
    let sleeper = spawn(&mut world, "sleeper", || {
        thread::sleep(Duration::from_secs(10));
    });
    let begun = world.now();
    for horizon in [0, 1, SECOND, SECOND, 9 * SECOND] {
        assert_eq!(world.run(begun + horizon), Stopped::Yielding);
        assert_eq!(world.now(), begun + horizon);
        assert!(!is_finished(&world, sleeper));
    }
    assert_eq!(world.run(begun + 11 * SECOND), Stopped::Yielding);
    assert_eq!(world.now(), begun + 11 * SECOND);
    assert!(
        is_finished(&world, sleeper),
        "its time came before the horizon"
    );
    stop.store(true, Ordering::SeqCst);
    assert_eq!(world.run(begun + 11 * SECOND), Stopped::Quiescent);
    assert!(all_finished(&world));
}

/// Hand a ball to and fro for as long as that holds.
fn play(world: &mut World, goes_on: impl Fn() -> bool + Send + 'static) {
    let (to, from_one) = mpsc::channel();
    let (to_one, from) = mpsc::channel();
    spawn(world, "one", move || {
        while goes_on() {
            to.send(()).expect("the other one plays");
            from.recv().expect("it comes back");
        }
    });
    spawn(world, "other", move || {
        while let Ok(ball) = from_one.recv() {
            to_one.send(ball).expect("the one waits for it");
        }
    });
}

#[test]
fn threads_that_are_always_busy_do_not_keep_time_from_a_sleeper() {
    let mut world = world();
    let stop = Arc::new(AtomicBool::new(false));
    let seen = stop.clone();
    play(&mut world, move || !seen.load(Ordering::SeqCst));
    spawn(&mut world, "sleeper", move || {
        thread::sleep(Duration::from_secs(10));
        stop.store(true, Ordering::SeqCst);
    });
    let begun = world.now();
    for horizon in [0, 1, SECOND, SECOND, 9 * SECOND] {
        assert_eq!(world.run(begun + horizon), Stopped::Yielding);
        assert_eq!(world.now(), begun + horizon);
    }
    assert_eq!(world.run(begun + 11 * SECOND), Stopped::Quiescent);
    let passed = world.now() - begun;
    assert!((10 * SECOND..10 * SECOND + SECOND / 10).contains(&passed));
    assert!(all_finished(&world));
}

#[test]
fn threads_that_are_busy_as_long_as_the_clock_says_come_to_an_end() {
    let mut world = world();
    let begun = world.now();
    let end = OnceLock::new();
    play(&mut world, move || {
        let now = Instant::now();
        now < *end.get_or_init(|| now + Duration::from_secs(5))
    });
    assert_eq!(world.run(begun + 60 * SECOND), Stopped::Quiescent);
    assert!((5 * SECOND..7 * SECOND).contains(&(world.now() - begun)));
}

#[test]
fn little_work_takes_no_time() {
    let mut world = world();
    let begun = world.now();
    let left = AtomicU32::new(1000);
    play(&mut world, move || left.fetch_sub(1, Ordering::SeqCst) > 0);
    assert_eq!(world.run(u64::MAX), Stopped::Quiescent);
    assert_eq!(world.now(), begun);
}

#[test]
fn a_loop_on_the_clock_stands_still_at_the_horizon_and_goes_on_after_it() {
    let mut world = world();
    spawn(&mut world, "clock", || {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {}
    });
    let begun = world.now();
    for second in 1..10 {
        assert_eq!(world.run(begun + second * SECOND), Stopped::Yielding);
        let over = world.now() - begun - second * SECOND;
        assert!(over < 2000, "{over} ns beyond the horizon");
    }
    assert_eq!(world.run(begun + 20 * SECOND), Stopped::Quiescent);
    assert!(all_finished(&world));
}

#[test]
fn time_outs_that_are_over_when_they_begin_end_at_once() {
    let mut world = world();
    let log = Log::default();
    let out = log.clone();
    spawn(&mut world, "waiter", move || {
        let (_sender, receiver) = mpsc::channel::<()>();
        let begun = Instant::now();
        out.note(format!("{:?}", receiver.recv_timeout(Duration::ZERO)));
        thread::sleep(Duration::ZERO);
        thread::park_timeout(Duration::ZERO);
        assert!(begun.elapsed() < Duration::from_micros(1));
    });
    run_to_the_end(&mut world);
    assert_eq!(log.noted(), ["Err(Timeout)"]);
    assert!(all_finished(&world));
}

#[test]
fn a_later_world_never_sees_an_earlier_time() {
    let last = Arc::new(Mutex::new(None));
    for _ in 0..20 {
        let mut world = world();
        let last = last.clone();
        spawn(&mut world, "reader", move || {
            let mut last = last.lock().unwrap();
            let now = (Instant::now(), SystemTime::now());
            assert!(last.is_none_or(|(instant, system)| instant < now.0 && system < now.1));
            *last = Some(now);
            drop(last);
            thread::sleep(Duration::from_millis(10));
        });
        run_to_the_end(&mut world);
        assert!(all_finished(&world));
    }
    assert!(last.lock().is_ok(), "a reader saw an earlier time");
}

#[test]
fn the_readings_of_two_threads_differ() {
    let mut world = world();
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    for _ in 0..2 {
        let seen = seen.clone();
        spawn(&mut world, "reader", move || {
            let readings: Vec<_> = (0..3000).map(|_| Instant::now()).collect();
            let mut seen = seen.lock().unwrap();
            assert!(readings.into_iter().all(|reading| seen.insert(reading)));
        });
    }
    run_to_the_end(&mut world);
    assert_eq!(seen.lock().expect("no reading was seen twice").len(), 6000);
}

#[test]
fn sleeps_of_centuries_never_end_and_break_nothing() {
    let mut world = world();
    let log = Log::default();
    let out = log.clone();
    spawn(&mut world, "for ever", || thread::sleep(Duration::MAX));
    spawn(&mut world, "far away", || {
        let (_sender, receiver) = mpsc::channel::<()>();
        let _ = receiver.recv_timeout(Duration::from_secs(1 << 60));
    });
    spawn(&mut world, "soon", move || {
        thread::sleep(Duration::from_secs(1));
        out.note(format!("{}", Instant::now().elapsed().as_nanos()));
    });
    run_to_the_end(&mut world);
    assert_eq!(log.noted(), ["1"]);
}

#[test]
fn a_thread_that_yields_is_not_starved_by_two_that_talk() {
    const MANY: u64 = 100_000;
    let mut world = world();
    let stop = Arc::new(AtomicBool::new(false));
    let rounds = Arc::new(AtomicU64::new(0));
    let (ping, pings) = mpsc::sync_channel(0);
    let (pong, pongs) = mpsc::sync_channel(0);
    let (seen, count) = (stop.clone(), rounds.clone());
    spawn(&mut world, "yields", move || {
        for _ in 0..10 {
            thread::yield_now();
        }
        stop.store(true, Ordering::SeqCst);
    });
    spawn(&mut world, "pings", move || {
        while !seen.load(Ordering::SeqCst) && count.fetch_add(1, Ordering::SeqCst) < MANY {
            ping.send(()).unwrap();
            pongs.recv().unwrap();
        }
    });
    spawn(&mut world, "pongs", move || {
        for () in pings {
            pong.send(()).unwrap();
        }
    });
    run_to_the_end(&mut world);
    assert!(all_finished(&world));
    assert!(rounds.load(Ordering::SeqCst) < MANY, "it never ran");
}

mod of_libc {
    use std::ffi::{c_int, c_uint, c_void};

    unsafe extern "C" {
        pub(super) fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int;
        pub(super) fn gettimeofday(time: *mut [i64; 2], zone: *mut c_void) -> c_int;
        pub(super) fn time(time: *mut i64) -> i64;
        pub(super) fn sleep(seconds: c_uint) -> c_uint;
        pub(super) fn usleep(microseconds: c_uint) -> c_int;
    }

    /// In whole seconds.
    pub(super) fn read(clock: c_int) -> i64 {
        let mut time = [0; 2];
        // SAFETY: a time is two such numbers.
        let error = unsafe { clock_gettime(clock, &raw mut time) };
        assert_eq!(error, 0);
        time[0]
    }

    pub(super) fn day() -> i64 {
        let mut time = [0; 2];
        // SAFETY: as above, and nobody asks for the zone.
        let error = unsafe { gettimeofday(&raw mut time, std::ptr::null_mut()) };
        assert_eq!(error, 0);
        time[0]
    }
}

#[test]
fn all_clocks_of_libc_move_together() {
    const CLOCKS: [i32; 6] = [0, 1, 4, 5, 6, 7];
    let mut world = world();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let out = seen.clone();
    spawn(&mut world, "reader", move || {
        let read = || {
            // SAFETY: nobody wants it written anywhere.
            let time = unsafe { of_libc::time(std::ptr::null_mut()) };
            let others = [of_libc::day(), time];
            CLOCKS.map(of_libc::read).into_iter().chain(others)
        };
        let before: Vec<_> = read().collect();
        // SAFETY: have lengths alone for arguments.
        unsafe {
            assert_eq!(of_libc::sleep(3600), 0);
            assert_eq!(of_libc::usleep(900_000_000), 0);
        }
        *out.lock().unwrap() = read().zip(before).map(|(now, then)| now - then).collect();
    });
    run_to_the_end(&mut world);
    // A reading more may be that of the next second.
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), CLOCKS.len() + 2);
    assert!(
        seen.iter().all(|passed| (4500..=4501).contains(passed)),
        "{seen:?}"
    );
    assert_eq!(world.inexact(), []);
}
