//! `timerfd`s of threads of one world: in virtual time, and exact.

mod common;

use std::ffi::{c_int, c_void};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{all_finished, run_to_the_end, spawn, world};

const HOUR: Duration = Duration::from_secs(3600);
const MONOTONIC: c_int = 1;
const NONBLOCK: c_int = 0o4000;
const ABSOLUTE: c_int = 1;
const IN: i16 = 1;

unsafe extern "C" {
    fn timerfd_create(clock: c_int, flags: c_int) -> c_int;
    fn timerfd_settime(
        timer: c_int,
        flags: c_int,
        new: *const [u64; 4],
        old: *mut [u64; 4],
    ) -> c_int;
    fn timerfd_gettime(timer: c_int, setting: *mut [u64; 4]) -> c_int;
    fn clock_gettime(clock: c_int, time: *mut [u64; 2]) -> c_int;
    fn poll(polled: *mut c_void, count: u64, timeout: c_int) -> c_int;
    fn epoll_create1(flags: c_int) -> c_int;
    fn epoll_ctl(epoll: c_int, operation: c_int, number: c_int, event: *mut c_void) -> c_int;
    fn epoll_wait(epoll: c_int, events: *mut c_void, count: c_int, timeout: c_int) -> c_int;
    fn close(descriptor: c_int) -> c_int;
}

/// A timer, read as the file that it is.
struct Timer(std::fs::File);

impl Timer {
    fn new(flags: c_int) -> Self {
        // SAFETY: two numbers; the new descriptor is nobody else's.
        Self(unsafe { std::fs::File::from_raw_fd(timerfd_create(MONOTONIC, flags)) })
    }

    /// Sets it, and tells what was left before.
    fn set(&self, flags: c_int, value: Duration, interval: Duration) -> Duration {
        let new = [parts(interval), parts(value)].concat();
        let new: [u64; 4] = new.try_into().unwrap();
        let mut old = [0; 4];
        let number = self.0.as_raw_fd();
        // SAFETY: both settings outlive the call.
        let result = unsafe { timerfd_settime(number, flags, &raw const new, &raw mut old) };
        assert_eq!(result, 0);
        Duration::new(old[2], old[3] as u32)
    }

    fn left(&self) -> Duration {
        let mut setting = [0; 4];
        // SAFETY: there is room for the setting.
        let result = unsafe { timerfd_gettime(self.0.as_raw_fd(), &raw mut setting) };
        assert_eq!(result, 0);
        Duration::new(setting[2], setting[3] as u32)
    }

    fn read(&mut self) -> io::Result<u64> {
        let mut count = [0; 8];
        assert_eq!(self.0.read(&mut count)?, 8);
        Ok(u64::from_ne_bytes(count))
    }

    /// How many are ready after a `poll` of so long, in milliseconds.
    fn poll(&self, limit: c_int) -> c_int {
        let mut polled = [self.0.as_raw_fd(), i32::from(IN)];
        // SAFETY: one entry: a descriptor, and two halves of a word.
        unsafe { poll(polled.as_mut_ptr().cast(), 1, limit) }
    }
}

fn parts(time: Duration) -> [u64; 2] {
    [time.as_secs(), u64::from(time.subsec_nanos())]
}

/// Runs a thread of a world, and those that it starts, to the end. The run has
/// to be exact, and takes no time.
#[track_caller]
fn runs(job: impl FnOnce() + Send + 'static) {
    let begun = Instant::now();
    let mut world = world();
    let done = Arc::new(AtomicBool::new(false));
    let out = Arc::clone(&done);
    spawn(&mut world, "first", move || {
        job();
        out.store(true, Ordering::SeqCst);
    });
    run_to_the_end(&mut world);
    assert!(done.load(Ordering::SeqCst), "{:?}", world.threads());
    assert!(all_finished(&world));
    assert_eq!(world.inexact(), []);
    assert!(begun.elapsed() < HOUR / 2);
}

/// How long something takes, in seconds of virtual time, but for the
/// nanoseconds that it takes to ask for that.
fn seconds(job: impl FnOnce()) -> u64 {
    let begun = Instant::now();
    job();
    (begun.elapsed() + Duration::from_millis(1)).as_secs()
}

#[test]
fn a_timer_is_read_when_its_time_has_come() {
    runs(|| {
        let mut timer = Timer::new(0);
        timer.set(0, HOUR, Duration::ZERO);
        assert_eq!(seconds(|| assert_eq!(timer.read().unwrap(), 1)), 3600);
        assert_eq!(timer.left(), Duration::ZERO);
    });
}

#[test]
fn one_that_repeats_counts_on_while_nobody_reads() {
    runs(|| {
        let mut timer = Timer::new(0);
        timer.set(0, HOUR, HOUR / 4);
        assert_eq!(seconds(|| assert_eq!(timer.read().unwrap(), 1)), 3600);
        assert_eq!(seconds(|| assert_eq!(timer.read().unwrap(), 1)), 900);
        thread::sleep(HOUR);
        let left = timer.left();
        assert!(left + Duration::from_millis(1) > HOUR / 4, "{left:?}");
        assert_eq!(seconds(|| assert_eq!(timer.read().unwrap(), 4)), 0);
        assert_eq!(seconds(|| assert_eq!(timer.read().unwrap(), 1)), 900);
    });
}

#[test]
fn the_earlier_of_timer_and_time_out_ends_a_poll() {
    runs(|| {
        let timer = Timer::new(0);
        timer.set(0, HOUR, Duration::ZERO);
        assert_eq!(seconds(|| assert_eq!(timer.poll(60_000), 0)), 60);
        assert_eq!(seconds(|| assert_eq!(timer.poll(10_000_000), 1)), 3540);
        // Until somebody reads it.
        assert_eq!(seconds(|| assert_eq!(timer.poll(10_000_000), 1)), 0);
        let mut timer = timer;
        assert_eq!(timer.read().unwrap(), 1);
        assert_eq!(seconds(|| assert_eq!(timer.poll(60_000), 0)), 60);
    });
}

#[test]
fn an_epoll_over_a_timer_waits_in_virtual_time() {
    runs(|| {
        let mut timer = Timer::new(NONBLOCK);
        // SAFETY: a number.
        let epoll = unsafe { epoll_create1(0) };
        let mut event = [1_u8, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];
        let number = timer.0.as_raw_fd();
        // SAFETY: an event outlives each of the calls.
        let mut wait = |limit| unsafe { epoll_wait(epoll, event.as_mut_ptr().cast(), 1, limit) };
        let mut watched = [1_u8, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];
        // SAFETY: as above.
        let added = unsafe { epoll_ctl(epoll, 1, number, watched.as_mut_ptr().cast()) };
        assert_eq!(added, 0);
        timer.set(0, HOUR, Duration::ZERO);
        assert_eq!(wait(0), 0);
        let early = timer.read().unwrap_err();
        assert_eq!(early.kind(), ErrorKind::WouldBlock);
        assert_eq!(seconds(|| assert_eq!(wait(-1), 1)), 3600);
        assert_eq!(timer.read().unwrap(), 1);
        // Set anew, by another thread, while this one waits.
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_secs(60));
            let left = timer.set(0, HOUR, Duration::ZERO);
            assert_eq!(left, Duration::ZERO);
            timer
        });
        assert_eq!(seconds(|| assert_eq!(wait(-1), 1)), 3660);
        drop(other.join().unwrap());
        // SAFETY: a number.
        unsafe { close(epoll) };
    });
}

#[test]
fn a_time_of_the_clock_can_be_set_even_one_that_has_passed() {
    runs(|| {
        let mut timer = Timer::new(0);
        let mut now = [0; 2];
        // SAFETY: there is room for the time.
        unsafe { clock_gettime(MONOTONIC, &raw mut now) };
        let now = Duration::new(now[0], now[1] as u32);
        timer.set(ABSOLUTE, now + HOUR, Duration::ZERO);
        let left = timer.left();
        assert!(left <= HOUR && left + Duration::from_millis(1) > HOUR);
        assert_eq!(seconds(|| assert_eq!(timer.read().unwrap(), 1)), 3600);
        timer.set(ABSOLUTE, now, Duration::ZERO);
        assert_eq!(seconds(|| assert_eq!(timer.read().unwrap(), 1)), 0);
    });
}

#[test]
fn one_that_is_disarmed_or_closed_moves_no_time() {
    let begun = Arc::new(std::sync::Mutex::new(None));
    let out = Arc::clone(&begun);
    let mut world = world();
    let stays = spawn(&mut world, "first", move || {
        let timer = Timer::new(0);
        timer.set(0, HOUR, Duration::ZERO);
        drop(timer);
        let mut timer = Timer::new(0);
        timer.set(0, HOUR, HOUR);
        assert!(timer.set(0, Duration::ZERO, Duration::ZERO) > HOUR / 2);
        *out.lock().unwrap() = Some(());
        let _ = timer.read();
    });
    let before = world.now();
    run_to_the_end(&mut world);
    assert_eq!(*begun.lock().unwrap(), Some(()));
    assert!(!common::is_finished(&world, stays), "nothing is set");
    assert!(world.now() - before < 1_000_000_000);
    assert_eq!(world.inexact(), []);
}
