//! `cargo conan test`: tests that know nothing of us, neither changed nor
//! rebuilt, and what comes of them.

use std::time::{Duration, Instant};

use conan_integration::{Ran, Run, Scratch, cargo_conan, place};
use serde_json::Value;

/// A fresh crate with nothing but this library.
fn crate_with(name: &str, library: &str) -> Scratch {
    let scratch = Scratch::empty(name, name);
    let manifest = "[package]\nname = \"CRATE\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    scratch.write("Cargo.toml", manifest);
    scratch.write("src/lib.rs", library);
    scratch
}

/// The tests of a run with `--message-format json`, and the summary.
#[track_caller]
fn results(ran: &Ran) -> (Vec<Value>, Value) {
    let lines = ran.stdout.lines().map(|line| {
        let value: Result<Value, _> = serde_json::from_str(line);
        value.unwrap_or_else(|error| panic!("{line:?} is not JSON ({error}); {ran}"))
    });
    let (tests, totals): (Vec<_>, Vec<_>) = lines.partition(|line| line.get("totals").is_none());
    let totals = totals
        .first()
        .unwrap_or_else(|| panic!("no summary; {ran}"));
    (tests, totals["totals"].clone())
}

/// The one test of this name.
#[track_caller]
fn result<'r>(tests: &'r [Value], name: &str) -> &'r Value {
    let found = tests.iter().find(|test| test["test"] == name);
    found.unwrap_or_else(|| panic!("{name} has not run: {tests:#?}"))
}

fn json(scratch: &Scratch) -> Ran {
    scratch
        .conan()
        .args(["test", "--message-format", "json", "--lib"])
        .ran()
}

const SLEEPY: &str = "\
#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    #[test]
    fn an_hour_passes() {
        let begun = Instant::now();
        sleep(Duration::from_secs(3600));
        assert!(begun.elapsed() >= Duration::from_secs(3600));
    }
}
";

#[test]
fn a_sleepy_test_gives_its_verdict_without_sleeping() {
    let scratch = crate_with("sleepy", SLEEPY);
    let begun = Instant::now();
    let ran = scratch.conan().arg("test").ran();
    ran.exits_with(0)
        .says("PASS")
        .says("sleepy tests::an_hour_passes")
        .says("1 test run: 1 passed, 0 failed, 0 ignored; 1 of 1 exact")
        .says("3600.000s of virtual time");
    assert!(begun.elapsed() < Duration::from_secs(3600), "{ran}");

    let ran = json(&scratch);
    ran.exits_with(0);
    let (tests, totals) = results(&ran);
    let test = result(&tests, "tests::an_hour_passes");
    assert_eq!(test["verdict"], "passed");
    assert_eq!(test["exact"], true);
    let time = test["virtual_ns"].as_u64().expect("it is known");
    assert_eq!(time / 1_000_000, 3_600_000, "{test}");
    assert_eq!(totals["passed"], 1);
}

const HANGS: &str = r#"
#[cfg(test)]
mod tests {
    use std::sync::{Arc, Condvar, Mutex, mpsc};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn a_lost_notify() {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        // Nobody waits yet, and nobody looks at a condition.
        pair.1.notify_one();
        let other = Arc::clone(&pair);
        let waiter = move || {
            let held = other.0.lock().unwrap();
            drop(other.1.wait(held).unwrap());
        };
        let waiter = thread::Builder::new().name("waiter".into()).spawn(waiter).unwrap();
        waiter.join().unwrap(); // joins the waiter
    }

    #[test]
    fn two_locks_in_opposite_order() {
        let locks = Arc::new((Mutex::new(1), Mutex::new(2)));
        let others = Arc::clone(&locks);
        let right = move || {
            let second = others.1.lock().unwrap();
            thread::sleep(Duration::from_millis(10));
            *others.0.lock().unwrap() += *second; // right waits
        };
        let right = thread::Builder::new().name("right".into()).spawn(right).unwrap();
        let first = locks.0.lock().unwrap();
        thread::sleep(Duration::from_millis(10));
        *locks.1.lock().unwrap() += *first; // left waits
        drop(first);
        right.join().unwrap();
    }

    #[test]
    fn a_channel_that_nobody_closes() {
        let (sender, receiver) = mpsc::channel();
        sender.send(1).unwrap();
        let sum: i32 = receiver.iter().sum(); // receives for ever
        assert_eq!(sum, 1);
        drop(sender);
    }

    #[test]
    fn a_worker_that_is_never_told_to_end() {
        let (sender, receiver) = mpsc::channel::<u32>();
        thread::scope(|scope| {
            scope.spawn(move || {
                while receiver.recv().is_ok() {} // the worker's loop
            });
            sender.send(1).unwrap();
        });
    }
}
"#;

/// That a test hung, that this took no time, and what each thread was in.
#[track_caller]
fn hangs(tests: &[Value], name: &str, expected: &[(Option<&str>, &str, &str)]) {
    let test = result(tests, &format!("tests::{name}"));
    assert_eq!(test["verdict"], "hung", "{test:#}");
    assert_eq!(test["exact"], true, "{test:#}");
    let real = Duration::from_nanos(test["real_ns"].as_u64().expect("it is known"));
    assert!(real < Duration::from_secs(20), "{real:?}");
    let threads = test["suspended"].as_array().expect("threads are listed");
    assert_eq!(threads.len(), expected.len(), "{test:#}");
    for (thread, (name, what, marker)) in threads.iter().zip(expected) {
        if let Some(name) = name {
            assert_eq!(thread["thread"], *name, "{test:#}");
        }
        assert_eq!(thread["in"], *what, "{test:#}");
        let line = place(HANGS, marker).line;
        let at = thread["places"][0]["place"].as_str().expect("a place");
        assert!(
            at.starts_with(&format!("src/lib.rs:{line}:")),
            "{marker}: {test:#}"
        );
    }
}

#[test]
fn a_hang_fails_at_once_with_the_place_of_every_thread() {
    let scratch = crate_with("hangs", HANGS);
    let ran = json(&scratch);
    ran.exits_with(101);
    let (tests, totals) = results(&ran);
    assert_eq!(totals["failed"], 4, "{ran}");
    hangs(
        &tests,
        "a_lost_notify",
        &[
            (
                None,
                "std::thread::JoinHandle::join, for the end of `waiter`",
                "joins the waiter",
            ),
            (
                Some("waiter"),
                "std::sync::Condvar::wait",
                "drop(other.1.wait",
            ),
        ],
    );
    hangs(
        &tests,
        "two_locks_in_opposite_order",
        &[
            (None, "std::sync::Mutex::lock", "left waits"),
            (Some("right"), "std::sync::Mutex::lock", "right waits"),
        ],
    );
    let sum = "core::iter::traits::iterator::Iterator::sum";
    hangs(
        &tests,
        "a_channel_that_nobody_closes",
        &[(None, sum, "receives for ever")],
    );
    hangs(
        &tests,
        "a_worker_that_is_never_told_to_end",
        &[
            (None, "std::thread::scope", "thread::scope(|scope| {"),
            (None, "std::sync::mpsc::Receiver::recv", "the worker's loop"),
        ],
    );

    // For people: the same in words.
    let ran = scratch
        .conan()
        .args(["test", "--lib", "opposite_order"])
        .ran();
    let line = place(HANGS, "right waits").line;
    ran.exits_with(101)
        .says("HANG")
        .says("thread `right` is suspended for good: std::sync::Mutex::lock")
        .says(&format!("    at src/lib.rs:{line}:"))
        .never_mentions("running for over 60 seconds");
}

const MANNERS: &str = r#"
/// ```
/// assert_eq!(CRATE::two(), 2);
/// ```
pub fn two() -> u32 { 2 }

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;

    #[test]
    fn prints() { println!("to standard output"); eprintln!("to standard error"); }

    #[test]
    fn panics() { println!("before the panic"); assert_eq!(super::two(), 3, "two is not three"); }

    #[test]
    #[should_panic = "expected"]
    fn should_panic() { panic!("as expected"); }

    #[test]
    #[should_panic]
    fn should_panic_but_does_not() {}

    #[test]
    #[ignore]
    fn ignored() { panic!("nobody asked"); }

    #[test]
    fn children_are_left_alone() {
        let script = "echo \"[$LD_PRELOAD][$CONAN_PRELOAD_ACCOUNT]\"; date +%s";
        let before = std::time::SystemTime::now();
        thread::sleep(std::time::Duration::from_secs(1_000_000));
        let output = Command::new("sh").args(["-c", script]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (settings, date) = text.trim().split_once('\n').unwrap();
        assert_eq!(settings, "[][]");
        let before = before.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let date: u64 = date.parse().unwrap();
        assert!(date - before < 100_000, "a child has real time");
    }

    #[test]
    fn aborts() { std::process::abort(); }

    #[test]
    fn overflows_its_stack() {
        fn deeper(depth: u64) -> u64 {
            let filler = std::hint::black_box([depth; 512]);
            if depth == u64::MAX { 0 } else { deeper(depth + 1) + filler[7] }
        }
        deeper(0);
    }

    #[test]
    fn names_and_processors_are_as_natively() {
        assert_eq!(thread::current().name(), Some("tests::names_and_processors_are_as_natively"));
        let natively = Command::new("nproc").env_remove("OMP_NUM_THREADS").output().unwrap().stdout;
        let natively: usize = String::from_utf8(natively).unwrap().trim().parse().unwrap();
        assert_eq!(thread::available_parallelism().unwrap().get(), natively);
        assert_eq!(std::env::var("CARGO_PKG_NAME").as_deref(), Ok("CRATE"));
    }
}
"#;

#[test]
fn tests_behave_as_natively() {
    let scratch = crate_with("manners", MANNERS);
    let ran = json(&scratch);
    ran.exits_with(101);
    let (tests, totals) = results(&ran);
    let failed = [
        "panics",
        "should_panic_but_does_not",
        "aborts",
        "overflows_its_stack",
    ];
    for test in &tests {
        let name = test["test"].as_str().expect("a name");
        let name = name.strip_prefix("tests::").expect("all are in there");
        let expected = if failed.contains(&name) {
            "failed"
        } else {
            "passed"
        };
        assert_eq!(test["verdict"], expected, "{test:#}");
    }
    assert_eq!(totals["failed"], failed.len());
    assert_eq!(totals["ignored"], 1);
    let prints = result(&tests, "tests::prints");
    assert!(prints["stdout"].to_string().contains("to standard output"));
    assert!(prints["stderr"].to_string().contains("to standard error"));
    let overflows = result(&tests, "tests::overflows_its_stack");
    assert!(
        overflows["stderr"]
            .to_string()
            .contains("has overflowed its stack"),
        "{overflows:#}"
    );

    let words = ["test", "--no-fail-fast", "--junit", "report.xml"];
    let ran = scratch
        .conan()
        .args(words)
        .args(["--", "--skip", "aborts"])
        .ran();
    ran.exits_with(101)
        .says("before the panic")
        .says("two is not three")
        .says("3 failed, 1 ignored")
        .never_mentions("to standard output")
        .prints("src/lib.rs - two (line 2) ... ok");
    let report = scratch.read("report.xml");
    for part in [
        "<testsuite name=\"manners\" tests=\"8\" failures=\"3\" skipped=\"1\"",
        "<testcase name=\"tests::prints\" classname=\"manners\"",
        "two is not three",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }

    let words = ["test", "--lib", "prints", "--", "--nocapture"];
    scratch
        .conan()
        .args(words)
        .ran()
        .exits_with(0)
        .says("to standard output");
    let words = ["test", "--lib", "--", "--ignored"];
    scratch
        .conan()
        .args(words)
        .ran()
        .exits_with(101)
        .says("nobody asked");
}

/// Threads of a process are kept and used again: nothing may tell.
const KEPT: &str = r#"#![cfg(test)]

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

const ROUNDS: usize = 200;

#[test]
fn thread_locals_are_new_in_each_and_dropped_with_it() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::SeqCst);
        }
    }
    thread_local! {
        static PLAIN: Cell<u32> = const { Cell::new(7) };
        static LIST: RefCell<Vec<u32>> = RefCell::new(vec![1]);
        static COUNTED: Counted = const { Counted };
    }
    for round in 1..=ROUNDS {
        let job = || {
            assert_eq!(PLAIN.replace(8), 7);
            LIST.with_borrow_mut(|list| {
                assert_eq!(*list, [1]);
                list.push(2);
            });
            COUNTED.with(|_| ());
        };
        thread::spawn(job).join().unwrap();
        assert_eq!(DROPPED.load(Ordering::SeqCst), round);
    }
}

#[test]
fn each_has_its_own_value_name_identity_and_panic() {
    let mut seen = HashSet::new();
    for round in 0..ROUNDS {
        let builder = thread::Builder::new().name(format!("number {round}"));
        let builder = if round % 3 == 0 { builder.stack_size(1 << 20) } else { builder };
        let handle = builder.spawn(move || {
            assert_eq!(thread::current().name(), Some(&*format!("number {round}")));
            if round % 7 == 3 {
                panic!("in {round}");
            }
            round
        });
        let handle = handle.unwrap();
        assert!(seen.insert(handle.thread().id()));
        let value = handle.join().map_err(|cause| *cause.downcast::<String>().unwrap());
        if round % 7 == 3 {
            assert_eq!(value, Err(format!("in {round}")));
        } else {
            assert_eq!(value, Ok(round));
        }
    }
}

#[test]
fn nobody_has_to_join_them() {
    let (send, receive) = mpsc::channel();
    for round in 0..ROUNDS {
        let send = send.clone();
        thread::spawn(move || send.send(round).unwrap());
        if round % 2 == 0 {
            thread::yield_now();
        }
    }
    drop(send);
    let mut rounds: Vec<_> = receive.iter().collect();
    rounds.sort();
    assert_eq!(rounds, Vec::from_iter(0..ROUNDS));
}

unsafe extern "C" {
    fn pthread_key_create(key: *mut u32, drop: Option<extern "C" fn(*mut c_void)>) -> i32;
    fn pthread_getspecific(key: u32) -> *mut c_void;
    fn pthread_setspecific(key: u32, value: *const c_void) -> i32;
    fn pthread_create(
        thread: *mut usize,
        attributes: *const c_void,
        routine: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> i32;
    fn pthread_join(thread: usize, result: *mut *mut c_void) -> i32;
    fn pthread_exit(value: *mut c_void) -> !;
}

#[test]
fn what_is_under_a_key_goes_with_the_thread() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn drop(value: *mut c_void) {
        DROPPED.fetch_add(value as usize, Ordering::SeqCst);
    }
    let (mut key, mut plain) = (0, 0);
    unsafe {
        assert_eq!(pthread_key_create(&mut key, Some(drop)), 0);
        assert_eq!(pthread_key_create(&mut plain, None), 0);
    }
    for round in 1..=ROUNDS {
        let job = move || unsafe {
            assert!(pthread_getspecific(key).is_null());
            assert!(pthread_getspecific(plain).is_null());
            pthread_setspecific(key, 3 as *const c_void);
            pthread_setspecific(plain, 4 as *const c_void);
        };
        thread::spawn(job).join().unwrap();
        assert_eq!(DROPPED.load(Ordering::SeqCst), 3 * round);
    }
}

#[test]
fn they_return_to_c_and_exit_as_c_does() {
    extern "C" fn returns(argument: *mut c_void) -> *mut c_void {
        argument.wrapping_byte_add(1)
    }
    extern "C" fn exits(argument: *mut c_void) -> *mut c_void {
        unsafe { pthread_exit(argument.wrapping_byte_add(2)) }
    }
    for round in 0..ROUNDS {
        let (routine, more) = if round % 2 == 0 {
            (returns as extern "C" fn(*mut c_void) -> *mut c_void, 1)
        } else {
            (exits as _, 2)
        };
        let (mut thread, mut value) = (0, std::ptr::null_mut());
        let argument = std::ptr::null_mut::<c_void>().wrapping_byte_add(round);
        unsafe {
            assert_eq!(pthread_create(&mut thread, std::ptr::null(), routine, argument), 0);
            assert_eq!(pthread_join(thread, &mut value), 0);
        }
        assert_eq!(value as usize, round + more);
    }
}
"#;

#[test]
fn threads_are_as_new_though_they_are_kept() {
    let scratch = crate_with("kept", KEPT);
    let ran = json(&scratch);
    let (tests, totals) = results(&ran);
    for test in &tests {
        assert_eq!(test["verdict"], "passed", "{test:#}");
        assert_eq!(test["exact"], true, "{test:#}");
    }
    assert_eq!(totals["passed"], 5);
}

/// What a program does with the system: signals, processes, many threads,
/// the processor's time.
const SYSTEM: &str = r#"#![cfg(test)]

use std::cell::RefCell;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, mpsc};
use std::thread;
use std::time::Duration;

unsafe extern "C" {
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
    fn raise(number: i32) -> i32;
    fn kill(process: i32, number: i32) -> i32;
    fn getpid() -> i32;
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(code: i32) -> !;
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
}

const USER_1: i32 = 10;
const USER_2: i32 = 12;

#[test]
fn a_raised_signal_is_handled_before_it_returns() {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn handler(_: i32) {
        SEEN.fetch_add(1, Ordering::SeqCst);
    }
    unsafe { signal(USER_1, handler) };
    let raises = || {
        for round in 1..=10 {
            let before = SEEN.load(Ordering::SeqCst);
            unsafe { raise(USER_1) };
            assert!(SEEN.load(Ordering::SeqCst) > before, "in round {round}");
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        scope.spawn(raises);
        scope.spawn(raises);
    });
    assert_eq!(SEEN.load(Ordering::SeqCst), 20);
}

#[test]
fn a_signal_from_another_process_arrives() {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn handler(_: i32) {
        SEEN.fetch_add(1, Ordering::SeqCst);
    }
    unsafe { signal(USER_2, handler) };
    let (word, number) = ("-USR2", unsafe { getpid() }.to_string());
    assert!(Command::new("kill").args([word, &number]).status().unwrap().success());
    while SEEN.load(Ordering::SeqCst) == 0 {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_signal_without_a_handler_ends_the_process() {
    unsafe { kill(getpid(), USER_1) };
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_child_process_is_of_one_thread_and_in_real_time() {
    let (send, receive) = mpsc::channel::<()>();
    let other = thread::spawn(move || receive.recv().is_err());
    thread::yield_now();
    let child = unsafe { fork() };
    if child == 0 {
        let before = std::time::Instant::now();
        thread::sleep(Duration::from_millis(20));
        let slept = before.elapsed() >= Duration::from_millis(20);
        let sum = thread::spawn(|| 40 + 2).join().unwrap_or(0);
        unsafe { _exit(if slept { sum } else { 1 }) };
    }
    let mut status = 0;
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(status >> 8 & 0xff, 42, "{status:x}");
    assert_eq!(status & 0x7f, 0, "{status:x}");
    drop(send);
    assert!(other.join().unwrap());
}

#[test]
fn thread_locals_are_dropped_while_the_thread_can_still_wait() {
    struct Told(mpsc::Sender<u32>, Arc<(Mutex<bool>, Condvar)>);
    impl Drop for Told {
        fn drop(&mut self) {
            let (lock, condition) = &*self.1;
            let mut goes = lock.lock().unwrap();
            while !*goes {
                goes = condition.wait(goes).unwrap();
            }
            thread::sleep(Duration::from_secs(5));
            self.0.send(7).unwrap();
        }
    }
    thread_local! {
        static TOLD: RefCell<Option<Told>> = const { RefCell::new(None) };
    }
    let (send, receive) = mpsc::channel();
    let gate = Arc::<(Mutex<bool>, Condvar)>::default();
    let told = Told(send, gate.clone());
    let handle = thread::spawn(move || TOLD.set(Some(told)));
    thread::sleep(Duration::from_millis(10));
    assert_eq!(receive.try_recv(), Err(mpsc::TryRecvError::Empty));
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    handle.join().unwrap();
    assert_eq!(receive.try_recv(), Ok(7));
}

#[test]
fn a_thousand_threads_live_at_once() {
    let barrier = Arc::new(Barrier::new(1001));
    let threads: Vec<_> = (0..1000_u32)
        .map(|number| {
            let barrier = barrier.clone();
            thread::spawn(move || {
                barrier.wait();
                thread::sleep(Duration::from_millis(u64::from(number)));
                barrier.wait();
                number
            })
        })
        .collect();
    barrier.wait();
    barrier.wait();
    let sum: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(sum, 499_500);
}

#[test]
fn processor_time_is_of_work_not_of_sleep() {
    let read = |clock| {
        let mut time = [0; 2];
        assert_eq!(unsafe { clock_gettime(clock, &mut time) }, 0);
        Duration::new(time[0] as u64, time[1] as u32)
    };
    for clock in [2, 3] {
        let before = read(clock);
        thread::sleep(Duration::from_millis(300));
        let asleep = read(clock) - before;
        assert!(asleep < Duration::from_millis(200), "{asleep:?}");
        while read(clock) - before < Duration::from_millis(50) {
            std::hint::black_box((0..1000_u64).sum::<u64>());
        }
    }
}
"#;

#[test]
fn what_a_program_does_with_the_system_comes_out_as_natively() {
    let scratch = crate_with("system", SYSTEM);
    let in_time = |clock| {
        let words = ["test", "--lib", "--message-format", "json", "--clock"];
        let ran = scratch.conan().args(words).arg(clock).ran();
        ran.exits_with(101);
        results(&ran).0
    };
    let (natively, here) = (in_time("wall"), in_time("virtual"));
    assert_eq!((natively.len(), here.len()), (7, 7));
    for test in &here {
        let name = test["test"].as_str().expect("a name");
        let expected = &result(&natively, name)["verdict"];
        assert_eq!(&test["verdict"], expected, "{test:#}");
        let ends = name == "a_signal_without_a_handler_ends_the_process";
        assert_eq!(expected, if ends { "failed" } else { "passed" });
    }
    let ended = result(&here, "a_signal_without_a_handler_ends_the_process");
    assert!(ended["how"].to_string().contains("10"), "{ended:#}");
    for name in [
        "a_raised_signal_is_handled_before_it_returns",
        "thread_locals_are_dropped_while_the_thread_can_still_wait",
        "a_thousand_threads_live_at_once",
    ] {
        let test = result(&here, name);
        assert_eq!(test["exact"], true, "{test:#}");
    }
}

#[test]
fn a_panic_that_aborts_ends_the_process() {
    const PANICS: &str = "\
fn main() {
    let _ = std::thread::spawn(|| panic!(\"of no return\")).join();
    println!(\"nobody comes here\");
}
";
    let scratch = crate_with("aborting", "");
    let manifest = scratch.read("Cargo.toml");
    let target = "\n[[test]]\nname = \"own\"\nharness = false\n";
    scratch.write("Cargo.toml", &(manifest + target));
    scratch.write("tests/own.rs", PANICS);
    let test = |flags: &str| {
        let words = ["test", "--test", "own", "--message-format", "json"];
        let ran = scratch.conan().args(words).env("RUSTFLAGS", flags).ran();
        results(&ran).0.remove(0)
    };
    let aborted = test("-Cpanic=abort");
    assert_eq!(aborted["verdict"], "failed", "{aborted:#}");
    assert!(aborted["stderr"].to_string().contains("of no return"));
    assert!(!aborted["stdout"].to_string().contains("nobody"));
    let unwound = test("-Cpanic=unwind");
    assert_eq!(unwound["verdict"], "passed", "{unwound:#}");
    assert!(unwound["stdout"].to_string().contains("nobody"));
}

/// One that asks again and again waits; one that computes must not be hurried.
const POLLS: &str = r#"#![cfg(test)]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
}

fn processor_time() -> Duration {
    let mut time = [0; 2];
    assert_eq!(unsafe { clock_gettime(2, &mut time) }, 0);
    Duration::new(time[0] as u64, time[1] as u32)
}

#[test]
fn asks_until_the_sleeper_answers() {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        thread::sleep(Duration::from_secs(120));
        send.send(7).unwrap();
    });
    loop {
        if let Ok(answer) = receive.try_recv() {
            assert_eq!(answer, 7);
            break;
        }
    }
}

#[test]
fn computes_while_another_waits_with_a_limit() {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        while processor_time() < Duration::from_millis(2700) {
            std::hint::black_box((0..100_000_u64).sum::<u64>());
        }
        send.send(7).unwrap();
    });
    assert_eq!(receive.recv_timeout(Duration::from_secs(15)), Ok(7));
}
"#;

#[test]
fn a_thread_that_asks_again_and_again_lets_time_pass() {
    let scratch = crate_with("polls", POLLS);
    let ran = json(&scratch);
    ran.exits_with(0);
    let (tests, _) = results(&ran);
    let asks = result(&tests, "asks_until_the_sleeper_answers");
    let real = asks["real_ns"].as_u64().expect("a number");
    assert!(real < 60_000_000_000, "{asks:#}");
    let time = asks["virtual_ns"].as_u64().expect("a number");
    assert!(time >= 120_000_000_000, "{asks:#}");
    assert_eq!(asks["exact"], false, "{asks:#}");
}

#[test]
fn what_does_not_compile_and_what_is_misspelt_is_said() {
    let scratch = crate_with("broken", "#[test]\nfn broken() { missing(); }\n");
    let ran = scratch.conan().arg("test").ran();
    ran.exits_with(101).says("cannot find function `missing`");
    scratch.write("src/lib.rs", "");
    let ran = scratch
        .conan()
        .args(["test", "--message-format", "xml"])
        .ran();
    ran.exits_with(2)
        .says("`xml` is no format of `cargo conan test`");
    let ran = scratch.conan().args(["test", "one", "two"]).ran();
    ran.exits_with(2).says("`two` is one filter too many");
}

const MAIN: &str = "\
fn main() {
    let begun = std::time::Instant::now();
    std::thread::sleep(std::time::Duration::from_secs(7200));
    assert!(begun.elapsed().as_secs() >= 7200);
    println!(\"from a main of its own\");
    std::process::exit(if std::env::args().count() == 1 { 0 } else { 7 });
}
";

#[test]
fn a_test_with_a_main_of_its_own_runs_as_a_whole() {
    let scratch = crate_with("whole", "");
    let manifest = scratch.read("Cargo.toml");
    let target = "\n[[test]]\nname = \"own\"\nharness = false\n";
    scratch.write("Cargo.toml", &(manifest + target));
    scratch.write("tests/own.rs", MAIN);
    let ran = scratch.conan().args(["test", "--test", "own"]).ran();
    ran.exits_with(0)
        .says("whole::own")
        .says("7200.000s of virtual time");
}

#[test]
fn plain_cargo_test_uses_the_runner() {
    let scratch = crate_with(
        "runner",
        &(SLEEPY.to_owned() + HANGS.trim_start()).replacen("mod tests", "mod sleepy", 1),
    );
    let runner = format!(
        "[target.'cfg(target_os = \"linux\")']\nrunner = ['{}', 'conan', 'runner']\n",
        cargo_conan().display()
    );
    scratch.write(".cargo/config.toml", &runner);
    let ran = scratch.cargo_test().args(["--lib", "an_hour"]).ran();
    ran.exits_with(0).prints("1 passed");
    let ran = scratch.cargo_test().args(["--lib", "two_locks"]).ran();
    ran.exits_with(101)
        .says("thread `right` is suspended for good: std::sync::Mutex::lock");
    let ran = scratch.cargo_test().args(["--lib", "--", "--list"]).ran();
    ran.exits_with(0).prints_line("tests::a_lost_notify: test");
}

#[test]
fn a_binary_with_the_engine_in_it_runs_as_under_cargo_test() {
    let scratch = Scratch::new("engined");
    let script = "\
#ticktime 20
#cut c Counter

#top
    use CRATE::Counter;
#end

#begin counts
    #tick
        #thread <one>
            #valueCheck c.add(1) # 1 #end
        #end
    #end
#end
";
    scratch.script("tests/scripts/engined.conan", script);
    let ran = scratch.conan().args(["test", "--test", "engined"]).ran();
    ran.exits_with(0)
        .says("1 passed")
        .says("not in virtual time: calls of `syscall` do not reach the engine");
}

const RACE: &str = r#"
#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, mpsc};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn workers_race() {
        let (sender, receiver) = mpsc::sync_channel(2);
        let sum = Arc::new(Mutex::new(0_u64));
        let workers: Vec<_> = (0..8_u64).map(|number| {
            let (sender, sum) = (sender.clone(), Arc::clone(&sum));
            thread::spawn(move || for round in 0..20 {
                let mut sum = sum.lock().unwrap();
                *sum = (*sum ^ number ^ round).wrapping_mul(31);
                drop(sum);
                sender.send((number, round)).unwrap();
                thread::sleep(Duration::from_millis(number % 3));
                thread::yield_now();
            })
        }).collect();
        drop(sender);
        let order: Vec<_> = receiver.iter().collect();
        for worker in workers {
            worker.join().unwrap();
        }
        println!("{order:?} {}", sum.lock().unwrap());
    }
}
"#;

#[test]
fn an_exact_test_is_the_same_every_time() {
    let scratch = crate_with("race", RACE);
    let runs: Vec<Value> = (0..20)
        .map(|_| {
            let ran = json(&scratch);
            ran.exits_with(0);
            let (tests, _) = results(&ran);
            let mut test = result(&tests, "tests::workers_race").clone();
            assert_eq!(test["exact"], true, "{test:#}");
            assert!(test["trace"].is_string(), "{test:#}");
            test.as_object_mut().expect("an object").remove("real_ns");
            test
        })
        .collect();
    for run in &runs {
        assert_eq!(run, &runs[0]);
    }
}
