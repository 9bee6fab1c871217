//! `cargo conan test`: what a test does and sees beside locks and time comes
//! out as without us.

use conan_integration::{Run, crate_with, json, result, results};

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
    let scratch = crate_with("manners", "", MANNERS);
    let ran = json(&scratch, &[]);
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
    // A child keeps real time, be it as quick as it likes.
    let with_child = result(&tests, "children_are_left_alone");
    let why = with_child["not_exact"].to_string();
    assert!(why.contains("started another process"), "{with_child:#}");
    let prints = result(&tests, "prints");
    assert_eq!(prints["exact"], true, "{prints:#}");
    assert!(prints["stdout"].to_string().contains("to standard output"));
    assert!(prints["stderr"].to_string().contains("to standard error"));
    let overflows = result(&tests, "overflows_its_stack");
    let says = |text: &str| {
        let stderr = overflows["stderr"].to_string();
        assert!(stderr.contains(text), "no {text:?} in {overflows:#}");
    };
    says("has overflowed its stack");
    says("SIGABRT in thread");
    // Frames are taken, and the account is left, on this processor only.
    if cfg!(target_arch = "x86_64") {
        says(" in manners::");
        assert_eq!(overflows["exact"], true, "{overflows:#}");
        assert!(overflows["virtual_ns"].is_u64(), "{overflows:#}");
    }

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
    let scratch = crate_with("kept", "", KEPT);
    let ran = json(&scratch, &[]);
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

/// System calls by the instruction itself, past libc and whatever takes its
/// place.
const PAST_LIBC: &str = r#"#![cfg(all(test, target_arch = "x86_64"))]

use std::time::{Duration, Instant};

unsafe fn call(number: isize, args: [usize; 4]) -> isize {
    let result;
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

unsafe extern "C" {
    fn pthread_sigmask(how: i32, new: *const u64, old: *mut u64) -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn raise(number: i32) -> i32;
    fn __errno_location() -> *mut i32;
}

#[test]
fn a_sleep_takes_its_time() {
    let begun = Instant::now();
    let second = [1_u64, 0];
    assert_eq!(unsafe { call(35, [second.as_ptr() as usize, 0, 0, 0]) }, 0);
    assert_eq!(unsafe { call(230, [1, 0, second.as_ptr() as usize, 0]) }, 0);
    assert!(begun.elapsed() >= Duration::from_secs(2));
}

#[test]
fn one_that_waits_lets_the_others_go_on() {
    let mut pair = [0_i32; 2];
    assert_eq!(unsafe { call(22, [pair.as_mut_ptr() as usize, 0, 0, 0]) }, 0);
    let [reads, writes] = pair.map(|number| number as usize);
    let reader = std::thread::spawn(move || {
        let mut byte = 0_u8;
        let count = unsafe { call(0, [reads, &raw mut byte as usize, 1, 0]) };
        (count, byte)
    });
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(unsafe { call(1, [writes, b"x".as_ptr() as usize, 1, 0]) }, 1);
    assert_eq!(reader.join().unwrap(), (1, b'x'));
    for number in [reads, writes] {
        assert_eq!(unsafe { call(3, [number, 0, 0, 0]) }, 0);
    }
}

#[test]
fn errors_are_results_and_leave_errno_alone() {
    unsafe { *__errno_location() = 42 };
    let mut byte = 0_u8;
    assert_eq!(unsafe { call(0, [999, &raw mut byte as usize, 1, 0]) }, -9);
    assert_eq!(unsafe { call(500_000, [0; 4]) }, -38);
    assert_eq!(unsafe { *__errno_location() }, 42);
}

#[test]
fn a_signal_that_is_blocked_stays_so() {
    let (user_1, mut after) = (1_u64 << 9, [0_u64; 16]);
    assert_eq!(unsafe { call(14, [0, &raw const user_1 as usize, 0, 8]) }, 0);
    unsafe { pthread_sigmask(0, std::ptr::null(), after.as_mut_ptr()) };
    assert_eq!(after[0] & user_1, user_1);
    assert_eq!(unsafe { call(14, [1, &raw const user_1 as usize, 0, 8]) }, 0);
}

#[test]
fn all_signals_may_be_blocked() {
    let (all, mut before) = ([u64::MAX; 16], [0_u64; 16]);
    for how in [0, 2] {
        unsafe { pthread_sigmask(how, all.as_ptr(), before.as_mut_ptr()) };
        assert!(unsafe { call(39, [0; 4]) } > 0);
        unsafe { pthread_sigmask(2, before.as_ptr(), std::ptr::null_mut()) };
    }
    assert_eq!(unsafe { call(14, [0, all.as_ptr() as usize, 0, 8]) }, 0);
    assert!(unsafe { call(39, [0; 4]) } > 0);
    unsafe { pthread_sigmask(2, before.as_ptr(), std::ptr::null_mut()) };
}

#[test]
fn a_child_begins_where_it_was_born() {
    let child = unsafe { call(57, [0; 4]) };
    if child == 0 {
        unsafe { call(231, [7, 0, 0, 0]) };
    }
    let mut status = 0;
    assert_eq!(unsafe { waitpid(child as i32, &mut status, 0) }, child as i32);
    assert_eq!(status >> 8 & 0xff, 7, "{status:x}");
}

#[test]
fn the_signal_that_it_is_done_with_ends_the_process() {
    unsafe { raise(31) };
}
"#;

#[test]
fn system_calls_past_libc_come_out_as_natively() {
    let scratch = crate_with("past_libc", "", PAST_LIBC);
    let in_time = |clock| results(&json(&scratch, &["--clock", clock])).0;
    let (natively, here) = (in_time("wall"), in_time("virtual"));
    assert_eq!(natively.len(), here.len());
    for test in &here {
        let name = test["test"].as_str().expect("a name");
        let expected = &result(&natively, name)["verdict"];
        assert_eq!(&test["verdict"], expected, "{test:#}");
        let ends = name == "the_signal_that_it_is_done_with_ends_the_process";
        assert_eq!(expected, if ends { "failed" } else { "passed" }, "{name}");
    }
    if cfg!(target_arch = "x86_64") {
        for name in [
            "a_sleep_takes_its_time",
            "one_that_waits_lets_the_others_go_on",
        ] {
            let test = result(&here, name);
            assert_eq!(test["exact"], true, "{test:#}");
        }
        let slept = result(&here, "a_sleep_takes_its_time");
        assert_eq!(
            slept["virtual_ns"].as_u64().map(|ns| ns / 1_000_000_000),
            Some(2)
        );
    }
}

#[test]
fn what_a_program_does_with_the_system_comes_out_as_natively() {
    let scratch = crate_with("system", "", SYSTEM);
    let in_time = |clock| {
        let ran = json(&scratch, &["--clock", clock]);
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
    let scratch = crate_with("aborting", "", "");
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
