//! `cargo conan`: what it prints, what it writes, and how it ends.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use conan_integration::{Reports, Run, Scratch, cargo, conan, place, target, workspace};
use serde_json::Value;

/// A script that passes, formatted.
const FINE: &str = "\
#ticktime 20
#cut c Counter

#conditions
    C1 it's counted
#end

#top
    use CRATE::Counter;
#end

#begin counts
    #test C1
    #tick
        #thread <one>
            #valueCheck c.add(1) # 1 #end
        #end
    #end
#end
";

/// The same with a wrong expectation.
fn failing() -> String {
    FINE.replace("# 1 #end", "# 2 #end")
}

/// A scratch crate with these scripts, none of them included anywhere.
fn crate_with(name: &str, scripts: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::new(name);
    for (path, text) in scripts {
        scratch.write(path, text);
    }
    scratch
}

// ---- new ---------------------------------------------------------------------

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

// ---- check -------------------------------------------------------------------

/// Two files with two mistakes each.
const MISTAKES: [(&str, &str); 2] = [
    (
        "scripts/a.conan",
        "#ticktime soon\n#begin one\n    #tick\n        #thread <t>\n            \
         #valuecheck 1 # 1 #end\n        #end\n    #end\n#end\n",
    ),
    (
        "scripts/b.conan",
        "#conditions\n    C1 never seen\n#end\n#begin one\n    #tick\n        #thread <t>\n            \
         let ü = 1; #valueCheck ü + # 1 #end\n        #end\n        #thread <t>\n        #end\n    #end\n#end\n",
    ),
];

/// Their errors: file, code and place.
fn mistakes() -> Vec<String> {
    let [(a, first), (b, second)] = MISTAKES;
    let twice = second.rfind("<t>").unwrap();
    let twice_line = second[..twice].matches('\n').count() + 1;
    vec![
        format!("{a}:{}: error[CN012]", place(first, "soon")),
        format!("{a}:{}: error[CN001]", place(first, "#valuecheck")),
        format!("{b}:{}: warning[CN011]", place(second, "C1")),
        format!("{b}:{twice_line}:18: error[CN005]"),
        // The operand that is missing.
        format!("{b}:{}:", place(second, "let ü").line),
    ]
}

#[test]
fn check_shows_every_mistake_of_every_file_in_each_format() {
    let scratch = crate_with("mistakes", &MISTAKES);
    let check = |format: &str| {
        let ran = scratch
            .conan()
            .args(["check", "--message-format", format, "scripts"])
            .ran();
        ran.exits_with(2).never_mentions("panicked");
        ran
    };
    let short = check("short");
    for mistake in mistakes() {
        assert!(
            short.stderr.lines().any(|line| line.starts_with(&mistake)),
            "{mistake}; {short}"
        );
    }
    let found: Vec<&str> = short
        .stderr
        .lines()
        .filter(|line| line.contains(".conan:"))
        .collect();
    // And each file is included nowhere.
    assert_eq!(found.len(), 5 + 2, "{short}");
    assert_eq!(short.stdout, "", "{short}");

    let human = check("human");
    for line in &found {
        let (at, rest) = line.split_once(": ").unwrap();
        human.says(rest).says(&format!("--> {at}\n"));
    }
    human
        .says("checked 2 scripts: 4 errors, 3 warnings")
        .says("cargo conan explain CN001");
    human.says("#valuecheck 1 # 1 #end");

    let json = check("json");
    let mut places = BTreeMap::new();
    for line in json.stdout.lines() {
        let value: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}; {json}"));
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let span = &value["span"];
        let at = format!("{}:{}:{}", text("file"), span["line"], span["column"]);
        let head = format!(
            "{at}: {}[{}]: {}",
            text("severity"),
            text("code"),
            text("message")
        );
        places.insert(head, value.clone());
    }
    let heads: Vec<&str> = places.keys().map(String::as_str).collect();
    let mut expected = found.clone();
    expected.sort_unstable();
    assert_eq!(heads, expected, "{json}");
    assert_eq!(json.stderr, "", "data alone; {json}");

    let github = check("github");
    assert_eq!(github.stdout.lines().count(), found.len(), "{github}");
    for line in github.stdout.lines() {
        let is_command = line.starts_with("::error file=scripts/")
            || line.starts_with("::warning file=scripts/");
        assert!(is_command, "{line:?}; {github}");
    }
    let at = place(MISTAKES[0].1, "#valuecheck");
    github.prints(&format!(
        "::error file=scripts/a.conan,line={},col={},",
        at.line, at.column
    ));
}

#[test]
fn run_stops_at_the_mistakes_of_all_files_and_builds_nothing() {
    let scratch = crate_with("mistakes_run", &MISTAKES);
    scratch.write("scripts/fine.conan", FINE);
    let ran = scratch
        .conan()
        .args(["run", "--message-format", "short", "scripts"])
        .ran();
    ran.exits_with(2)
        .never_mentions("Compiling")
        .never_mentions("Test cases");
    for mistake in mistakes() {
        ran.says(&mistake);
    }
    let ran = scratch.conan().args(["run", "scripts"]).ran();
    ran.exits_with(2)
        .says("[CN001]")
        .says("[CN005]")
        .says("[CN012]");
    let written = fs::read_dir(target().join("integration/conan/run"))
        .into_iter()
        .flatten()
        .flatten();
    let is_ours = |name: &str| name.contains("mistakes_run");
    let ours = written
        .filter(|entry| is_ours(&entry.file_name().to_string_lossy()))
        .count();
    assert_eq!(ours, 0, "nothing is written before the scripts are right");
}

#[test]
fn check_warns_of_a_script_that_nobody_includes() {
    let scratch = crate_with("not_included", &[("scripts/lost.conan", FINE)]);
    scratch.script("scripts/found.conan", FINE);
    let ran = scratch
        .conan()
        .args(["check", "--message-format", "short"])
        .ran();
    ran.exits_with(0);
    assert_eq!(ran.stderr.lines().count(), 1, "{ran}");
    assert!(
        ran.stderr
            .starts_with("scripts/lost.conan:1:1: warning[CN031]"),
        "{ran}"
    );
    let ran = scratch.conan().arg("check").ran();
    ran.exits_with(0)
        .says("cargo test")
        .says("checked 2 scripts: 0 errors, 1 warning\n");

    // A comment includes nothing; a folder includes all.
    let test = format!("tests/{}.rs", scratch.name());
    scratch.write(&test, "// conan_test::script!(\"scripts\");\n");
    let ran = scratch
        .conan()
        .args(["check", "--message-format", "short"])
        .ran();
    assert_eq!(ran.stderr.matches("CN031").count(), 2, "{ran}");
    scratch.include("scripts");
    let ran = scratch
        .conan()
        .args(["check", "--message-format", "short"])
        .ran();
    ran.exits_with(0);
    assert_eq!(ran.stderr, "", "{ran}");

    // Outside any package there is nobody who could.
    let ran = conan(scratch.around())
        .args(["check", "not_included/scripts/lost.conan"])
        .ran();
    ran.exits_with(0);
    fs::write(scratch.around().join("loose.conan"), FINE).unwrap();
    let ran = conan(scratch.around()).args(["check", "loose.conan"]).ran();
    ran.exits_with(0).never_mentions("CN031");
}

// ---- fmt ---------------------------------------------------------------------

/// `FINE`, as nobody should leave it.
fn untidy() -> String {
    FINE.replace(
        "            #valueCheck c.add(1) # 1",
        "  #valueCheck   c.add(1)   #   1",
    )
    .replace("    #tick", "#tick   ")
}

#[test]
fn fmt_formats_and_its_check_only_looks() {
    let scratch = crate_with("formatted", &[("a.conan", FINE), ("b.conan", &untidy())]);
    let untidy = scratch.read("b.conan");
    let ran = scratch.conan().args(["fmt", "--check"]).ran();
    ran.exits_with(1)
        .prints("b.conan:")
        .never_mentions("a.conan");
    assert_eq!(scratch.read("b.conan"), untidy, "{ran}");

    scratch.conan().args(["fmt"]).ran().exits_with(0);
    assert_eq!(scratch.read("b.conan"), scratch.read("a.conan"));
    assert_eq!(
        scratch.read("a.conan"),
        FINE.replace("CRATE", scratch.name())
    );
    scratch.conan().args(["fmt", "--check"]).ran().exits_with(0);

    // What is formatted is not written again.
    let age = || {
        fs::metadata(scratch.root().join("b.conan"))
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = age();
    scratch.conan().args(["fmt"]).ran().exits_with(0);
    assert_eq!(age(), before);

    // What is not a script is not touched, and the rest is formatted.
    let broken = scratch.write("c.conan", "#begin one\n  #tick\n");
    scratch.write("d.conan", &untidy);
    let ran = scratch.conan().args(["fmt", "--check"]).ran();
    ran.exits_with(2).prints("d.conan:").says("CN002");
    scratch
        .conan()
        .args(["fmt"])
        .ran()
        .exits_with(2)
        .says("c.conan:");
    assert_eq!(scratch.read("c.conan"), broken);
    assert_eq!(scratch.read("d.conan"), scratch.read("a.conan"));
}

#[cfg(unix)]
#[test]
fn fmt_leaves_permissions_and_links_as_they_are() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let scratch = crate_with("links", &[("real.conan", &untidy())]);
    let real = scratch.root().join("real.conan");
    let link = scratch.root().join("link.conan");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.conan", &link).unwrap();
    scratch
        .conan()
        .args(["fmt", "link.conan"])
        .ran()
        .exits_with(0);
    assert!(
        fs::symlink_metadata(&link).unwrap().is_symlink(),
        "the link is still a link"
    );
    assert_eq!(
        scratch.read("real.conan"),
        FINE.replace("CRATE", scratch.name())
    );
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
}

#[test]
fn the_scripts_of_this_repository_are_formatted() {
    let ran = conan(workspace()).args(["fmt", "--check", "scripts"]).ran();
    ran.exits_with(0);
    assert_eq!(format!("{}{}", ran.stdout, ran.stderr), "", "{ran}");
}

// ---- expand, stats, explain --------------------------------------------------

#[test]
fn expand_prints_a_driver_that_is_rust_and_always_the_same() {
    let scratch = crate_with("expanded", &[("tests/scripts/fine.conan", FINE)]);
    let expand = || {
        let ran = scratch
            .conan()
            .args(["expand", "tests/scripts/fine.conan"])
            .ran();
        ran.exits_with(0);
        assert_eq!(ran.stderr, "", "{ran}");
        ran.stdout
    };
    let driver = expand();
    assert_eq!(driver, expand());
    assert!(driver.contains("#[test]\nfn counts()"), "{driver}");
    // Beside the script it is a test like any other.
    scratch.write("tests/scripts/driver.rs", &driver);
    let test = "#[path = \"scripts/driver.rs\"]\nmod driver;\n";
    scratch.write(&format!("tests/{}.rs", scratch.name()), test);
    let ran = scratch.cargo_test().arg("--tests").ran();
    ran.exits_with(0)
        .prints("test driver::counts ... ok")
        .never_mentions("warning");

    scratch.write("broken.conan", "#begin one\n");
    let ran = scratch.conan().args(["expand", "broken.conan"]).ran();
    ran.exits_with(2).says("CN002");
    assert_eq!(ran.stdout, "", "{ran}");
}

#[test]
fn stats_has_the_columns_of_the_papers_table() {
    let scripts = ["scripts/producer_consumer.conan", "scripts/clock.conan"];
    let ran = conan(workspace()).arg("stats").args(scripts).ran();
    ran.exits_with(0);
    let rows: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|l| l.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows.len(),
        4,
        "a heading, two scripts, and their sum; {ran}"
    );
    let mut sums = [0; 5];
    for (row, (script, counts)) in rows[1..3]
        .iter()
        .zip(scripts.iter().zip([[12, 5, 36], [6, 3, 18]]))
    {
        assert_eq!(row[0], *script, "{ran}");
        let numbers: Vec<usize> = row[1..]
            .iter()
            .map(|number| number.parse().unwrap())
            .collect();
        assert_eq!(numbers[..3], counts, "{ran}");
        let text = fs::read_to_string(workspace().join(script)).unwrap();
        assert_eq!(
            numbers[3],
            text.lines().count(),
            "lines of the script; {ran}"
        );
        let driver = conan(workspace()).args(["expand", script]).ran();
        assert_eq!(
            numbers[4],
            driver.stdout.lines().count(),
            "lines of the driver; {ran}"
        );
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum += number;
        }
    }
    let total: Vec<usize> = rows[3][1..]
        .iter()
        .map(|number| number.parse().unwrap())
        .collect();
    assert_eq!(total, sums, "{ran}");
}

#[test]
fn explain_has_a_page_for_every_code() {
    for number in 1..=32 {
        let code = format!("CN{number:03}");
        let ran = conan(workspace()).args(["explain", &code]).ran();
        ran.exits_with(0);
        assert!(ran.stdout.starts_with(&format!("# {code}: ")), "{ran}");
        assert!(ran.stdout.lines().count() > 5, "{code} is explained; {ran}");
    }
    conan(workspace())
        .args(["explain", "cn001"])
        .ran()
        .exits_with(0)
        .prints("# CN001");
    for unknown in ["CN000", "CN999", "E0308", "", "CN"] {
        let ran = conan(workspace()).args(["explain", unknown]).ran();
        ran.exits_with(2)
            .says("there is no diagnostic")
            .says("CN001");
    }
}

// ---- bad input ---------------------------------------------------------------

#[test]
fn what_is_not_there_or_cannot_be_read_is_an_error_that_names_it() {
    let scratch = crate_with("unreadable", &[("fine.conan", FINE)]);
    fs::create_dir(scratch.root().join("empty")).unwrap();
    fs::create_dir(scratch.root().join("folder.conan")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("loop.conan", scratch.root().join("loop.conan")).unwrap();
    fs::write(
        scratch.root().join("latin1.conan"),
        b"// \xe4\n#begin one\n#tick\n#end\n#end\n",
    )
    .unwrap();
    for command in ["check", "fmt", "expand", "run", "stats"] {
        let paths = [
            "nowhere.conan",
            "nowhere/at/all.conan",
            "fine.conan/below.conan",
            "latin1.conan",
        ];
        for path in paths.iter().chain(cfg!(unix).then_some(&"loop.conan")) {
            let ran = scratch.conan().args([command, path]).ran();
            ran.exits_with(2)
                .says("error")
                .says(path)
                .never_mentions("panicked");
        }
        for path in ["empty", "folder.conan"] {
            let ran = scratch.conan().args([command, path]).ran();
            ran.exits_with(2)
                .says("error: ")
                .says(path)
                .never_mentions("panicked");
        }
    }
    // One that is missing does not hide what is wrong with the others.
    scratch.write("wrong.conan", "#begin one\n");
    let ran = scratch
        .conan()
        .args(["check", "nowhere.conan", "wrong.conan"])
        .ran();
    ran.exits_with(2)
        .says("cannot read nowhere.conan")
        .says("CN002");
    scratch
        .conan()
        .args(["check", "latin1.conan"])
        .ran()
        .exits_with(2)
        .says("CN019");
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_read_is_an_error_that_names_it() {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    let scratch = crate_with("locked_folder", &[("scripts/fine.conan", FINE)]);
    let folder = scratch.root().join("scripts");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&folder).is_ok() {
        let _ = writeln!(std::io::stderr(), "root may read every folder: not tested");
    } else {
        let ran = scratch.conan().args(["check", "scripts"]).ran();
        ran.exits_with(2).says("cannot read the folder scripts");
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_target_directory_that_cannot_be_written_is_an_error_that_names_it() {
    let scratch = crate_with("no_target", &[("tests/scripts/fine.conan", FINE)]);
    let nowhere = scratch.root().join("Cargo.toml/target");
    let mut command = scratch.conan();
    let ran = command
        .args(["run", "tests/scripts"])
        .env("CARGO_TARGET_DIR", &nowhere)
        .ran();
    ran.exits_with(2)
        .says("cannot write")
        .says("Cargo.toml/target")
        .never_mentions("panicked");

    // The macro's own file under it, too.
    let copies = target().join("integration/tmp/conan");
    fs::create_dir_all(&copies).unwrap();
    fs::write(copies.join("no_target"), "in the way").unwrap();
    scratch.include("tests/scripts");
    let ran = scratch.cargo_test().arg("--tests").ran();
    ran.fails()
        .says("cannot write")
        .says("no_target")
        .never_mentions("panicked");
}

#[test]
fn a_package_that_does_not_compile_ends_a_run_with_3() {
    let scratch = crate_with("does_not_compile", &[("tests/scripts/fine.conan", FINE)]);
    let library = scratch.read("src/lib.rs");
    let library = scratch.write(
        "src/lib.rs",
        &format!("{library}\npub fn wrong() -> u8 {{ 'u' }}\n"),
    );
    let ran = scratch.conan().args(["run", "tests/scripts"]).ran();
    ran.exits_with(3)
        .says("mismatched types")
        .says("the driver did not compile");
    ran.says(&format!("src/lib.rs:{}", place(&library, "'u'")));
    assert_eq!(ran.stdout, "", "{ran}");

    // A manifest that cargo cannot read is the command line's business.
    scratch.write("Cargo.toml", "[package\n");
    let ran = scratch.conan().args(["run", "tests/scripts"]).ran();
    ran.exits_with(2)
        .says("Cargo.toml")
        .never_mentions("panicked");
}

#[test]
fn wrong_command_lines_end_with_2_and_say_what_is_wrong() {
    let scratch = crate_with("command_lines", &[("fine.conan", FINE)]);
    let wrong: [(&[&str], &str); 12] = [
        (&[], "Usage"),
        (&["frobnicate"], "frobnicate"),
        (&["run", "--frobnicate"], "--frobnicate"),
        (&["run", "--clock", "moon", "fine.conan"], "moon"),
        (&["run", "--ticktime", "0", "fine.conan"], "--ticktime"),
        (&["run", "--ticktime", "-1", "fine.conan"], "-1"),
        (&["run", "--ticktime", "soon", "fine.conan"], "soon"),
        (&["run", "--package", "nobody", "fine.conan"], "nobody"),
        (&["check", "--message-format", "xml", "fine.conan"], "xml"),
        (&["expand"], "FILE"),
        (&["explain"], "CODE"),
        (&["new"], "NAME"),
    ];
    for (args, word) in wrong {
        let ran = scratch.conan().args(args).ran();
        ran.exits_with(2).says(word).never_mentions("panicked");
        assert_eq!(ran.stdout, "", "{ran}");
    }
    let fine: [(&[&str], &str); 3] = [
        (&["--help"], "Usage"),
        (&["--version"], "0."),
        (&["run", "--help"], "--ticktime"),
    ];
    for (args, word) in fine {
        scratch.conan().args(args).ran().exits_with(0).prints(word);
    }
}

#[test]
fn a_wrong_environment_is_named_and_no_test_is_blamed() {
    let scratch = Scratch::new("environment");
    scratch.script("tests/scripts/fine.conan", FINE);
    for (name, value) in [
        ("CONAN_TICKTIME", "abc"),
        ("CONAN_TICKTIME", "0"),
        ("CONAN_CLOCK", "moon"),
    ] {
        let ran = scratch
            .conan()
            .args(["run", "tests/scripts"])
            .env(name, value)
            .ran();
        ran.exits_with(2)
            .says(name)
            .says(value)
            .never_mentions("had reported");
        let ran = scratch.cargo_test().arg("--tests").env(name, value).ran();
        ran.fails().prints(name).prints(value);
    }
    // What is right is taken.
    let ran = scratch
        .cargo_test()
        .env("CONAN_TICKTIME", "10")
        .env("CONAN_CLOCK", "wall")
        .ran();
    ran.exits_with(0);
}

#[test]
fn the_alias_of_this_repository_works() {
    let mut command = cargo(workspace());
    // Where the command is built already.
    command
        .env("CARGO_TARGET_DIR", target())
        .env_remove("CARGO_PROFILE_DEV_DEBUG");
    command.env_remove("CARGO_INCREMENTAL");
    let ran = command
        .args(["conan", "check", "scripts/clock.conan"])
        .ran();
    ran.exits_with(0)
        .says("checked 1 script: 0 errors, 0 warnings");
}

// ---- run ---------------------------------------------------------------------

#[test]
fn run_reports_in_every_format() {
    let scratch = crate_with(
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
    let scratch = crate_with("ticktime", &[("slow.conan", &script)]);
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
    let scratch = crate_with(
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
    let scratch = crate_with("run_twice", &[("fine.conan", FINE)]);
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
    let scratch = crate_with("like_its_tests", &[]);
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

// ---- readers that go away ----------------------------------------------------

#[test]
fn a_reader_that_goes_away_is_no_reason_to_panic() {
    let sequences = (0..300).map(|n| {
        format!(
            "\n#begin s{n}{}",
            FINE.split_once("#begin counts").unwrap().1
        )
    });
    let long = format!(
        "{}{}",
        FINE.split_once("#begin").unwrap().0,
        sequences.collect::<String>()
    );
    let scratch = crate_with(
        "no_reader",
        &[("long.conan", &long), ("broken.conan", "#begin one\n")],
    );
    let commands: [&[&str]; 6] = [
        &["expand", "long.conan"],
        &["stats", "long.conan"],
        &["explain", "CN001"],
        &["check", "--message-format", "json", "broken.conan"],
        &["check", "broken.conan"],
        &["--help"],
    ];
    for args in commands {
        let mut command = scratch.conan();
        let mut child = command
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ran = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
        assert!(
            ran.status.code().is_some_and(|code| code != 101),
            "{args:?}: {:?}",
            ran.status
        );
    }
    // Whatever is wrong is wrong, even if nobody reads why.
    let mut command = scratch.conan();
    let mut child = command
        .args(["check", "broken.conan"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}
