//! The commands of `cargo conan` that only read and write scripts: what they
//! print, what they write, and how they end.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use conan_integration::{FINE, Run, conan, crate_with_scripts, place, target, workspace};
use serde_json::Value;

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
    let scratch = crate_with_scripts("mistakes", &MISTAKES);
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
    let scratch = crate_with_scripts("mistakes_run", &MISTAKES);
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
    let scratch = crate_with_scripts("not_included", &[("scripts/lost.conan", FINE)]);
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
    let scratch = crate_with_scripts("formatted", &[("a.conan", FINE), ("b.conan", &untidy())]);
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

    let scratch = crate_with_scripts("links", &[("real.conan", &untidy())]);
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

#[test]
fn expand_prints_a_driver_that_is_rust_and_always_the_same() {
    let scratch = crate_with_scripts("expanded", &[("tests/scripts/fine.conan", FINE)]);
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
    let scratch = crate_with_scripts(
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
