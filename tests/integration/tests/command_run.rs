//! `cargo conan new` and `cargo conan run`: from a template to a report.

use std::fs;
use std::path::Path;

use conan_integration::{
    FINE, Reports, Run, Scratch, conan, crate_with_scripts, failing, place, workspace,
};

#[test]
fn new_writes_a_script_that_passes_out_of_the_box() {
    let scratch = Scratch::new("starter");
    let before = scratch.files();
    let ran = scratch.conan().args(["new", "starter"]).ran();
    ran.exits_with(0)
        .prints("tests/scripts/starter.conan")
        .prints("tests/starter.rs");
    ran.prints("cargo test --test starter");
    let new: Vec<_> = scratch.files().difference(&before).cloned().collect();
    assert_eq!(
        new,
        [
            Path::new("tests/scripts/starter.conan"),
            Path::new("tests/starter.rs")
        ]
    );

    let ran = scratch.cargo().args(["test", "--test", "starter"]).ran();
    ran.exits_with(0)
        .prints("1 passed")
        .never_mentions("warning");
    let ran = scratch.conan().arg("check").ran();
    ran.exits_with(0)
        .says("checked 1 script: 0 errors, 0 warnings");
    scratch.conan().args(["fmt", "--check"]).ran().exits_with(0);
    scratch
        .conan()
        .arg("run")
        .ran()
        .exits_with(0)
        .prints_line("Liveness errors: 0");

    // A second time it refuses, and leaves everything as it is.
    scratch.write("tests/scripts/starter.conan", "mine");
    let ran = scratch.conan().args(["new", "starter"]).ran();
    ran.exits_with(2)
        .says("tests/scripts/starter.conan")
        .says("already");
    assert_eq!(scratch.read("tests/scripts/starter.conan"), "mine");
    fs::remove_file(scratch.root().join("tests/scripts/starter.conan")).unwrap();
    let ran = scratch.conan().args(["new", "starter"]).ran();
    ran.exits_with(2).says("tests/starter.rs");
    assert!(
        !scratch.root().join("tests/scripts/starter.conan").exists(),
        "{ran}"
    );
}

#[test]
fn new_refuses_names_that_no_test_can_have_and_places_without_a_package() {
    let scratch = Scratch::new("odd_names");
    let before = scratch.files();
    for name in [
        "1st",
        "two-words",
        "fn",
        "",
        "../up",
        "a b",
        "ends.conan",
        "a::b",
    ] {
        let ran = scratch.conan().args(["new", name]).ran();
        ran.exits_with(2).says("error: ");
        assert_eq!(scratch.files(), before, "{ran}");
    }
    let ran = conan(scratch.around()).args(["new", "queue"]).ran();
    ran.exits_with(2).says("Cargo.toml");
    assert!(!scratch.around().join("tests").exists(), "{ran}");

    // A workspace without a package of its own.
    fs::write(
        scratch.around().join("Cargo.toml"),
        "[workspace]\nmembers = [\"odd_names\"]\n",
    )
    .unwrap();
    let ran = conan(scratch.around()).args(["new", "queue"]).ran();
    ran.exits_with(2).says("not in a package");
    assert!(!scratch.around().join("tests").exists(), "{ran}");
    fs::remove_file(scratch.around().join("Cargo.toml")).unwrap();

    // A file where the folder should be.
    scratch.write("tests", "not a folder");
    let ran = scratch.conan().args(["new", "queue"]).ran();
    ran.exits_with(2).says("cannot write");
    assert_eq!(scratch.read("tests"), "not a folder");
}

#[test]
fn new_says_what_is_missing_in_a_crate_without_conan_test() {
    let scratch = Scratch::new("without_conan_test");
    let manifest = "[package]\nname = \"CRATE\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    scratch.write("Cargo.toml", manifest);
    let ran = scratch.conan().args(["new", "queue"]).ran();
    ran.exits_with(0)
        .prints("conan-test")
        .prints("dev-dependencies");
    assert_eq!(
        scratch.read("Cargo.toml"),
        manifest.replace("CRATE", scratch.name())
    );
}

#[test]
fn run_reports_in_every_format() {
    let scratch = crate_with_scripts(
        "formats",
        &[("pass.conan", FINE), ("sub/fail.conan", &failing())],
    );
    let script = scratch.read("sub/fail.conan");
    let at = place(&script, "#valueCheck");
    let run = |format: &str| {
        let ran = scratch
            .conan()
            .args(["run", "--message-format", format])
            .ran();
        ran.exits_with(1);
        ran
    };
    let summary = "Test cases: 2\nValue errors: 1\nException errors: 0\nLiveness errors: 0\n";
    let human = run("human");
    human
        .prints("pass.conan\n")
        .prints("sub/fail.conan\n")
        .prints(&format!("\n{summary}"));
    human
        .prints("line 12: counts [C1] ... ok\n")
        .prints("line 12: counts [C1] ... FAILED\n");
    human.prints(&format!("--> sub/fail.conan:{at}\n"));
    human.prints("= expected: 2\n").prints("= actual:   1\n");

    let short = run("short");
    let lines: Vec<&str> = short.stdout.lines().collect();
    assert!(lines[0].starts_with(&format!(
        "sub/fail.conan:{at}: value error: counts, tick 1, thread one: "
    )));
    assert!(short.stdout.ends_with(summary), "{short}");
    assert_eq!(lines.len(), 5, "{short}");

    let github = run("github");
    let head = format!(
        "::error file=sub/fail.conan,line={},col={},",
        at.line, at.column
    );
    let lines: Vec<&str> = github.stdout.lines().collect();
    assert!(lines[0].starts_with(&head), "{github}");

    let json = run("json");
    let reports = Reports::of(&json);
    assert_eq!(reports.sequences.len(), 2, "{json}");
    assert_eq!(
        reports.sequences[0]["conditions"],
        serde_json::json!(["C1"]),
        "{json}"
    );
    assert_eq!(reports.sequences[1]["errors"][0]["line"], at.line, "{json}");
    assert_eq!(
        reports.sequences[1]["errors"][0]["column"], at.column,
        "{json}"
    );
    assert_eq!(reports.totals["value_errors"], 1, "{json}");
}

#[test]
fn run_takes_the_tick_time_of_the_command_line() {
    let script = FINE.replace("#ticktime 20", "#ticktime 600000").replace(
        "#valueCheck c.add(1) # 1 #end",
        "#valueCheck ticks(1).as_millis() # 15 #end\n            std::thread::park();",
    );
    let scratch = crate_with_scripts("ticktime", &[("slow.conan", &script)]);
    // The thread stays to the end: two ticks of 15 ms, and not of ten minutes.
    let ran = scratch
        .conan()
        .args(["run", "--clock", "wall", "--ticktime", "15", "slow.conan"])
        .ran();
    ran.exits_with(1)
        .prints_line("Value errors: 0")
        .prints_line("Liveness errors: 1");
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    let many = |name: &str, value: u32| {
        let sequence = FINE.split_once("#begin").unwrap().1;
        let sequences = (0..8).map(|n| {
            format!(
                "\n#begin{}",
                sequence.replace("counts", &format!("{name}_{n}"))
            )
        });
        let head = FINE.split_once("#begin").unwrap().0;
        format!("{head}{}", sequences.collect::<String>())
            .replace("# 1 #end", &format!("# {value} #end"))
    };
    let scratch = crate_with_scripts(
        "at_once",
        &[
            ("right.conan", &many("right", 1)),
            ("wrong.conan", &many("wrong", 2)),
        ],
    );
    let run = |script: &str| {
        let ran = scratch
            .conan()
            .args(["run", "--message-format", "json", script])
            .ran();
        let reports = Reports::of(&ran);
        for report in &reports.sequences {
            assert_eq!(report["script"], script, "{ran}");
        }
        assert_eq!(reports.sequences.len(), 8, "{ran}");
        ran.code
    };
    std::thread::scope(|scope| {
        let right = scope.spawn(|| run("right.conan"));
        let wrong = scope.spawn(|| run("wrong.conan"));
        assert_eq!(right.join().unwrap(), Some(0));
        assert_eq!(wrong.join().unwrap(), Some(1));
    });
}

#[test]
fn a_second_run_builds_nothing() {
    let scratch = crate_with_scripts("run_twice", &[("fine.conan", FINE)]);
    let run = || scratch.conan().args(["run", "fine.conan"]).ran();
    run().exits_with(0).says("Compiling");
    run().exits_with(0).never_mentions("Compiling");
    scratch.write("fine.conan", &failing());
    run()
        .exits_with(1)
        .says("Compiling")
        .prints_line("Value errors: 1");
}

#[test]
fn run_uses_what_the_packages_own_tests_use() {
    let scratch = crate_with_scripts("like_its_tests", &[]);
    // Its dev-dependencies, under another name, and what it depends on.
    let gallery = workspace().join("tests/gallery");
    let gallery = gallery.display();
    let more = format!("shown = {{ path = '{gallery}', package = \"conan-gallery\" }}\n");
    scratch.manifest("2021", &more);
    let script = FINE
        .replace("#cut c Counter", "#cut c Counter\n#cut g Gate")
        .replace(
            "use CRATE::Counter;",
            "use CRATE::Counter;\n    use shown::Gate;",
        )
        .replace(
            "# 1 #end",
            "# 1 #end\n            #valueCheck g.is_open() # false #end",
        );
    scratch.write("tests/scripts/fine.conan", &script);
    // From a folder below, by a path that goes up.
    fs::create_dir_all(scratch.root().join("src/deep")).unwrap();
    let ran = conan(&scratch.root().join("src/deep"))
        .args(["run", "../../tests/scripts"])
        .ran();
    ran.exits_with(0)
        .prints("../../tests/scripts/fine.conan\n")
        .prints_line("Test cases: 2");
    // Where the manifest itself is out of reach of any package's root.
    let ran = conan(scratch.around())
        .args(["run", "like_its_tests/tests/scripts/fine.conan"])
        .ran();
    ran.exits_with(0).prints_line("Test cases: 2");
}

#[test]
fn a_report_has_colours_on_a_terminal_and_where_they_are_asked_for() {
    const ESCAPE: char = '\u{1b}';
    // What `check` has: red and bold.
    let verdict = "\u{1b}[1m\u{1b}[31mFAILED\u{1b}[0m";
    let heading = "\u{1b}[1m\u{1b}[31mvalue error\u{1b}[0m";
    let caret = "\u{1b}[1m\u{1b}[31m^\u{1b}[0m";
    let scratch = crate_with_scripts("colours", &[("tests/scripts/wrong.conan", &failing())]);
    let run = || {
        let mut command = scratch.conan();
        command
            .args(["run", "tests/scripts"])
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE");
        command
    };

    let plain = run().ran();
    plain.exits_with(1).prints("value error at tick 1");
    assert!(!plain.stdout.contains(ESCAPE), "{plain}");

    let forced = run().env("CLICOLOR_FORCE", "1").ran();
    forced.exits_with(1);
    forced.prints(verdict).prints(heading).prints(caret);
    let without: String = uncoloured(&forced.stdout);
    assert_eq!(without, plain.stdout);

    // A pseudo-terminal, where there is util-linux's command for one.
    let command = run();
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let on_a_terminal = || {
        let mut script = conan_integration::command("script", scratch.root());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => script.env(name, value),
                None => script.env_remove(name),
            };
        }
        script.env("TERM", "xterm");
        script.args(["-qec", &words.join(" "), "/dev/null"]);
        script
    };
    if cfg!(not(target_os = "linux")) || on_a_terminal().arg("--version").output().is_err() {
        eprintln!("there is no `script`: the terminal is not tested");
        return;
    }
    let terminal = on_a_terminal().ran();
    terminal.exits_with(1);
    terminal.prints(verdict).prints(heading).prints(caret);
    let asked_not_to = on_a_terminal().env("NO_COLOR", "1").ran();
    asked_not_to.exits_with(1).prints("value error at tick 1");
    assert!(!asked_not_to.stdout.contains(ESCAPE), "{asked_not_to}");
}

/// Text without the escape sequences of colours, `ESC [ … m`.
fn uncoloured(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.filter_map(|part| part.split_once('m'));
    rest.fold(first, |text, (_, rest)| text + rest)
}
