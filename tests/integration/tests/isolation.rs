//! Sequences do no harm: not to each other, not to other tests, not to the
//! process that they run in.

use conan_integration::{Reports, Run, Scratch, place};

/// Sequences that fail in every way, among sequences that pass.
const MIXED: &str = r#"
#ticktime 20
#cut c Counter
#cut l Latch

#top
    use CRATE::{Counter, Latch};
#end

#begin a_panic_as_expected
    #tick
        #thread <breaking>
            #excMonitor c.fail(); # panic "is broken" #end
        #end
    #end
#end

#begin b_panic_nobody_expects
    #tick
        #thread <breaking>
            #excMonitor c.fail(); #end
        #end
        #thread <loose>
            panic!("a loose thread");
        #end
    #end
#end

#begin c_never_wakes
    #tick
        #thread <sleeper>
            l.wait();
        #end
        #thread <busy>
            while c.add(0) == 0 {}
        #end
    #end
#end

#begin d_passes_after_all_that
    #tick
        #thread
            #valueCheck c.add(1) # 1 #end
        #end
    #end
#end
"#;

/// The lines with which std announces a panic.
fn announced(output: &str) -> Vec<&str> {
    let lines = output.lines().filter(|line| line.starts_with("thread '"));
    lines.filter(|line| line.contains("panicked at")).collect()
}

#[test]
fn panics_stay_in_their_reports_and_the_test_binary_ends() {
    let scratch = Scratch::new("mixed_sequences");
    let path = "tests/scripts/mixed.conan";
    let script = scratch.script(path, MIXED);
    let test = format!("tests/{}.rs", scratch.name());
    let ordinary = "#[test]\nfn ordinary() {\n    println!(\"ordinary output\");\n}\n\n\
        #[test]\nfn ordinary_panic() {\n    panic!(\"an ordinary panic\");\n}\n";
    scratch.write(&test, &format!("{}\n{ordinary}", scratch.read(&test)));

    // With threads suspended and busy for good, it comes to its end.
    for nocapture in [false, true] {
        let mut command = scratch.cargo_test();
        command.env("CONAN_PATIENCE", "1").arg("--tests").arg("--");
        if nocapture {
            command.arg("--nocapture");
        }
        let ran = command.ran();
        ran.fails();
        ran.prints("3 passed; 3 failed");
        let output = format!("{}{}", ran.stdout, ran.stderr);
        let panics = announced(&output);
        assert_eq!(panics.len(), 1, "{panics:?}; {ran}");
        assert!(panics[0].contains("ordinary_panic"), "{panics:?}; {ran}");

        // The report quotes message and place of each, once.
        let quoted = |text: &str| output.matches(text).count();
        assert_eq!(quoted("panic: the counter is broken"), 1, "{ran}");
        assert_eq!(quoted("panic: a loose thread"), 1, "{ran}");
        let loose = place(&script, "panic!(\"a loose thread\")");
        assert!(output.contains(&format!("{path}:{loose}\n")), "{ran}");
        let broken = place(
            &scratch.read("src/lib.rs"),
            "panic!(\"the counter is broken\")",
        );
        assert!(
            output.contains(&format!("panicked at src/lib.rs:{broken}\n")),
            "{ran}"
        );
        // Both threads that have not ended, with the lines that they are at.
        for (thread, code) in [("sleeper", "l.wait()"), ("busy", "while c.add(0)")] {
            let at = place(&script, code);
            assert!(output.contains(&format!("thread {thread}:")), "{ran}");
            assert!(output.contains(&format!("{path}:{at}\n")), "{ran}");
        }
    }
}

#[test]
fn failing_sequences_do_not_harm_the_next_ones() {
    let scratch = Scratch::new("mixed_run");
    scratch.script("tests/scripts/mixed.conan", MIXED);
    let ran = scratch
        .conan()
        .env("CONAN_PATIENCE", "1")
        .args(["run", "--message-format", "json", "tests/scripts"])
        .ran();
    ran.exits_with(1);
    let reports = Reports::of(&ran);
    assert_eq!(
        reports.failed(),
        ["b_panic_nobody_expects", "c_never_wakes"],
        "{ran}"
    );
    assert_eq!(reports.sequences.len(), 4, "{ran}");
    let totals = serde_json::json!({
        "test_cases": 3, "value_errors": 0, "exception_errors": 2, "liveness_errors": 2,
    });
    assert_eq!(reports.totals, totals, "{ran}");
    assert!(announced(&ran.stderr).is_empty(), "{ran}");
}

/// The first sequence's thread is let go by the second, long abandoned.
const LATE: &str = r#"
#ticktime 20

#top
    use CRATE::Latch;
    static LATCH: Latch = Latch::new();
    static DONE: Latch = Latch::new();
#end

#begin abandons_a_thread
    #tick
        #thread <late>
            LATCH.wait();
            #excMonitor DONE.open(); #end
            #valueCheck 1 # 2 #end
            panic!("far too late");
        #end
    #end
#end

#begin lets_it_go
    #tick
        #thread
            LATCH.open();
            #excMonitor DONE.wait(); #end
        #end
    #end
    #tick
    #end
    #tick
        #thread
            #valueCheck time() # 3 #end
        #end
    #end
#end
"#;

// On a clock that runs abandoned threads no further it would never wake.
#[test]
fn an_abandoned_thread_that_wakes_later_is_not_heard() {
    let scratch = Scratch::new("late_thread");
    scratch.script("tests/scripts/late.conan", LATE);
    let ran = scratch
        .conan()
        .args([
            "run",
            "--clock",
            "wall",
            "--message-format",
            "json",
            "tests/scripts",
        ])
        .ran();
    ran.exits_with(1);
    assert!(announced(&ran.stderr).is_empty(), "{ran}");
    let reports = Reports::of(&ran);
    assert_eq!(reports.failed(), ["abandons_a_thread"], "{ran}");
    let errors = reports.errors("abandons_a_thread");
    assert_eq!(errors.len(), 1, "{ran}");
    assert_eq!(errors[0]["kind"], "liveness", "{ran}");
    assert_eq!(
        reports.totals["test_cases"], 2,
        "the late templates do not count; {ran}"
    );
}

/// Panics in every place that is not a thread of the script.
const BOMBS: &str = r#"
#ticktime 20
#cut b Bomb { at: Mutex::new(Some(1)) }

#top
    use std::sync::Mutex;
    struct Bomb { at: Mutex<Option<u32>> }
    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.at.lock().unwrap().is_some() { panic!("the bomb went off"); }
        }
    }
#end

#begin drops_a_bomb
    #tick
        #thread
            #valueCheck *b.at.lock().unwrap() # Some(1) #end
        #end
    #end
#end

#begin a_thread_drops_it
    #tick
        #thread <careless> takes b
            #excMonitor drop(b); # panic "went off" #end
        #end
    #end
#end

#begin its_end_drops_it
    #tick
        #thread <ending> takes b
            let _b = b;
        #end
    #end
#end

#begin is_defused
    #tick
        #thread
            #excMonitor b.at.lock().unwrap().take(); #end
        #end
    #end
#end
"#;

#[test]
fn a_panicking_destructor_is_an_exception_error_of_its_own_sequence() {
    let scratch = Scratch::new("bombs");
    scratch.script("tests/scripts/bombs.conan", BOMBS);
    let ran = scratch
        .conan()
        .args(["run", "--message-format", "json", "tests/scripts"])
        .ran();
    ran.exits_with(1);
    let reports = Reports::of(&ran);
    assert_eq!(
        reports.failed(),
        ["drops_a_bomb", "its_end_drops_it"],
        "{ran}"
    );
    for sequence in reports.failed() {
        let errors = reports.errors(sequence);
        assert_eq!(errors.len(), 1, "{ran}");
        assert_eq!(errors[0]["kind"], "exception", "{ran}");
        assert_eq!(errors[0]["actual"], "panic: the bomb went off", "{ran}");
    }
    assert!(announced(&ran.stderr).is_empty(), "{ran}");
}

/// A script whose second sequence runs this code.
fn second_runs(code: &str) -> String {
    let sequence = |name: &str, code: &str| {
        format!(
            "#begin {name}\n    #tick\n        #thread\n            {code}\n        #end\n    #end\n#end\n"
        )
    };
    let fine = "#valueCheck 1 + 1 # 2 #end";
    let sequences = [
        sequence("before", fine),
        sequence("last", code),
        sequence("after", fine),
    ];
    format!("#ticktime 20\n{}", sequences.concat())
}

#[test]
fn a_component_that_ends_the_process_makes_the_run_fail_and_say_so() {
    let scratch = Scratch::new("ends_the_process");
    let path = "tests/scripts/ending.conan";
    let run = |code: &str, format: &str| {
        scratch.script(path, &second_runs(code));
        let ran = scratch
            .conan()
            .args(["run", "--message-format", format, path])
            .ran();
        ran.exits_with(1);
        ran
    };
    let which = "in the sequence `last` (tests/scripts/ending.conan:9), \
                 before 2 of the sequences had reported";
    let ran = run("std::process::abort();", "human");
    ran.prints("before ... ok").prints_line("Test cases: 1");
    ran.says("signal: 6").says(which);
    if cfg!(target_os = "linux") {
        ran.says(
            " at line 12 of the script, while the sequence `last` (tests/scripts/ending.conan:9) ran",
        );
    }

    let ran = run("std::process::exit(0);", "human");
    ran.prints("before ... ok").says("exit code 0").says(which);

    // Whoever reads the data alone must see it, too.
    let ran = run("std::process::exit(0);", "json");
    let reports = Reports::of(&ran);
    assert_eq!(reports.sequences.len(), 1, "{ran}");
    ran.prints("broken_off")
        .prints("\"sequence\":\"last\"")
        .never_mentions("begins");
    run("std::process::exit(0);", "short").says(which);
    run("std::process::exit(0);", "github")
        .prints("::error file=tests/scripts/ending.conan,line=9::the driver ended");

    // At the end of the process nothing runs any more.
    let at_exit = "unsafe extern \"C\" { fn atexit(f: extern \"C\" fn()) -> i32; } \
                   extern \"C\" fn end() { std::process::abort() } unsafe { atexit(end) };";
    run(at_exit, "human").says("after all sequences had reported");

    // Explored, too.
    scratch.script(path, &second_runs("std::process::abort();"));
    let words = ["explore", "-n", "20", path];
    let ran = scratch.conan().args(words).ran();
    ran.exits_with(1)
        .says("in the sequence `last` (tests/scripts/ending.conan:9), before 2 of the sequences were explored");
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_component_that_crashes_says_why_and_where() {
    let scratch = Scratch::new("crashes");
    let path = "tests/scripts/crashing.conan";
    scratch.write("src/lib.rs", CRASHING);
    let run = |call: &str, clock: &str| {
        scratch.script(path, &second_runs(call));
        let ran = scratch.conan().args(["run", "--clock", clock, path]).ran();
        ran.exits_with(1);
        ran
    };
    for clock in ["virtual", "wall"] {
        let ran = run("CRATE::panic_twice();", clock);
        for text in [
            "the first",
            "the second",
            "panic in a destructor",
            "src/lib.rs:3:",
        ] {
            ran.says(text);
        }
        ran.says("while the sequence `last`");
    }
    // A signal that a component raises is not lost, and its handlers are called.
    for clock in ["virtual", "wall"] {
        run("CRATE::send(15);", clock)
            .says("signal: 15 (SIGTERM)")
            .says("in the sequence `last`");
        let script = second_runs("#valueCheck CRATE::handles() # true #end");
        scratch.script(path, &script);
        let ran = scratch.conan().args(["run", "--clock", clock, path]).ran();
        ran.exits_with(0);
    }
    let ran = run("CRATE::overflow(1);", "virtual");
    ran.says(" has overflowed its stack")
        .says(" at line 12 of the script, while the sequence `last`")
        .says("src/lib.rs:")
        .says(" in crashes::overflow");
    let ran = run(
        "unsafe { (std::hint::black_box(8) as *const u8).read_volatile() };",
        "virtual",
    );
    ran.says("SIGSEGV in thread ")
        .says("at tests/scripts/crashing.conan:12:")
        .says("signal: 11");
}

/// Components that end their process.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const CRASHING: &str = r#"pub struct PanicsWhenDropped;
impl Drop for PanicsWhenDropped {
    fn drop(&mut self) { panic!("the second"); }
}
pub fn panic_twice() {
    let _panics = PanicsWhenDropped;
    panic!("the first");
}
pub fn overflow(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 50]);
    if depth == u64::MAX { 0 } else { overflow(depth + 1) + frame[7] }
}
unsafe extern "C" {
    fn raise(signal: i32) -> i32;
    fn signal(signal: i32, handler: usize) -> usize;
}
pub fn send(signal: i32) {
    unsafe { raise(signal) };
}
static IS_HANDLED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
extern "C" fn handle(_: i32) {
    IS_HANDLED.store(true, std::sync::atomic::Ordering::Relaxed);
}
pub fn handles() -> bool {
    unsafe { signal(10, handle as *const () as usize) };
    send(10);
    IS_HANDLED.load(std::sync::atomic::Ordering::Relaxed)
}
"#;

#[test]
fn what_a_component_prints_is_not_mixed_into_the_data() {
    let scratch = Scratch::new("noisy");
    let path = "tests/scripts/noisy.conan";
    let code = "println!(\"a line\");\n            print!(\"half a line\");\n            \
        eprintln!(\"an error\");\n            #valueCheck 1 # 2 #end";
    let script = scratch.script(path, &second_runs(code));
    let at = place(&script, "#valueCheck 1 # 2");
    let run = |format: &str| {
        let ran = scratch
            .conan()
            .args(["run", "--message-format", format, path])
            .ran();
        ran.exits_with(1);
        ran
    };
    // It is not lost, either.
    let ran = run("json");
    let reports = Reports::of(&ran);
    assert_eq!(reports.failed(), ["last"], "{ran}");
    ran.says("half a line").says("an error");

    let ran = run("short");
    let is_error = |line: &str| line.starts_with(&format!("{path}:{at}: value error: "));
    assert!(ran.stdout.lines().any(is_error), "{ran}");
    ran.prints_line("Test cases: 3");
    let ran = run("github");
    assert!(
        ran.stdout
            .lines()
            .any(|line| line.starts_with("::error file=")),
        "{ran}"
    );

    let ran = run("human");
    ran.prints("a line\n").prints("half a line");
    for line in [
        "Test cases: 3",
        "Value errors: 1",
        "Exception errors: 0",
        "Liveness errors: 0",
    ] {
        ran.prints_line(line);
    }

    // Under cargo test it belongs to the test that failed.
    let ran = scratch.cargo_test().arg("--tests").ran();
    ran.fails()
        .prints("half a line")
        .prints("2 passed; 1 failed");
}
