//! `cargo conan test`: what a test finds at random is the same each time, unless
//! somebody wants the system's.

use std::process::Command;

use conan_integration::{Run, Scratch, crate_with, json, result, results, use_the_runner};
use serde_json::Value;

const AT_RANDOM: &str = r#"#![cfg(test)]

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn getrandom(buffer: *mut u8, size: usize, flags: u32) -> isize;
    fn getentropy(buffer: *mut u8, size: usize) -> i32;
    fn syscall(number: isize, ...) -> isize;
}

#[cfg(target_arch = "x86_64")]
const GETRANDOM: isize = 318;
#[cfg(target_arch = "aarch64")]
const GETRANDOM: isize = 278;

#[test]
fn numbers() {
    let set: HashSet<u32> = (0..20).collect();
    println!("set: {set:?}");
    let mut numbers = [[0_u8; 12]; 5];
    unsafe {
        assert_eq!(getrandom(numbers[0].as_mut_ptr(), 12, 0), 12);
        assert_eq!(getentropy(numbers[1].as_mut_ptr(), 12), 0);
        assert_eq!(syscall(GETRANDOM, numbers[2].as_mut_ptr(), 12_usize, 1_usize), 12);
    }
    File::open("/dev/urandom").unwrap().read_exact(&mut numbers[3]).unwrap();
    let other = thread::spawn(|| {
        let mut numbers = [0; 12];
        File::open("/dev/random").unwrap().read_exact(&mut numbers).unwrap();
        numbers
    });
    numbers[4] = other.join().unwrap();
    for (place, one) in numbers.iter().enumerate() {
        assert!(!numbers[..place].contains(one), "{numbers:?}");
        println!("{one:?}");
    }
}

#[test]
fn others_draw_others() {
    let mut numbers = [0_u8; 12];
    unsafe { assert_eq!(getrandom(numbers.as_mut_ptr(), 12, 0), 12) };
    println!("{numbers:?}");
    println!("{:?}", Instant::now());
}

#[test]
fn no_numbers() {
    println!("{:?}", Instant::now());
}

static HERE: Mutex<()> = Mutex::new(());

#[test]
fn addresses() {
    let heap = Box::new([0_u8; 100]);
    let other = thread::spawn(|| {
        thread::sleep(Duration::from_secs(5));
        let (local, heap) = (0_u8, vec![0_u8; 5000]);
        println!("{:p} {:p}", &raw const local, heap.as_ptr());
    });
    other.join().unwrap();
    let large = vec![0_u8; 1 << 20];
    println!("{:p} {:p} {:p} {:p}", &raw const *heap, &raw const HERE, &raw const heap, large.as_ptr());
}
"#;

fn run(scratch: &Scratch, words: &[&str]) -> Vec<Value> {
    let ran = json(scratch, words);
    ran.exits_with(0);
    results(&ran).0
}

/// What a test has printed, without what says nothing of it.
#[track_caller]
fn printed(tests: &[Value], name: &str) -> String {
    let test = result(tests, name);
    let text = test["stdout"].as_str();
    text.unwrap_or_else(|| panic!("{test:#}")).to_owned()
}

#[test]
fn random_numbers_are_the_same_each_time_unless_the_system_is_asked() {
    let scratch = crate_with("at_random", "", AT_RANDOM);
    let first = run(&scratch, &["numbers"]);
    let again = run(&scratch, &["numbers"]);
    assert_eq!(result(&first, "numbers")["exact"], true);
    assert_eq!(printed(&first, "numbers"), printed(&again, "numbers"));
    let trace = |tests: &[Value]| result(tests, "numbers")["trace"].clone();
    assert_eq!(trace(&first), trace(&again));

    // Every one of them is another with another seed, and by the system.
    let seven = run(&scratch, &["numbers", "--random", "7"]);
    let system = run(&scratch, &["numbers", "--random=system"]);
    let [first, seven, by_chance] = [&first, &seven, &system].map(|it| printed(it, "numbers"));
    let numbers = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with(['s', '[']));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(numbers(&first).len(), 6, "{first}");
    for (place, line) in numbers(&first).iter().enumerate() {
        assert_ne!(line, &numbers(&seven)[place]);
        assert_ne!(line, &numbers(&by_chance)[place]);
    }

    let drawn = result(&system, "numbers");
    assert_eq!(drawn["exact"], false, "{drawn:#}");
    let why = drawn["not_exact"].to_string();
    assert!(why.contains("drew the system's random numbers"), "{why}");
}

#[test]
fn each_test_has_random_numbers_of_its_own() {
    let scratch = crate_with("at_random_each", "", AT_RANDOM);
    let tests = run(&scratch, &[]);
    let others = printed(&tests, "others_draw_others");
    let others = others.lines().find(|line| line.starts_with('['));
    let others = others.expect("it prints a list");
    assert!(!printed(&tests, "numbers").contains(others), "{tests:#?}");

    // Some draw them from the clock.
    let clock = |tests: &[Value], name: &str| {
        let printed = printed(tests, name);
        let line = printed.lines().find(|line| line.starts_with("Instant"));
        line.expect("it prints the time").to_owned()
    };
    let here = clock(&tests, "no_numbers");
    assert_eq!(here, clock(&run(&scratch, &[]), "no_numbers"));
    assert_ne!(here, clock(&tests, "others_draw_others"));
    let seven = run(&scratch, &["no_numbers", "--random", "7"]);
    assert_ne!(here, clock(&seven, "no_numbers"));
}

#[test]
fn the_environment_says_it_too_and_what_is_neither_is_refused() {
    let scratch = crate_with("at_random_set", "", AT_RANDOM);
    let words = ["test", "--lib", "--message-format", "json", "numbers"];
    let set = |value: &str, words: &[&str]| {
        let mut conan = scratch.conan();
        conan.args(words).env("CONAN_RANDOM", value);
        conan.ran()
    };
    let seven = set("7", &words);
    seven.exits_with(0);
    let by_option = run(&scratch, &["numbers", "--random", "7"]);
    let seven = printed(&results(&seven).0, "numbers");
    assert_eq!(seven, printed(&by_option, "numbers"));

    // The option goes first.
    let both = set("8", &[&words[..], &["--random", "7"]].concat());
    assert_eq!(seven, printed(&results(&both).0, "numbers"));

    set("chance", &words).exits_with(2).says(
        "`CONAN_RANDOM` is a number, the seed of all random numbers, or `system`; not `chance`",
    );
    let ran = scratch.conan().args(["test", "--random", "-1"]).ran();
    ran.exits_with(2).says("`--random` is a number");
    let ran = scratch.conan().args(["test", "--random"]).ran();
    ran.exits_with(2).says("`--random` needs a value");

    use_the_runner(&scratch);
    let by_runner = |seed: &str| {
        let mut test = scratch.cargo_test();
        test.args(["--lib", "others_draw", "--", "--nocapture"]);
        let ran = test.env("CONAN_RANDOM", seed).ran();
        let line = ran.stdout.lines().find(|line| line.starts_with('['));
        line.unwrap_or_else(|| panic!("{ran}")).to_owned()
    };
    assert_eq!(by_runner("7"), by_runner("7"));
    assert_ne!(by_runner("7"), by_runner("8"));
}

/// Some containers let nobody choose.
fn addresses_can_be_fixed() -> bool {
    let tried = Command::new("setarch").args(["-R", "true"]).status();
    tried.is_ok_and(|status| status.success())
}

#[test]
fn memory_is_where_it_was_the_last_time() {
    let scratch = crate_with("at_addresses", "", AT_RANDOM);
    let addresses = || printed(&run(&scratch, &["addresses"]), "addresses");
    let first = addresses();
    assert_eq!(first.matches("0x").count(), 6, "{first}");
    if addresses_can_be_fixed() {
        for _ in 0..5 {
            assert_eq!(first, addresses());
        }
    }
}
