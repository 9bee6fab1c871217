//! `cargo conan test`: a test runs as a copy of a process that has loaded its
//! binary, where that can be made, and cannot tell.
#![cfg(target_os = "linux")]

use std::process::Command;

use conan_integration::{Run, Scratch, crate_with, json, result, results};

/// The long name is put in for LONG.
const COPIED: &str = r#"#![cfg(test)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// The name of the process that has made this one.
fn maker() -> String {
    let maker = std::os::unix::process::parent_id();
    let name = fs::read_to_string(format!("/proc/{maker}/comm")).unwrap();
    name.trim().to_owned()
}

fn sleeps() {
    let begun = Instant::now();
    thread::sleep(Duration::from_secs(3600));
    assert_eq!(begun.elapsed().as_secs(), 3600);
}

#[test]
fn is_a_copy_of_the_same_program() {
    let own = fs::read_to_string("/proc/self/comm").unwrap();
    let own = env::current_exe().unwrap().file_name().unwrap().to_string_lossy()[..own.trim().len().min(15)].to_owned();
    assert_eq!(maker(), own);
    sleeps();
}

#[test]
fn LONG() {
    assert_eq!(maker(), "cargo-conan");
    sleeps();
}

#[test]
fn LONG_fails() {
    sleeps();
    panic!("at the end");
}

#[test]
fn sees_its_own_arguments() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    assert_eq!(arguments, ["--nocapture", "--exact", "--include-ignored", "sees_its_own_arguments"]);
}

#[test]
fn has_three_files_and_no_settings() {
    let link = |number: &str| fs::read_link(format!("/proc/self/fd/{number}"));
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let open: Vec<_> = fs::read_dir("/proc/self/fd").unwrap().map(name).collect();
    for number in open {
        let number = number.to_str().unwrap();
        // What was inherited from whoever runs this is nobody's fault; what was opened
        // since then is closed in children.
        let Ok(about) = fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else {
            continue;
        };
        let flags = about.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
        let is_new = u32::from_str_radix(flags.trim(), 8).unwrap() & 0o2_000_000 != 0;
        assert!(!is_new, "{number} is {:?}", link(number));
    }
    assert_eq!(link("0").unwrap().to_str(), Some("/dev/null"));
    assert!(link("1").unwrap().to_str().unwrap().starts_with("pipe:"));
    assert!(link("2").unwrap().to_str().unwrap().starts_with("pipe:"));
    assert_ne!(link("1").unwrap(), link("2").unwrap());
    let ours = |name: &str| name.starts_with("CONAN_") || name == "LD_PRELOAD";
    assert!(!env::vars().any(|(name, _)| ours(&name)));
}

static COUNT: AtomicU32 = AtomicU32::new(0);

fn is_the_first() {
    assert_eq!(COUNT.fetch_add(1, Ordering::SeqCst), 0);
    assert!(env::var_os("WAS_HERE").is_none());
    unsafe { env::set_var("WAS_HERE", "") };
    let folder = env::current_dir().unwrap();
    assert!(folder.join("Cargo.toml").exists());
    env::set_current_dir("/").unwrap();
}

#[test]
fn one_is_the_first() { is_the_first(); }

#[test]
fn another_is_the_first_too() { is_the_first(); }

#[test]
fn leaves_by_itself() { std::process::exit(3); }

#[test]
fn ends_the_one_who_made_it() {
    let maker = std::os::unix::process::parent_id().to_string();
    std::process::Command::new("kill").args(["-KILL", &maker]).status().unwrap();
}
"#;

/// A crate with tests that look at how they were begun.
fn copied(name: &str) -> Scratch {
    // 1001 bytes: one more than there is room for.
    let long = format!("name_{}", "g".repeat(996));
    crate_with(name, "", &COPIED.replace("LONG", &long))
}

#[test]
fn a_copy_cannot_tell_and_what_cannot_be_copied_runs_too() {
    let scratch = copied("copied");
    let skip = ["--", "--skip", "ends_the_one_who_made_it"];
    let ran = json(&scratch, &skip);
    ran.exits_with(101);
    let (tests, totals) = results(&ran);
    for test in &tests {
        let name = test["test"].as_str().expect("a name");
        let fails = name.ends_with("_fails") || name == "leaves_by_itself";
        let expected = if fails { "failed" } else { "passed" };
        assert_eq!(test["verdict"], expected, "{test:#}");
        assert_eq!(test["exact"], true, "{test:#}");
        if name.starts_with("name_") || name.starts_with("is_a_copy") {
            let time = test["virtual_ns"].as_u64().expect("it is known");
            assert_eq!(time / 1_000_000, 3_600_000, "{test}");
        }
    }
    assert_eq!(totals["passed"], 6);
    assert_eq!(totals["failed"], 2);
}

/// More than a pipe holds, on both sides.
const SAYS_A_LOT: &str = r#"
#[test]
fn says_a_lot() {
    let line = "0123456789abcde\n".repeat(1 << 12);
    let (out, err) = (line.clone(), line);
    let out = std::thread::spawn(move || (0..50).for_each(|_| print!("{out}")));
    (0..50).for_each(|_| eprint!("{err}"));
    out.join().unwrap();
    println!("THE END");
    panic!("of it all");
}
"#;

#[test]
fn all_that_a_copy_says_arrives() {
    let scratch = crate_with("says_a_lot", "", SAYS_A_LOT);
    let ran = json(&scratch, &[]);
    let (tests, _) = results(&ran);
    let says = result(&tests, "says_a_lot");
    assert_eq!(says["verdict"], "failed");
    for (stream, end) in [("stdout", "THE END"), ("stderr", "of it all")] {
        let text = says[stream].as_str().expect("it is text");
        let lines = text.matches("0123456789abcde\n").count();
        assert_eq!(lines, 50 << 12, "{stream}");
        assert!(text.contains(end), "{stream}");
    }
}

/// What ended it is unknown then: that must not be a pass.
#[test]
fn a_test_that_ends_the_one_who_made_it_does_not_pass() {
    let scratch = copied("parricide");
    let ran = scratch
        .conan()
        .args(["test", "--lib", "e", "--", "--test-threads", "1"])
        .ran();
    ran.exits_with(101)
        .says("cannot run parricide ends_the_one_who_made_it")
        .says("the process that has made it is gone")
        // The others run on.
        .says("PASS")
        .says("one_is_the_first");
}

/// A library that is loaded first and starts a thread: of such a process no
/// copies can be made.
const THREADED: &str = r#"
#[unsafe(link_section = ".init_array")]
#[used]
static START: extern "C" fn() = {
    extern "C" fn start() {
        std::thread::spawn(|| loop { std::thread::park() });
    }
    start
};
"#;

const MADE_ITSELF: &str = r#"#![cfg(test)]

#[test]
fn is_no_copy() {
    let maker = std::os::unix::process::parent_id();
    let name = std::fs::read_to_string(format!("/proc/{maker}/comm")).unwrap();
    assert_eq!(name.trim(), "cargo-conan");
    std::thread::sleep(std::time::Duration::from_secs(3600));
}

#[test]
fn is_no_copy_and_fails() {
    is_no_copy();
    panic!("as it must");
}
"#;

#[test]
fn a_process_with_two_threads_before_it_begins_is_not_copied() {
    let threaded = crate_with("threaded", "[lib]\ncrate-type = [\"cdylib\"]\n", THREADED);
    let built = Command::new(env!("CARGO"))
        .args(["build", "--manifest-path"])
        .arg(threaded.root().join("Cargo.toml"))
        .arg("--target-dir")
        .arg(threaded.root().join("target"))
        .ran();
    built.exits_with(0);
    let library = threaded.root().join("target/debug/libthreaded.so");
    assert!(library.exists(), "{built}");

    let scratch = crate_with("made_itself", "", MADE_ITSELF);
    // Cargo does without it.
    scratch.conan().args(["test", "--lib", "--no-run"]).ran();
    let mut command = scratch.conan();
    command.args(["test", "--lib", "--message-format", "json"]);
    let ran = command.env("LD_PRELOAD", &library).ran();
    ran.exits_with(101);
    let (tests, _) = results(&ran);
    assert_eq!(result(&tests, "is_no_copy")["verdict"], "passed");
    let fails = result(&tests, "is_no_copy_and_fails");
    assert_eq!(fails["verdict"], "failed");
    assert!(
        fails["stderr"].to_string().contains("as it must"),
        "{fails:#}"
    );
    for test in &tests {
        let time = test["virtual_ns"].as_u64().expect("it is known");
        assert_eq!(time / 1_000_000, 3_600_000, "{test}");
    }
}
