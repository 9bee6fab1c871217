//! `cargo conan test`: tests that know nothing of us, neither changed nor
//! rebuilt, and what comes of them.

use std::time::{Duration, Instant};

use conan_integration::{Run, Scratch, crate_with, json, result, results, use_the_runner};
use serde_json::Value;

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
    let scratch = crate_with("sleepy", "", SLEEPY);
    let begun = Instant::now();
    let ran = scratch.conan().arg("test").ran();
    ran.exits_with(0)
        .says("PASS")
        .says("sleepy tests::an_hour_passes")
        .says("1 test run: 1 passed, 0 failed, 0 ignored; 1 of 1 exact")
        .says("3600.000s of virtual time");
    assert!(begun.elapsed() < Duration::from_secs(3600), "{ran}");

    let ran = json(&scratch, &[]);
    ran.exits_with(0);
    let (tests, totals) = results(&ran);
    let test = result(&tests, "an_hour_passes");
    assert_eq!(test["verdict"], "passed");
    assert_eq!(test["exact"], true);
    let time = test["virtual_ns"].as_u64().expect("it is known");
    assert_eq!(time / 1_000_000, 3_600_000, "{test}");
    assert_eq!(totals["passed"], 1);
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
    let scratch = crate_with("polls", "", POLLS);
    let ran = json(&scratch, &[]);
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
    let scratch = crate_with("broken", "", "#[test]\nfn broken() { missing(); }\n");
    let ran = scratch.conan().arg("test").ran();
    ran.exits_with(101).says("cannot find function `missing`");
    scratch.write("src/lib.rs", "");
    let ran = scratch
        .conan()
        .args(["test", "--message-format", "xml"])
        .ran();
    ran.exits_with(2)
        .says("invalid value `xml` for `--message-format`");
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
    let scratch = crate_with("whole", "", "");
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
    let scratch = crate_with("runner", "", SLEEPY);
    use_the_runner(&scratch);
    let ran = scratch.cargo_test().args(["--lib", "an_hour"]).ran();
    ran.exits_with(0).prints("1 passed");
    let ran = scratch.cargo_test().args(["--lib", "--", "--list"]).ran();
    ran.exits_with(0).prints_line("tests::an_hour_passes: test");
}

const LOADED: &str = "\
/// ```
/// assert!(!loaded::is_engine_here());
/// ```
pub fn is_engine_here() -> bool {
    std::fs::read_to_string(\"/proc/self/maps\").unwrap().contains(\"conan_preload\")
}

#[test]
fn tests_have_it() {
    assert!(is_engine_here());
}
";

#[test]
fn the_runner_leaves_programs_benchmarks_and_doc_tests_as_they_are() {
    let scratch = crate_with("loaded", "", LOADED);
    let manifest = scratch.read("Cargo.toml");
    let target = "\n[[bench]]\nname = \"own\"\nharness = false\n";
    scratch.write("Cargo.toml", &(manifest + target));
    let main = "fn main() { println!(\"engine: {}\", loaded::is_engine_here()); }\n";
    scratch.write("src/main.rs", main);
    scratch.write("benches/own.rs", main);
    use_the_runner(&scratch);
    let ran = scratch.cargo_test().ran();
    ran.exits_with(0)
        .prints("test tests_have_it ... ok")
        .prints("test src/lib.rs - is_engine_here (line 1) ... ok");
    for command in ["run", "bench"] {
        let ran = scratch.cargo().args([command, "--quiet"]).ran();
        ran.exits_with(0).prints("engine: false");
    }
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
    let scratch = crate_with("race", "", RACE);
    let runs: Vec<Value> = (0..20)
        .map(|_| {
            let ran = json(&scratch, &[]);
            ran.exits_with(0);
            let (tests, _) = results(&ran);
            let mut test = result(&tests, "workers_race").clone();
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
