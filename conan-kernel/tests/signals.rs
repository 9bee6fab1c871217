//! Signals reach the code that runs, with the mask of the thread that runs it.

mod common;

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{process, ptr, thread};

use common::{Log, all_finished, run_to_the_end, spawn, world};
use conan_kernel::{Crew, stay_aboard};

const SIGINT: c_int = 2;
const SIGUSR1: c_int = 10;
const SIGTERM: c_int = 15;
const BLOCK: c_int = 0;
const UNBLOCK: c_int = 1;
const SET_MASK: c_int = 2;

type Mask = [u64; 16];

unsafe extern "C" {
    fn raise(signal: c_int) -> c_int;
    fn kill(process: c_int, signal: c_int) -> c_int;
    fn signal(signal: c_int, handler: usize) -> usize;
    fn pthread_self() -> usize;
    fn pthread_kill(thread: usize, signal: c_int) -> c_int;
    fn pthread_sigmask(how: c_int, new: *const Mask, old: *mut Mask) -> c_int;
    fn sigpending(mask: *mut Mask) -> c_int;
    fn sigwait(mask: *const Mask, signal: *mut c_int) -> c_int;
}

/// Handlers are of the whole process: one test at a time.
static HANDLERS: Mutex<()> = Mutex::new(());

/// How often the handler was called.
static CALLS: AtomicU32 = AtomicU32::new(0);

/// A bit for the number in its world of each thread that it was called on.
static CALLED_ON: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: c_int) {
    CALLS.fetch_add(1, Ordering::Relaxed);
    let number = conan_kernel::current_number().unwrap_or(63);
    CALLED_ON.fetch_or(1 << number, Ordering::Relaxed);
}

fn calls() -> u32 {
    CALLS.load(Ordering::Relaxed)
}

/// From here on SIGUSR1 is counted.
fn counting() -> MutexGuard<'static, ()> {
    let only = HANDLERS.lock().unwrap_or_else(PoisonError::into_inner);
    CALLS.store(0, Ordering::Relaxed);
    CALLED_ON.store(0, Ordering::Relaxed);
    // SAFETY: the handler only counts.
    unsafe { signal(SIGUSR1, count as *const () as usize) };
    only
}

fn raise_usr1() {
    // SAFETY: numbers only.
    assert_eq!(unsafe { raise(SIGUSR1) }, 0);
}

fn only(signal: c_int) -> Mask {
    let mut mask = [0; 16];
    mask[0] = 1 << (signal - 1);
    mask
}

/// Changes what the calling thread blocks.
fn change(how: c_int, mask: &Mask) {
    // SAFETY: the mask is one.
    assert_eq!(unsafe { pthread_sigmask(how, mask, ptr::null_mut()) }, 0);
}

/// What the calling thread blocks, of the signals that have names here.
fn blocked() -> u64 {
    let mut mask = [0; 16];
    // SAFETY: there is room for the mask.
    unsafe { pthread_sigmask(SET_MASK, ptr::null(), &raw mut mask) };
    mask[0] & (only(SIGINT)[0] | only(SIGUSR1)[0] | only(SIGTERM)[0])
}

fn is_pending(signal: c_int) -> bool {
    let mut mask = [0; 16];
    // SAFETY: there is room for the mask.
    unsafe { sigpending(&raw mut mask) };
    mask[0] & only(signal)[0] != 0
}

fn own_handle() -> usize {
    // SAFETY: has no arguments.
    unsafe { pthread_self() }
}

#[test]
fn a_thread_that_raises_a_signal_has_handled_it_when_the_call_returns() {
    let _only = counting();
    let mut world = world();
    let log = Log::default();
    let out = log.clone();
    spawn(&mut world, "first", thread::yield_now);
    spawn(&mut world, "second", move || {
        raise_usr1();
        out.note(calls().to_string());
        thread::sleep(Duration::from_secs(1));
        raise_usr1();
        out.note(calls().to_string());
    });
    run_to_the_end(&mut world);
    assert_eq!(log.noted(), ["1", "2"]);
    assert_eq!(CALLED_ON.load(Ordering::Relaxed), 1 << 1);
    assert_eq!(world.inexact(), []);
}

#[test]
fn a_thread_of_the_component_handles_what_it_raises() {
    let _only = counting();
    let mut world = world();
    spawn(&mut world, "creator", || {
        thread::spawn(raise_usr1).join().expect("it does not panic");
    });
    run_to_the_end(&mut world);
    assert_eq!(calls(), 1);
    assert_eq!(CALLED_ON.load(Ordering::Relaxed), 1 << 1);
}

#[test]
fn a_signal_to_the_own_process_is_handled_by_a_thread_of_the_world() {
    let _only = counting();
    let mut world = world();
    let log = Log::default();
    let out = log.clone();
    spawn(&mut world, "sender", move || {
        // SAFETY: numbers only.
        unsafe { kill(process::id() as c_int, SIGUSR1) };
        out.note(calls().to_string());
    });
    run_to_the_end(&mut world);
    assert_eq!(log.noted(), ["1"]);
    assert_eq!(world.inexact(), []);
}

#[test]
fn a_signal_to_a_blocked_thread_interrupts_its_sleep_at_once() {
    let _only = counting();
    let mut world = world();
    let log = Log::default();
    let handle = Arc::new(AtomicUsize::new(0));
    let (out, own) = (log.clone(), handle.clone());
    spawn(&mut world, "sleeps", move || {
        own.store(own_handle(), Ordering::Relaxed);
        let begun = Instant::now();
        // std goes on with the rest of the time after the handler's call.
        thread::sleep(Duration::from_secs(5));
        out.note(format!("slept for {} s", begun.elapsed().as_secs()));
    });
    let out = log.clone();
    spawn(&mut world, "sends", move || {
        thread::sleep(Duration::from_secs(1));
        // SAFETY: the thread has not ended.
        let sent = unsafe { pthread_kill(handle.load(Ordering::Relaxed), SIGUSR1) };
        thread::yield_now();
        out.note(format!("sent {sent}, {} call", calls()));
    });
    run_to_the_end(&mut world);
    assert_eq!(log.noted(), ["sent 0, 1 call", "slept for 5 s"]);
    assert_eq!(CALLED_ON.load(Ordering::Relaxed), 1 << 0);
    assert_eq!(world.inexact(), []);
}

#[test]
fn a_thread_that_waits_for_a_lock_handles_a_signal_and_waits_on() {
    let _only = counting();
    let mut world = world();
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let handle = Arc::new(AtomicUsize::new(0));
    let (waiting, own) = (gate.clone(), handle.clone());
    spawn(&mut world, "waits", move || {
        own.store(own_handle(), Ordering::Relaxed);
        let open = waiting.0.lock().unwrap();
        let opened = waiting.1.wait_while(open, |open| !*open);
        assert_eq!(calls(), 1);
        drop(opened);
    });
    spawn(&mut world, "sends", move || {
        // SAFETY: the thread has not ended.
        unsafe { pthread_kill(handle.load(Ordering::Relaxed), SIGUSR1) };
        thread::yield_now();
        *gate.0.lock().unwrap() = true;
        gate.1.notify_one();
    });
    run_to_the_end(&mut world);
    assert!(all_finished(&world));
    assert_eq!(CALLED_ON.load(Ordering::Relaxed), 1 << 0);
}

#[test]
fn a_mask_is_that_of_one_thread_and_holds_after_others_have_run() {
    let _only = counting();
    let mut world = world();
    let log = Log::default();
    let out = log.clone();
    spawn(&mut world, "blocks", move || {
        change(BLOCK, &only(SIGUSR1));
        // The other one has the turn meanwhile, and does not block it.
        thread::sleep(Duration::from_secs(2));
        let before = calls();
        raise_usr1();
        out.note(format!(
            "blocked: {} more, pending: {}",
            calls() - before,
            is_pending(SIGUSR1)
        ));
        thread::sleep(Duration::from_secs(2));
        change(UNBLOCK, &only(SIGUSR1));
        out.note(format!(
            "unblocked: {} more, pending: {}",
            calls() - before,
            is_pending(SIGUSR1)
        ));
    });
    let out = log.clone();
    spawn(&mut world, "takes", move || {
        thread::sleep(Duration::from_secs(1));
        raise_usr1();
        out.note(format!("the other one: {}", calls()));
        thread::sleep(Duration::from_secs(2));
        assert_eq!(blocked(), 0);
    });
    run_to_the_end(&mut world);
    assert_eq!(
        log.noted(),
        [
            "the other one: 1",
            "blocked: 0 more, pending: true",
            "unblocked: 1 more, pending: false"
        ]
    );
    assert_eq!(CALLED_ON.load(Ordering::Relaxed), 0b11);
}

#[test]
fn threads_begin_with_the_mask_of_the_thread_that_starts_them() {
    let _only = counting();
    let log = Log::default();
    change(BLOCK, &only(SIGINT));
    {
        let mut world = world();
        let out = log.clone();
        spawn(&mut world, "of the owner", move || {
            assert_eq!(blocked(), only(SIGINT)[0]);
            change(SET_MASK, &only(SIGTERM));
            let inner = thread::spawn(|| assert_eq!(blocked(), only(SIGTERM)[0]));
            inner
                .join()
                .expect("it begins with the mask of its creator");
            out.note("checked");
        });
        run_to_the_end(&mut world);
        assert_eq!(blocked(), only(SIGINT)[0]);
    }
    assert_eq!(blocked(), only(SIGINT)[0]);
    change(UNBLOCK, &only(SIGINT));
    assert_eq!(log.noted(), ["checked"]);
}

#[test]
fn the_owner_of_a_world_can_change_what_its_threads_begin_with() {
    let _only = counting();
    let log = Log::default();
    for _ in 0..2 {
        let mut world = world();
        change(BLOCK, &only(SIGINT));
        let out = log.clone();
        spawn(&mut world, "one", move || {
            out.note(format!("{:x}", blocked()));
        });
        run_to_the_end(&mut world);
        change(UNBLOCK, &only(SIGINT));
        let out = log.clone();
        spawn(&mut world, "other", move || {
            out.note(format!("{:x}", blocked()));
        });
        run_to_the_end(&mut world);
        assert_eq!(blocked(), 0);
        drop(world);
        assert_eq!(blocked(), 0);
    }
    assert_eq!(log.noted(), ["2", "0", "2", "0"]);
}

#[test]
fn a_job_begins_with_a_fresh_mask_though_its_thread_is_used_again() {
    let _only = counting();
    let crew = Arc::new(Crew::new());
    let log = Log::default();
    stay_aboard(|| {
        for _ in 0..3 {
            let mut world = world().with_crew(&crew);
            let out = log.clone();
            spawn(&mut world, "job", move || {
                out.note(format!("{:x} {}", blocked(), is_pending(SIGUSR1)));
                change(BLOCK, &only(SIGUSR1));
                raise_usr1();
            });
            run_to_the_end(&mut world);
        }
    });
    assert_eq!(log.noted(), ["0 false"; 3]);
    assert_eq!(calls(), 0);
}

#[test]
fn a_signal_that_was_kept_for_a_thread_ends_its_sigwait() {
    let _only = counting();
    let mut world = world();
    let log = Log::default();
    let out = log.clone();
    spawn(&mut world, "waits", move || {
        change(BLOCK, &only(SIGUSR1));
        raise_usr1();
        let mut taken = 0;
        // SAFETY: there is room for the number.
        unsafe { sigwait(&only(SIGUSR1), &raw mut taken) };
        out.note(format!("{taken}"));
    });
    run_to_the_end(&mut world);
    assert_eq!(log.noted(), ["10"]);
    assert_eq!(calls(), 0);
}

#[test]
fn a_thread_outside_sends_a_signal_to_one_of_a_world() {
    let _only = counting();
    let mut world = world();
    let handle = Arc::new(AtomicUsize::new(0));
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let (waiting, own) = (gate.clone(), handle.clone());
    spawn(&mut world, "waits", move || {
        own.store(own_handle(), Ordering::Relaxed);
        let open = waiting.0.lock().unwrap();
        drop(waiting.1.wait_while(open, |open| !*open));
    });
    world.run(u64::MAX);
    // SAFETY: the thread waits, and has not ended.
    let send = move || unsafe { pthread_kill(handle.load(Ordering::Relaxed), SIGUSR1) };
    assert_eq!(thread::spawn(send).join().expect("it is sent"), 0);
    assert_eq!(calls(), 0);
    world.run(u64::MAX);
    assert_eq!(calls(), 1);
    assert_eq!(CALLED_ON.load(Ordering::Relaxed), 1 << 0);
    let reasons: Vec<_> = world.inexact().iter().map(|it| it.reason).collect();
    assert_eq!(reasons, [conan_kernel::Reason::Signal]);
    spawn(&mut world, "opens", move || {
        *gate.0.lock().unwrap() = true;
        gate.1.notify_one();
    });
    run_to_the_end(&mut world);
    assert!(all_finished(&world));
}
