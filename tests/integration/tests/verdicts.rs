//! The scripts of this repository against right and wrong components: exit
//! code, kind of error, thread, tick and line.

use std::fmt::Write;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use conan_integration::{Ran, Reports, Run, Scratch, conan, workspace};
use serde_json::Value;

/// Runs in this repository, one at a time: they all use the same package.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static RUNNING: Mutex<()> = Mutex::new(());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The arguments for the clock that a run takes by itself, and for the one
/// that every system has.
const CLOCKS: [&[&str]; 2] = [&[], &["--clock", "wall"]];

#[test]
fn the_producer_consumer_monitor_passes_its_36_test_cases() {
    let _guard = one_at_a_time();
    for clock in CLOCKS {
        let mut command = conan(workspace());
        let ran = command
            .args(["run", "scripts/producer_consumer.conan"])
            .args(clock)
            .ran();
        ran.exits_with(0);
        let end = "\nTest cases: 36\nValue errors: 0\nException errors: 0\nLiveness errors: 0\n";
        assert!(ran.stdout.ends_with(end), "{ran}");
        let sequences = ran.stdout.lines().filter(|line| line.ends_with(" ... ok"));
        let sequences: Vec<&str> = sequences.collect();
        assert_eq!(sequences.len(), 5, "{ran}");
        // Each is shown with its line and its conditions.
        assert!(
            sequences[0].contains("second_sender_waits [C5 C6 C8 C9]"),
            "{ran}"
        );
    }
}

#[test]
fn the_clock_passes_its_18_test_cases() {
    let _guard = one_at_a_time();
    for clock in CLOCKS {
        let ran = conan(workspace())
            .args(["run", "scripts/clock.conan"])
            .args(clock)
            .ran();
        ran.exits_with(0);
        let end = "\nTest cases: 18\nValue errors: 0\nException errors: 0\nLiveness errors: 0\n";
        assert!(ran.stdout.ends_with(end), "{ran}");
    }
}

#[test]
fn a_script_from_elsewhere_runs_against_a_package_that_is_named() {
    let here = with_the_gallery("named_package");
    let elsewhere = Scratch::empty("elsewhere", "elsewhere");
    let script = elsewhere.write("faulty.conan", &against("WrongValue"));
    let path = elsewhere.root().join("faulty.conan");
    let mut command = here.conan();
    let ran = command
        .args(["run", "--package", here.name()])
        .arg(&path)
        .ran();
    ran.exits_with(1).prints_line("Value errors: 2");
    let line = line_of(&script, "m.receive() # 'a' #end  // C1");
    ran.prints(&format!("{}:{line}:13\n", path.display()));
}

/// A crate whose scripts can use the gallery's components.
fn with_the_gallery(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let gallery = workspace().join("tests/gallery");
    let gallery = gallery.display();
    scratch.manifest(
        "2024",
        &format!("conan-gallery = {{ path = '{gallery}' }}\n"),
    );
    scratch
}

/// `producer_consumer.conan`, with a component of `conan_gallery::faulty`.
fn against(component: &str) -> String {
    let script = fs::read_to_string(workspace().join("scripts/producer_consumer.conan")).unwrap();
    let right = "use conan_gallery::ProducerConsumer;";
    assert!(script.contains(right), "the script does not say {right:?}");
    let wrong = format!("use conan_gallery::faulty::{component} as ProducerConsumer;");
    script.replace(right, &wrong)
}

/// A crate with `producer_consumer.conan` against a faulty component in it.
fn faulty(name: &str, component: &str) -> (Scratch, String) {
    let scratch = with_the_gallery(name);
    let script = scratch.write("faulty.conan", &against(component));
    (scratch, script)
}

/// Runs it, for people and as data.
fn run(scratch: &Scratch, clock: &[&str]) -> (Ran, Reports) {
    let run = |format: &str| {
        let mut command = scratch.conan();
        command.args(["run", "--message-format", format, "faulty.conan"]);
        let ran = command.args(clock).ran();
        ran.exits_with(1);
        ran
    };
    let human = run("human");
    let json = run("json");
    let reports = Reports::of(&json);
    for kind in ["value", "exception", "liveness"] {
        let sequences = reports.sequences.iter();
        let errors = sequences.flat_map(|report| report["errors"].as_array().unwrap());
        let count = errors.filter(|error| error["kind"] == kind).count();
        assert_eq!(reports.totals[format!("{kind}_errors")], count, "{json}");
    }
    (human, reports)
}

/// The line on which a text stands.
#[track_caller]
fn line_of(script: &str, text: &str) -> usize {
    let mut lines = script
        .lines()
        .zip(1..)
        .filter(|(line, _)| line.contains(text));
    let (_, number) = lines
        .next()
        .unwrap_or_else(|| panic!("the script has no {text:?}"));
    assert!(
        lines.next().is_none(),
        "the script has {text:?} more than once"
    );
    number
}

/// An error as kind, thread, tick and the text of its script line.
fn brief(error: &Value, script: &str) -> (String, String, u64, String) {
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    let line = error["line"].as_u64().expect("an error has a line") as usize;
    let line = script.lines().nth(line - 1).unwrap_or_default();
    let line = line
        .split("//")
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned();
    (
        text("kind"),
        text("thread"),
        error["tick"].as_u64().expect("and a tick"),
        line,
    )
}

#[track_caller]
fn check(reports: &Reports, sequence: &str, script: &str, expected: &[(&str, &str, u64, &str)]) {
    let errors = reports.errors(sequence);
    let found: Vec<_> = errors.iter().map(|error| brief(error, script)).collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(kind, thread, tick, line)| {
            (
                (*kind).to_owned(),
                (*thread).to_owned(),
                *tick,
                (*line).to_owned(),
            )
        })
        .collect();
    assert_eq!(found, expected, "{errors:#?}");
}

#[test]
fn notify_one_for_notify_all_is_a_liveness_error() {
    let (scratch, script) = faulty("notify_one", "NotifyOne");
    let (human, reports) = run(&scratch, &[]);
    // The wake-up is lost in the one sequence where both kinds wait at once.
    assert_eq!(reports.failed(), ["receivers_share_two_sends"], "{human}");
    let errors = reports.errors("receivers_share_two_sends");
    let errors: Vec<_> = errors.iter().map(|error| brief(error, &script)).collect();
    for (kind, thread, tick, line) in &errors {
        assert_eq!(kind, "liveness", "{errors:?}");
        let (since, call) = match thread.as_str() {
            "one" => (1, "m.receive()"),
            "other" => (2, "m.receive()"),
            "sender" => (3, "m.send(\"a\")"),
            thread => panic!("no such thread in that sequence: {thread}"),
        };
        assert_eq!(*tick, since, "{errors:?}");
        assert!(line.contains(call), "{errors:?}");
    }
    assert!(errors.iter().any(|error| error.1 == "sender"), "{errors:?}");
    assert!(errors.iter().any(|error| error.1 != "sender"), "{errors:?}");
    human.prints("liveness error at tick 3, thread sender: ");
}

#[test]
fn if_for_while_is_an_exception_error_at_the_call() {
    let (scratch, script) = faulty("if_for_while", "IfForWhile");
    for clock in CLOCKS {
        let (human, reports) = run(&scratch, clock);
        check_if_for_while(&script, &human, &reports);
    }
}

fn check_if_for_while(script: &str, human: &Ran, reports: &Reports) {
    let receive = "#valueCheck m.receive() # 'a' #end";
    check(
        reports,
        "an_empty_string_brings_nothing",
        script,
        &[
            ("exception", "receiver", 2, receive),
            ("value", "receiver", 2, "#valueCheck time() # 3 #end"),
        ],
    );
    let time = "#valueCheck time() # 5 #end";
    check(
        reports,
        "senders_wait_for_the_last_character",
        script,
        &[
            ("value", "one", 4, time),
            ("value", "other", 4, time),
            ("liveness", "#3", 5, "#valueCheck m.receive() # 'b' #end"),
        ],
    );
    let first = &reports.errors("an_empty_string_brings_nothing")[0];
    assert_eq!(
        first["actual"],
        "panic: receive woke up and found no character"
    );
    let line = line_of(script, "// C3: woken at 2 and at 3");
    human.prints("exception error at tick 2, thread receiver: ");
    human.prints(&format!("--> faulty.conan:{line}:13\n"));
    human.prints(&format!(
        "{line} |             {receive}  // C3: woken at 2 and at 3\n"
    ));
    // Where the component panicked, too.
    human.prints("tests/gallery/src/faulty.rs:");
}

#[test]
fn a_wrong_value_is_a_value_error_that_shows_both() {
    let (scratch, script) = faulty("wrong_value", "WrongValue");
    for clock in CLOCKS {
        let (human, reports) = run(&scratch, clock);
        check_wrong_value(&script, &human, &reports);
    }
}

fn check_wrong_value(script: &str, human: &Ran, reports: &Reports) {
    assert_eq!(
        reports.failed(),
        ["senders_wait_for_the_last_character"],
        "{human}"
    );
    check(
        reports,
        "senders_wait_for_the_last_character",
        script,
        &[
            ("value", "#2", 4, "#valueCheck m.receive() # 'a' #end"),
            ("value", "#3", 5, "#valueCheck m.receive() # 'b' #end"),
        ],
    );
    let first = &reports.errors("senders_wait_for_the_last_character")[0];
    assert_eq!(
        (&first["expected"], &first["actual"]),
        (&"'a'".into(), &"'b'".into())
    );
    human
        .prints("value error at tick 4, thread #2: ")
        .prints("= expected: 'a'\n");
    human
        .prints("= actual:   'b'\n")
        .prints_line("Test cases: 36");
    human.prints_line("Value errors: 2");
}

/// The kind of error that a sequence of `errors.conan` shows, by its name.
fn kind_of(sequence: &str) -> &'static str {
    let value = ["value_", "match_", "wake_", "block_runs_late", "not_"];
    let exception = [
        "exception_",
        "required_",
        "wrong_",
        "panic_",
        "question_mark",
        "failing_",
    ];
    let begins_with = |names: &[&str]| names.iter().any(|name| sequence.starts_with(name));
    if begins_with(&value) {
        "value"
    } else if begins_with(&exception) {
        "exception"
    } else {
        assert!(
            begins_with(&["liveness_", "several_liveness", "stays_"]),
            "{sequence} is new"
        );
        "liveness"
    }
}

#[test]
fn every_kind_of_error_is_reported_as_its_script_says() {
    let _guard = one_at_a_time();
    let run = |format: &str| {
        let mut command = conan(workspace());
        command.args(["run", "--clock", "wall", "--message-format", format]);
        let ran = command.arg("scripts/errors.conan").ran();
        ran.exits_with(1);
        ran
    };
    let json = run("json");
    let reports = Reports::of(&json);
    let mut brief = String::new();
    for report in &reports.sequences {
        let name = report["sequence"].as_str().unwrap();
        let errors = report["errors"].as_array().unwrap();
        assert!(!errors.is_empty(), "{name} fails on purpose; {json}");
        if name != "several_errors_in_order" {
            let kind = kind_of(name);
            let is_right = errors.iter().all(|error| error["kind"] == kind);
            assert!(is_right, "{name} shows a {kind} error; {report:#}");
        }
        let _ = writeln!(brief, "{name} ({})", report["line"]);
        for error in errors {
            describe(&mut brief, error);
        }
    }
    let order = reports.errors("several_errors_in_order");
    let places: Vec<_> = order
        .iter()
        .map(|e| (e["tick"].as_u64(), e["line"].as_u64()))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    insta::assert_snapshot!("errors_in_json", steady(&brief));

    let human = run("human");
    insta::assert_snapshot!("errors_for_people", steady(&human.stdout));
}

fn describe(out: &mut String, error: &Value) {
    let thread = error["thread"].as_str().unwrap_or("-");
    let (kind, tick) = (error["kind"].as_str().unwrap(), &error["tick"]);
    let (line, column) = (&error["line"], &error["column"]);
    let message = error["message"].as_str().unwrap();
    let _ = writeln!(
        out,
        "  {line}:{column} {kind} error, thread {thread}, tick {tick}: {message}"
    );
    for part in ["expected", "actual"] {
        if let Some(text) = error[part].as_str() {
            let _ = writeln!(out, "    {part}: {text}");
        }
    }
}

/// Without what is not the same every time, or not what is tested: the place
/// of the workspace, lines of the gallery's components, timelines (in real
/// time the threads of a tick overtake each other), and which of two threads
/// comes second to a list of wake-up times.
fn steady(text: &str) -> String {
    let script = fs::read_to_string(workspace().join("scripts/errors.conan")).unwrap();
    let text = text.replace(&format!("{}/", workspace().display()), "");
    let mut out = String::new();
    let mut in_timeline = false;
    for line in text.lines() {
        in_timeline = line.starts_with("tick | ") || (in_timeline && !line.is_empty());
        match line.split_once("faulty.rs:") {
            _ if in_timeline => {}
            Some((before, _)) => out.push_str(&format!("{before}faulty.rs:…\n")),
            None => out.push_str(&format!("{line}\n")),
        }
    }
    let (before, sequence) = script
        .split_once("#begin wake_time_not_in_the_list")
        .unwrap();
    let begin = before.lines().count();
    let lines = sequence
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("take w"));
    let lines: Vec<usize> = lines.map(|(index, _)| begin + index + 1).take(2).collect();
    let [first, second] = lines[..] else {
        panic!("two threads take a time: {lines:?}")
    };
    for after in [":", " |"] {
        out = out.replace(&format!("{first}{after}"), &format!("{second}{after}"));
    }
    for (one, other) in [
        ("thread one, tick 1", "thread other, tick 1"),
        ("thread one: ", "thread other: "),
    ] {
        out = out.replace(one, other);
    }
    out
}
