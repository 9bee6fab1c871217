//! What is said when a signal that comes of a mistake ends the process.

mod common;

use std::ffi::{c_int, c_void};
use std::fmt;
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, Command, Output};
use std::{env, panic, thread};

use common::{run_to_the_end, spawn, world};
use conan_kernel::{Crash, Frame, Reporter, report_crashes};

const SIGABRT: i32 = 6;
const SIGSEGV: i32 = 11;
const SIGTERM: i32 = 15;

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn signal(signal: c_int, handler: usize) -> usize;
    fn raise(signal: c_int) -> c_int;
    fn mmap(
        at: usize,
        size: usize,
        access: c_int,
        how: c_int,
        file: c_int,
        from: i64,
    ) -> *mut c_void;
    fn atexit(function: extern "C" fn()) -> c_int;
    fn _exit(code: c_int) -> !;
    fn mprotect(at: *mut c_void, size: usize, access: c_int) -> c_int;
}

struct Telling;

impl Reporter for Telling {
    fn describe(&self, crash: &Crash<'_>, text: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(text, "{crash:?}")
    }

    fn see(&self, frames: &mut Vec<Frame>) {
        frames.retain(|frame| frame.name.starts_with("crashes::"));
    }

    fn end(&self) {
        eprintln!("at last");
    }
}

#[inline(never)]
fn overflow(depth: u64) -> u64 {
    let frame = black_box([depth; 50]);
    if depth == u64::MAX {
        return 0;
    }
    overflow(depth + 1) + frame[7]
}

#[inline(never)]
fn abort() {
    process::abort();
}

#[inline(never)]
fn read_nowhere() {
    // SAFETY: none: it is what the test is about.
    unsafe { (black_box(8_usize) as *const u64).read_volatile() };
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("the second");
    }
}

/// A page, and a handler that makes it one that can be read.
static PAGE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
const PAGE_SIZE: usize = 4096;

extern "C" fn make_readable(_: c_int) {
    let page = PAGE.load(std::sync::atomic::Ordering::Relaxed);
    // SAFETY: the page is the test's own.
    unsafe { mprotect(page as *mut c_void, PAGE_SIZE, 1) };
}

/// What a managed thread does in a process of its own.
const JOBS: [(&str, fn()); 10] = [
    ("overflows", || {
        overflow(1);
    }),
    ("overflows in a thread of the component", || {
        let inner = thread::Builder::new().name("inner".to_owned());
        let inner = inner.spawn(|| overflow(1)).expect("it can be started");
        let _ = inner.join();
    }),
    ("aborts", abort),
    ("raises an abort", || {
        // SAFETY: numbers only.
        unsafe { raise(SIGABRT) };
    }),
    ("reads nowhere", read_nowhere),
    ("panics twice", || {
        let _panics = PanicsWhenDropped;
        panic!("the first");
    }),
    ("repairs", || {
        // SAFETY: a page of our own, and a handler that makes it readable.
        unsafe {
            let page = mmap(0, PAGE_SIZE, 0, 0x22, -1, 0);
            PAGE.store(page as usize, std::sync::atomic::Ordering::Relaxed);
            signal(SIGSEGV, make_readable as *const () as usize);
            assert_eq!(black_box(page.cast::<u64>()).read_volatile(), 0);
        }
    }),
    ("has a child that aborts", || {
        // SAFETY: the child does nothing but abort.
        unsafe {
            let child = fork();
            if child == 0 {
                process::abort();
            }
            let mut status = 0;
            assert_eq!(waitpid(child, &raw mut status, 0), child);
            assert_eq!(status & 0x7f, SIGABRT);
        }
    }),
    ("exits", || {
        extern "C" fn last() {
            let is_managed = conan_kernel::current_thread().is_some();
            // SAFETY: ends the process.
            unsafe { _exit(if is_managed { 3 } else { 4 }) };
        }
        // SAFETY: the function is one.
        assert_eq!(unsafe { atexit(last) }, 0);
        process::exit(5);
    }),
    ("is terminated", || {
        // SAFETY: numbers only.
        unsafe { raise(SIGTERM) };
    }),
];

const WHAT: &str = "CONAN_TEST_CRASHES";

#[test]
#[ignore = "a process that others start"]
fn a_process_that_crashes() {
    let Ok(what) = env::var(WHAT) else { return };
    let (_, job) = JOBS.into_iter().find(|(name, _)| *name == what).unwrap();
    report_crashes(&Telling);
    panic::set_hook(Box::new(|_| {}));
    let mut world = world();
    spawn(&mut world, "other", thread::yield_now);
    spawn(&mut world, "crashes", move || {
        conan_kernel::set_tag(7);
        job();
    });
    run_to_the_end(&mut world);
    println!("went on");
    process::exit(0);
}

fn run(what: &str, handover: &str) -> (Output, String) {
    let mut command = Command::new(env::current_exe().expect("there is a path"));
    command.args([
        "--ignored",
        "--exact",
        "--nocapture",
        "a_process_that_crashes",
    ]);
    command.env(WHAT, what).env("CONAN_HANDOVER", handover);
    let output = command.output().expect("it can be started");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, stderr)
}

#[track_caller]
fn crashes(what: &str, handover: &str, signal: i32, said: &[&str]) {
    let (output, stderr) = run(what, handover);
    assert_eq!(output.status.signal(), Some(signal), "{what}: {stderr}");
    for part in said {
        assert!(
            stderr.contains(part),
            "{what} on {handover}: no {part:?} in {stderr}"
        );
    }
    assert!(
        stderr.ends_with("at last\n"),
        "{what} on {handover}: {stderr}"
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn an_overflow_is_told_with_its_thread_and_its_frames() {
    for handover in ["", "threads"] {
        let said = [
            "thread 'crashes' ",
            " has overflowed its stack\n",
            "fatal runtime error: stack overflow",
            "Crash { signal: \"SIGABRT\", thread: Some(\"crashes\"), tag: 7 }\n",
            "crashes.rs:",
            " in crashes::overflow\n",
        ];
        crashes("overflows", handover, SIGABRT, &said);
        let said = [
            "thread 'inner' ",
            " has overflowed its stack\n",
            "Crash { signal: \"SIGABRT\", thread: None, tag: 0 }\n",
            " in crashes::overflow\n",
        ];
        let what = "overflows in a thread of the component";
        crashes(what, handover, SIGABRT, &said);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn what_else_comes_of_a_mistake_is_told_with_its_frames() {
    for handover in ["", "threads"] {
        let said = [
            "signal: \"SIGABRT\", thread: Some(\"crashes\"), tag: 7",
            " in crashes::abort\n",
        ];
        crashes("aborts", handover, SIGABRT, &said);
        crashes("raises an abort", handover, SIGABRT, &said[..1]);
        let said = [said[0], "in crashes::JOBS::"];
        crashes("panics twice", handover, SIGABRT, &said);
    }
    let said = [
        "signal: \"SIGSEGV\", thread: Some(\"crashes\"), tag: 7",
        " in crashes::read_nowhere\n",
    ];
    crashes("reads nowhere", "", SIGSEGV, &said);
    crashes("reads nowhere", "threads", SIGSEGV, &said);
}

#[test]
fn a_handler_of_the_program_that_repairs_what_is_wrong_is_called_alone() {
    for handover in ["", "threads"] {
        let (output, stderr) = run("repairs", handover);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("went on"));
        assert_eq!(stderr, "");
    }
}

#[test]
fn a_child_that_aborts_is_not_reported() {
    let (output, stderr) = run("has a child that aborts", "");
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(stderr, "");
}

#[test]
fn a_signal_that_comes_of_no_mistake_is_not_reported() {
    let (output, stderr) = run("is terminated", "");
    assert_eq!(output.status.signal(), Some(SIGTERM), "{stderr}");
    assert_eq!(stderr, "");
}

#[test]
fn a_thread_that_exits_the_process_keeps_its_turn_to_the_end() {
    for handover in ["", "threads"] {
        let (output, stderr) = run("exits", handover);
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("went on"));
    }
}
