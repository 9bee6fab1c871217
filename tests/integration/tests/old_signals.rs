//! `cargo conan test`: signals go to whom they are sent, end calls that wait,
//! and come in virtual time, as natively.

use conan_integration::{crate_with, json, result, results};

/// Each of these passes natively, too, which is looked at.
const SIGNALS: &str = r#"#![cfg(test)]

use std::ffi::c_void;
use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::thread::JoinHandleExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, OnceLock, mpsc};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use std::{io, ptr};

const USER: i32 = libc::SIGUSR1;

/// Who has handled one, and how often.
static TAKER: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicU32 = AtomicU32::new(0);

extern "C" fn note(_: i32) {
    TAKER.store(unsafe { libc::pthread_self() } as usize, SeqCst);
    COUNT.fetch_add(1, SeqCst);
}

fn handle(signal: i32, handler: usize, flags: i32) {
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    assert_eq!(unsafe { libc::sigaction(signal, &action, ptr::null_mut()) }, 0);
}

fn set_of(signal: i32) -> libc::sigset_t {
    let mut set = MaybeUninit::zeroed();
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        set.assume_init()
    }
}

fn mask(how: i32, signal: i32) {
    let set = set_of(signal);
    assert_eq!(unsafe { libc::pthread_sigmask(how, &set, ptr::null_mut()) }, 0);
}

fn own_thread() -> usize {
    unsafe { libc::pthread_self() as usize }
}

/// Runs something on a thread that is sent a signal after a second.
fn interrupted<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> (R, usize) {
    let worker = thread::spawn(work);
    thread::sleep(Duration::from_secs(1));
    let id = worker.as_pthread_t();
    assert_eq!(unsafe { libc::pthread_kill(id, USER) }, 0);
    (worker.join().unwrap(), id as usize)
}

#[test]
fn a_sleep_is_cut_short_and_says_what_is_left() {
    handle(USER, note as usize, libc::SA_RESTART);
    let ((error, left), thread) = interrupted(|| {
        let wanted = libc::timespec { tv_sec: 3, tv_nsec: 0 };
        let mut left = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let error = unsafe { libc::nanosleep(&wanted, &mut left) };
        let error = (error == -1).then(|| io::Error::last_os_error().kind());
        (error, left.tv_sec as f64 + left.tv_nsec as f64 / 1e9)
    });
    assert_eq!(error, Some(ErrorKind::Interrupted));
    assert!((1.5..2.5).contains(&left), "{left}");
    assert_eq!(TAKER.load(SeqCst), thread);
}

#[test]
fn std_sleeps_for_as_long_as_it_was_told() {
    handle(USER, note as usize, 0);
    let (slept, _) = interrupted(|| {
        let begun = Instant::now();
        thread::sleep(Duration::from_secs(2));
        begun.elapsed()
    });
    assert!(slept >= Duration::from_secs(2) && slept < Duration::from_secs(3), "{slept:?}");
    assert_eq!(COUNT.load(SeqCst), 1);
}

#[test]
fn a_read_ends_unless_it_is_to_go_on() {
    for (flags, expected) in [(0, Err(ErrorKind::Interrupted)), (libc::SA_RESTART, Ok(1))] {
        handle(USER, note as usize, flags);
        let (mut reader, mut writer) = io::pipe().unwrap();
        let late = thread::spawn(move || {
            thread::sleep(Duration::from_secs(2));
            let _ = writer.write(&[7]);
        });
        let (got, _) = interrupted(move || reader.read(&mut [0]).map_err(|error| error.kind()));
        assert_eq!(got, expected);
        late.join().unwrap();
    }
    assert_eq!(COUNT.load(SeqCst), 2);
}

#[test]
fn a_poll_ends_though_calls_are_to_go_on() {
    handle(USER, note as usize, libc::SA_RESTART);
    let (reader, _writer) = io::pipe().unwrap();
    let (found, _) = interrupted(move || {
        use std::os::fd::AsRawFd;
        let mut poll = libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let found = unsafe { libc::poll(&mut poll, 1, -1) };
        (found, io::Error::last_os_error().kind())
    });
    assert_eq!(found, (-1, ErrorKind::Interrupted));
}

#[test]
fn locks_channels_and_joins_are_not_disturbed() {
    static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
    for flags in [0, libc::SA_RESTART] {
        handle(USER, note as usize, flags);
        *GATE.0.lock().unwrap() = false;
        let (send, receive) = mpsc::channel();
        let inner = thread::spawn(move || receive.recv());
        let outer = thread::spawn(move || inner.join().unwrap());
        let opener = thread::spawn(move || {
            thread::sleep(Duration::from_secs(5));
            *GATE.0.lock().unwrap() = true;
            GATE.1.notify_all();
            send.send(7).unwrap();
        });
        let id = outer.as_pthread_t();
        assert_eq!(unsafe { libc::pthread_kill(id, USER) }, 0);
        let (was_open, _) = interrupted(|| {
            let open = GATE.1.wait_while(GATE.0.lock().unwrap(), |open| !*open);
            *open.unwrap()
        });
        assert!(was_open);
        opener.join().unwrap();
        assert_eq!(outer.join().unwrap(), Ok(7));
    }
    assert_eq!(COUNT.load(SeqCst), 4);
}

#[test]
fn what_is_blocked_comes_when_it_is_not() {
    handle(USER, note as usize, 0);
    mask(libc::SIG_BLOCK, USER);
    let other = thread::spawn(|| {
        // It is inherited.
        unsafe { libc::raise(USER) };
        thread::yield_now();
        let before = COUNT.load(SeqCst);
        mask(libc::SIG_UNBLOCK, USER);
        (before, COUNT.load(SeqCst), TAKER.load(SeqCst) == own_thread())
    });
    assert_eq!(other.join().unwrap(), (0, 1, true));
    unsafe { libc::raise(USER) };
    thread::sleep(Duration::from_millis(5));
    let mut pending = set_of(libc::SIGUSR2);
    assert_eq!(unsafe { libc::sigpending(&mut pending) }, 0);
    assert_eq!(unsafe { libc::sigismember(&pending, USER) }, 1);
    assert_eq!(COUNT.load(SeqCst), 1);
    mask(libc::SIG_UNBLOCK, USER);
    assert_eq!((COUNT.load(SeqCst), TAKER.load(SeqCst)), (2, own_thread()));
}

#[test]
fn one_thread_blocks_and_another_does_not() {
    handle(USER, note as usize, 0);
    let (said, hears) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let blocks = thread::spawn(move || {
        mask(libc::SIG_BLOCK, USER);
        said.send(()).unwrap();
        goes.recv().unwrap();
        let before = COUNT.load(SeqCst);
        mask(libc::SIG_UNBLOCK, USER);
        (before, COUNT.load(SeqCst))
    });
    hears.recv().unwrap();
    unsafe { libc::pthread_kill(blocks.as_pthread_t(), USER) };
    unsafe { libc::raise(USER) };
    assert_eq!((COUNT.load(SeqCst), TAKER.load(SeqCst)), (1, own_thread()));
    let id = blocks.as_pthread_t() as usize;
    go.send(()).unwrap();
    assert_eq!(blocks.join().unwrap(), (1, 2));
    assert_eq!(TAKER.load(SeqCst), id);
}

#[test]
fn who_waits_for_a_signal_gets_it() {
    mask(libc::SIG_BLOCK, USER);
    let waits = thread::spawn(|| {
        let mut got = 0;
        let error = unsafe { libc::sigwait(&set_of(USER), &mut got) };
        (error, got)
    });
    thread::sleep(Duration::from_millis(100));
    unsafe { libc::pthread_kill(waits.as_pthread_t(), USER) };
    assert_eq!(waits.join().unwrap(), (0, USER));

    let begun = Instant::now();
    let limit = libc::timespec { tv_sec: 2, tv_nsec: 0 };
    let got = unsafe { libc::sigtimedwait(&set_of(USER), ptr::null_mut(), &limit) };
    assert_eq!((got, io::Error::last_os_error().kind()), (-1, ErrorKind::WouldBlock));
    assert!(begun.elapsed() >= Duration::from_secs(2));

    unsafe { libc::raise(USER) };
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let got = unsafe { libc::sigtimedwait(&set_of(USER), info.as_mut_ptr(), &limit) };
    assert_eq!((got, unsafe { info.assume_init() }.si_signo), (USER, USER));
}

#[test]
fn a_thread_suspends_itself_until_one_comes() {
    handle(USER, note as usize, 0);
    mask(libc::SIG_BLOCK, USER);
    let ((result, error, is_blocked), thread) = interrupted(|| {
        let nothing = unsafe { MaybeUninit::<libc::sigset_t>::zeroed().assume_init() };
        let result = unsafe { libc::sigsuspend(&nothing) };
        let error = io::Error::last_os_error().kind();
        let mut blocked = nothing;
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &mut blocked) };
        (result, error, unsafe { libc::sigismember(&blocked, USER) })
    });
    assert_eq!((result, error, is_blocked), (-1, ErrorKind::Interrupted, 1));
    assert_eq!(TAKER.load(SeqCst), thread);

    let ((result, error), _) = interrupted(|| {
        mask(libc::SIG_UNBLOCK, USER);
        (unsafe { libc::pause() }, io::Error::last_os_error().kind())
    });
    assert_eq!((result, error), (-1, ErrorKind::Interrupted));
}

#[test]
fn an_alarm_comes_in_its_time() {
    handle(libc::SIGALRM, note as usize, libc::SA_RESTART);
    unsafe { libc::alarm(100) };
    let left = unsafe { libc::alarm(2) };
    assert!((99..=100).contains(&left), "{left}");
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(COUNT.load(SeqCst), 0);
    thread::sleep(Duration::from_millis(1000));
    assert_eq!(COUNT.load(SeqCst), 1);
    assert_eq!(unsafe { libc::alarm(0) }, 0);
}

#[test]
fn a_timer_goes_off_again_and_again() {
    handle(libc::SIGALRM, note as usize, libc::SA_RESTART);
    let every = |microseconds| libc::timeval { tv_sec: 0, tv_usec: microseconds };
    let setting = |length| libc::itimerval { it_interval: every(length), it_value: every(length) };
    let set = |length| unsafe { libc::setitimer(libc::ITIMER_REAL, &setting(length), ptr::null_mut()) };
    assert_eq!(set(100_000), 0);
    thread::sleep(Duration::from_millis(1050));
    let mut now = setting(0);
    assert_eq!(unsafe { libc::getitimer(libc::ITIMER_REAL, &mut now) }, 0);
    assert_eq!(now.it_interval.tv_usec, 100_000);
    assert_eq!(set(0), 0);
    let count = COUNT.load(SeqCst);
    assert!((5..=10).contains(&count), "{count}");
    thread::sleep(Duration::from_millis(500));
    assert_eq!(COUNT.load(SeqCst), count);
}

#[test]
fn an_alarm_reaches_one_who_computes() {
    handle(libc::SIGALRM, note as usize, libc::SA_RESTART);
    unsafe { libc::alarm(1) };
    while COUNT.load(SeqCst) == 0 {
        std::hint::spin_loop();
    }
}

#[test]
fn each_thread_has_a_number_by_which_it_can_be_reached() {
    handle(USER, note as usize, 0);
    let (send, receive) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let other = thread::spawn(move || {
        let by_call = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
        send.send((unsafe { libc::gettid() }, by_call)).unwrap();
        goes.recv().is_ok()
    });
    let (number, same) = receive.recv().unwrap();
    assert_eq!(number, same);
    assert_ne!(number, unsafe { libc::gettid() });
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), number, USER) };
    assert_eq!(sent, 0);
    while COUNT.load(SeqCst) == 0 {
        thread::yield_now();
    }
    assert_eq!(TAKER.load(SeqCst), other.as_pthread_t() as usize);
    go.send(()).unwrap();
    assert!(other.join().unwrap());
}

#[test]
fn a_value_goes_with_it() {
    static GOT: AtomicI32 = AtomicI32::new(0);
    extern "C" fn take(_: i32, info: *const libc::siginfo_t, _: *mut c_void) {
        GOT.store(unsafe { (*info).si_value() }.sival_ptr as i32, SeqCst);
    }
    handle(USER, take as usize, libc::SA_SIGINFO);
    let value = libc::sigval { sival_ptr: 42 as *mut c_void };
    assert_eq!(unsafe { libc::sigqueue(libc::getpid(), USER, value) }, 0);
    while GOT.load(SeqCst) == 0 {
        thread::yield_now();
    }
    assert_eq!(GOT.load(SeqCst), 42);
}

#[test]
fn a_handler_may_be_for_once_and_may_be_asked_for() {
    handle(USER, note as usize, libc::SA_RESETHAND);
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    unsafe { libc::sigaction(USER, ptr::null(), &mut action) };
    assert_eq!(action.sa_sigaction, note as usize);
    unsafe { libc::raise(USER) };
    assert_eq!(COUNT.load(SeqCst), 1);
    assert_eq!(unsafe { libc::signal(USER, libc::SIG_IGN) }, libc::SIG_DFL);
    unsafe { libc::raise(USER) };
    assert_eq!(COUNT.load(SeqCst), 1);
}

#[test]
fn a_handler_may_wake_a_thread() {
    static SLEEPER: OnceLock<Thread> = OnceLock::new();
    static IS_AWAKE: AtomicBool = AtomicBool::new(false);
    extern "C" fn wake(_: i32) {
        IS_AWAKE.store(true, SeqCst);
        if let Some(sleeper) = SLEEPER.get() {
            sleeper.unpark();
        }
    }
    SLEEPER.set(thread::current()).unwrap();
    handle(USER, wake as usize, libc::SA_RESTART);
    let send = format!("sleep 0.3; kill -USR1 {}", std::process::id());
    let mut child = Command::new("sh").args(["-c", &send]).spawn().unwrap();
    while !IS_AWAKE.load(SeqCst) {
        thread::park();
    }
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_end_of_a_child_is_told() {
    handle(libc::SIGCHLD, note as usize, libc::SA_RESTART);
    let mut child = Command::new("true").spawn().unwrap();
    let begun = Instant::now();
    while COUNT.load(SeqCst) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(3600));
        thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success());
}

#[test]
fn processor_time_is_a_threads_own() {
    fn used() -> Duration {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
    let before = used();
    let other = thread::spawn(|| {
        let before = used();
        while used() - before < Duration::from_millis(60) {
            std::hint::black_box((0..1000_u64).sum::<u64>());
        }
        used() - before
    });
    assert!(other.join().unwrap() >= Duration::from_millis(60));
    let own = used() - before;
    assert!(own < Duration::from_millis(40), "{own:?}");
}

#[test]
fn one_that_nobody_handles_ends_the_process() {
    let worker = thread::spawn(|| thread::sleep(Duration::from_secs(60)));
    unsafe { libc::pthread_kill(worker.as_pthread_t(), libc::SIGTERM) };
    worker.join().unwrap();
}

#[test]
fn nobody_sends_one() {
    mask(libc::SIG_BLOCK, USER);
    let mut got = 0;
    unsafe { libc::sigwait(&set_of(USER), &mut got) };
}
"#;

/// A child has sent something, or a thread has run for long.
const NOT_EXACT: [&str; 3] = [
    "a_handler_may_wake_a_thread",
    "the_end_of_a_child_is_told",
    "an_alarm_reaches_one_who_computes",
];

#[test]
fn signals_are_as_natively() {
    let scratch = crate_with("signals", "[dependencies]\nlibc = \"0.2\"\n", SIGNALS);
    let all = json(&scratch, &[]);
    all.exits_with(101);
    let (tests, totals) = results(&all);
    assert_eq!(
        (&totals["passed"], &totals["failed"]),
        (&18.into(), &2.into())
    );
    for test in &tests {
        let name = test["test"].as_str().expect("a name");
        let expected = match name {
            "one_that_nobody_handles_ends_the_process" => "failed",
            "nobody_sends_one" => "hung",
            _ => "passed",
        };
        assert_eq!(test["verdict"], expected, "{test:#}");
        // Who is ended by force leaves no account.
        if expected != "failed" {
            assert_eq!(test["exact"], !NOT_EXACT.contains(&name), "{test:#}");
        }
    }
    let ended = result(&tests, "one_that_nobody_handles_ends_the_process");
    assert!(ended.to_string().contains("SIGTERM"), "{ended:#}");
    let why = "not known to be exact: the process ended by force (signal: 15 (SIGTERM))";
    assert_eq!(ended["not_exact"], why, "{ended:#}");
    let hung = result(&tests, "nobody_sends_one");
    assert!(hung.to_string().contains("sigwait"), "{hung:#}");

    // None of this is our idea of what signals do.
    let natively = ["--clock", "wall", "--", "--skip", "nobody_sends_one"];
    let (tests, _) = results(&json(&scratch, &natively));
    for test in &tests {
        let is_ended = test["test"] == "one_that_nobody_handles_ends_the_process";
        let expected = if is_ended { "failed" } else { "passed" };
        assert_eq!(test["verdict"], expected, "{test:#}");
    }
}
