//! What rustc says about a fragment points at the script: its line, its
//! column, its text.

use conan_integration::{Place, Ran, Run, Scratch, place};

/// A script with one mistake in it.
struct Case {
    name: &'static str,
    /// The whole script; `CRATE` stands for the crate under test.
    script: String,
    /// What stands where the error is; two places may be right, `a | b`.
    marker: &'static str,
}

impl Case {
    fn places(&self) -> Vec<Place> {
        let places = self
            .marker
            .split(" | ")
            .map(|marker| place(&self.script, marker));
        places.map(|at| without_mark(at, &self.script)).collect()
    }
}

/// A script whose sequence has this code in a thread.
fn in_a_thread(name: &'static str, code: &str, marker: &'static str) -> Case {
    let script = format!(
        "#ticktime 20\n#cut c Counter\n#top\n    use CRATE::Counter;\n#end\n#begin one\n    \
         #tick\n        #thread <t>\n{code}\n        #end\n    #end\n#end\n"
    );
    Case {
        name,
        script,
        marker,
    }
}

/// A script with this in front of a sequence.
fn at_the_top(name: &'static str, head: &str, marker: &'static str) -> Case {
    let script = format!(
        "{head}\n#begin one\n    #tick\n        #thread\n            \
         #valueCheck time() # 1 #end\n        #end\n    #end\n#end\n"
    );
    Case {
        name,
        script,
        marker,
    }
}

/// Type errors, one in each script.
fn type_errors() -> Vec<Case> {
    let mut cases = type_errors_in_threads();
    cases.extend(type_errors_elsewhere());
    cases
}

fn type_errors_in_threads() -> Vec<Case> {
    vec![
        in_a_thread(
            "thread_code",
            "            let n: u32 = \"thread\";",
            "\"thread\"",
        ),
        in_a_thread(
            "exc_monitor",
            "    #excMonitor c.add(\"monitor\"); #end",
            "\"monitor\"",
        ),
        in_a_thread(
            "exc_monitor_let",
            "  #excMonitor let n: u32 = \"let\"; #end",
            "\"let\"",
        ),
        in_a_thread(
            "exc_monitor_let_",
            "  #excMonitor let _: u32 = \"let\"; #end",
            "\"let\"",
        ),
        in_a_thread(
            "exc_pattern",
            "#excMonitor \"1\".parse::<u32>(); # Err(\"pattern\") #end",
            "\"pattern\"",
        ),
        in_a_thread(
            "actual",
            "    #valueCheck c.add(\"actual\") # 1 #end",
            "\"actual\"",
        ),
        in_a_thread(
            "expected",
            "    #valueCheck 7 # c.add(\"expected\") #end",
            "\"expected\"",
        ),
        in_a_thread(
            "incomparable",
            "    #valueCheck c.add(1) # \"text\" #end",
            "\"text\"",
        ),
        in_a_thread(
            "match_pattern",
            "    #matchCheck c.add(1) # \"text\" #end",
            "\"text\"",
        ),
        in_a_thread("wake_check", "    #wakeCheck \"soon\" #end", "\"soon\""),
        in_a_thread(
            "nested_in_loops",
            "for i in 0..2 {\n    if i == 0 {\n        #valueCheck c.add('n') # i #end\n    }\n}",
            "'n'",
        ),
        in_a_thread(
            "second_on_its_line",
            "#valueCheck c.add(1) # 1 #end #valueCheck c.add('s') # 2 #end",
            "'s'",
        ),
        in_a_thread(
            "third_line_of_a_template",
            "#valueCheck\n    c.add(1)\n    # /* #end */ {\n        let n: u32 = 'l';\n        n\n    }\n#end",
            "'l'",
        ),
        in_a_thread(
            "behind_tabs_and_umlauts",
            "\t/* äöü €𝄞 é */\t#valueCheck c.add(\"wide\") # 1 #end\t// ß",
            "\"wide\"",
        ),
        in_a_thread(
            "behind_strings_and_comments",
            "let _ = r##\"\n#end \"# ß\"##; /* /* #end */ \n */ let _n: u32 = b\"#end\";",
            "b\"#end\"",
        ),
    ]
}

fn type_errors_elsewhere() -> Vec<Case> {
    vec![
        at_the_top(
            "cut",
            "\n#cut c CRATE::Counter::starting_at(\"cut\")",
            "\"cut\"",
        ),
        at_the_top(
            "cut_on_line_1",
            "#cut c CRATE::Counter::starting_at(\"cut\")",
            "\"cut\"",
        ),
        at_the_top(
            "cut_behind_a_mark",
            "\u{feff}#cut c CRATE::Counter::starting_at(\"bom\")",
            "\"bom\"",
        ),
        at_the_top(
            "cut_pattern",
            "#ticktime 20\n#cut (a, b) (CRATE::Counter::new(), CRATE::Counter::starting_at(\"cut\"))",
            "\"cut\"",
        ),
        at_the_top(
            "top",
            "// ---\n#top\n    fn f() -> u32 { \"top\" }\n#end",
            "\"top\"",
        ),
        at_the_top(
            "shared_method",
            "#conditions\n  C1 it's odd: {\n#end\n#shared s\n    fn f(&self) -> u32 { \"method\" }\n#end",
            "\"method\"",
        ),
        at_the_top(
            "shared_field",
            "#shared s\n    n: u32 = \"field\";\n#end",
            "\"field\"",
        ),
        Case {
            name: "overriding_method",
            script:
                "#shared s\n    fn f(&self) -> u32 { 1 }\n#end\n#begin one\n    #shared s\n        \
                fn f(&self) -> u32 { 'o' }\n    #end\n    #tick\n    #end\n#end\n"
                    .to_owned(),
            marker: "'o'",
        },
        Case {
            name: "outside_any_thread",
            script: "#cut c CRATE::Counter\n#begin one\n    #tick\n        \
                #valueCheck c.add(\"tick\") # 1 #end\n    #end\n#end\n"
                .to_owned(),
            marker: "\"tick\"",
        },
        Case {
            name: "windows_lines",
            script: "// äö\n#cut c CRATE::Counter\n#begin one\n    #tick\n        #thread <t>\n\
                \t/* ä */ #valueCheck c.add(\"crlf\") # 1 #end\n        #end\n    #end\n#end\n"
                .replace('\n', "\r\n"),
            marker: "\"crlf\"",
        },
    ]
}

/// Names that do not exist; rustc gives up before it looks at types.
fn name_errors() -> Vec<Case> {
    vec![
        in_a_thread("name_in_code", "            nowhere();", "nowhere"),
        in_a_thread(
            "name_in_a_macro",
            "  #excMonitor assert!(nothing > 1, \"{c:?}\"); #end",
            "nothing",
        ),
        in_a_thread(
            "name_in_actual",
            "    #valueCheck nobody # 1 #end",
            "nobody",
        ),
        in_a_thread(
            "name_in_expected",
            "    #valueCheck 1 # Nothing::new() #end",
            "Nothing",
        ),
        at_the_top(
            "name_in_cut",
            "#ticktime 20\n#cut c Missing::new()",
            "Missing",
        ),
        at_the_top(
            "bare_name_in_cut",
            "#ticktime 20\n#cut c Missing",
            "Missing",
        ),
        at_the_top(
            "name_in_top",
            "#top\n    use std::sync::Mutexx;\n#end",
            "std::sync::Mutexx",
        ),
        at_the_top(
            "name_in_shared",
            "#shared s\n    n: Missing = 1;\n#end",
            "Missing",
        ),
    ]
}

/// What only the borrow checker sees.
fn borrow_errors() -> Vec<Case> {
    vec![
        in_a_thread(
            "used_after_a_move",
            "let v = vec![1];\ndrop(v);\n#valueCheck v.len() # 1 #end",
            "v.len() | #valueCheck v",
        ),
        in_a_thread(
            "moved_by_a_template",
            "let v = vec![1];\n#excMonitor drop(v); #end\nlet _n = v.first();",
            "v.first()",
        ),
        in_a_thread("mutable", "let v = Vec::new();\nv.push(c.add(1));", "v.push"),
        Case {
            name: "taken_and_dropped",
            script: "#cut c CRATE::Counter\n#begin one\n    #tick\n        #thread <t> takes c\n            \
                drop(c);\n        #end\n    #end\n    #tick\n        #thread <t>\n            \
                #valueCheck c.add(1) # 1 #end\n        #end\n    #end\n#end\n"
                .to_owned(),
            marker: "c.add(1) | #valueCheck c",
        },
    ]
}

/// A crate with all these scripts in it, its test file including them all.
fn crate_with(name: &str, cases: &mut [Case]) -> Scratch {
    let scratch = Scratch::new(name);
    for case in &mut *cases {
        case.script = scratch.write(&format!("tests/scripts/{}.conan", case.name), &case.script);
    }
    scratch.include("tests/scripts");
    scratch
}

/// Expects exactly one error for each script, at its exact place, with the
/// script's line quoted under it.
#[track_caller]
fn check(ran: &Ran, cases: &[Case], path_of: impl Fn(&str) -> String) {
    let mut wrong = Vec::new();
    for case in cases {
        let path = path_of(case.name);
        let tried = case
            .places()
            .into_iter()
            .map(|at| points_at(ran, &path, at, case));
        let tried: Vec<Result<(), String>> = tried.collect();
        if tried.iter().all(Result::is_err) {
            wrong.extend(tried.into_iter().filter_map(Result::err));
        }
    }
    let errors = ran.stderr.lines().filter(|line| {
        line.starts_with("error")
            && !line.contains("could not compile")
            && !line.contains("the driver")
    });
    let errors = errors.count();
    if errors != cases.len() {
        wrong.push(format!("{errors} errors for {} scripts", cases.len()));
    }
    assert!(wrong.is_empty(), "{}\n{ran}", wrong.join("\n"));
}

/// rustc does not count a byte order mark.
fn without_mark(mut at: Place, script: &str) -> Place {
    if at.line == 1 && script.starts_with('\u{feff}') {
        at.column -= 1;
    }
    at
}

fn points_at(ran: &Ran, path: &str, at: Place, case: &Case) -> Result<(), String> {
    let head = format!("--> {path}:{at}");
    let mut lines = ran
        .stderr
        .lines()
        .skip_while(|line| !line.trim_start().ends_with(&head));
    let Some(_) = lines.next() else {
        let near = ran
            .stderr
            .lines()
            .filter(|line| line.contains(&format!("/{}.conan:", case.name)));
        return Err(format!(
            "{}: no `{head}`, but {:?}",
            case.name,
            near.collect::<Vec<_>>()
        ));
    };
    let script = case.script.trim_start_matches('\u{feff}');
    let text = script
        .lines()
        .nth(at.line - 1)
        .unwrap_or_default()
        .replace('\t', "    ");
    let margin = format!("{} | ", at.line);
    let quoted = lines
        .take_while(|line| !line.is_empty())
        .find_map(|line| line.trim_start().strip_prefix(&margin));
    // The copy that rustc reads begins with a word of ours, in the place of the
    // first directive; from there on the line is the script's, too.
    let begins = quoted.is_some_and(|quoted| quoted.starts_with("c!{"));
    let ours = if begins { "c!{".len() + 1 } else { 0 };
    let from = |line: &str| line.get(ours..).unwrap_or_default().trim_end().to_owned();
    match quoted {
        Some(quoted) if from(quoted) == from(&text) => Ok(()),
        other => Err(format!(
            "the script's line is {text:?}, but quoted is {other:?}"
        )),
    }
}

/// Under `cargo test` the path is that of the copy which rustc reads, below
/// the target directory; it ends as the script's own does.
fn under_cargo_test(name: &str, mut cases: Vec<Case>) {
    let scratch = crate_with(name, &mut cases);
    let ran = scratch.cargo_test().arg("--tests").ran();
    ran.fails().never_mentions("panicked");
    let copies = format!("/tmp/conan/{name}/tests/scripts");
    let target = conan_integration::target()
        .join("integration")
        .display()
        .to_string();
    check(&ran, &cases, |name| {
        format!("{target}{copies}/{name}.conan")
    });
}

/// Under `cargo conan run` it is the script's own path.
fn under_run(name: &str, mut cases: Vec<Case>) {
    let scratch = crate_with(name, &mut cases);
    let ran = scratch.conan().args(["run", "tests/scripts"]).ran();
    ran.exits_with(3)
        .says("the driver did not compile")
        .never_mentions("panicked");
    assert_eq!(ran.stdout, "", "{ran}");
    check(&ran, &cases, |name| format!("tests/scripts/{name}.conan"));
    for line in ran.stderr.lines().filter(|line| line.contains(".conan:")) {
        let path = line
            .trim_start()
            .trim_start_matches("-->")
            .trim_start_matches(":::");
        assert!(
            path.starts_with(" tests/scripts/"),
            "{line:?} is not the script's path; {ran}"
        );
    }
}

#[test]
fn a_type_error_under_cargo_test_points_at_the_script() {
    under_cargo_test("places_types", type_errors());
}

#[test]
fn an_unknown_name_under_cargo_test_points_at_the_script() {
    under_cargo_test("places_names", name_errors());
}

#[test]
fn a_borrow_error_under_cargo_test_points_at_the_script() {
    under_cargo_test("places_borrows", borrow_errors());
}

#[test]
fn a_type_error_under_run_points_at_the_script() {
    under_run("places_types_run", type_errors());
}

#[test]
fn an_unknown_name_under_run_points_at_the_script() {
    under_run("places_names_run", name_errors());
}

#[test]
fn a_borrow_error_under_run_points_at_the_script() {
    under_run("places_borrows_run", borrow_errors());
}

#[test]
fn a_warning_about_a_fragment_points_at_the_script_too() {
    let scratch = Scratch::new("places_warnings");
    let case = in_a_thread("warned", "\tlet unused_number = c.add(1);", "unused_number");
    let script = scratch.script("tests/scripts/warned.conan", &case.script);
    let ran = scratch.cargo_test().arg("--tests").ran();
    ran.exits_with(0)
        .says("warning: unused variable: `unused_number`");
    ran.says(&format!(
        "tests/scripts/warned.conan:{}\n",
        place(&script, case.marker)
    ));
}

#[test]
fn a_panic_in_a_fragment_names_its_place_in_the_script() {
    let scratch = Scratch::new("places_panics");
    let code = "\tlet ö = [1];\n\tlet at = c.add(1) as usize;\n\t/* ü */ let _n = ö[at];";
    let case = in_a_thread("panicking", code, "ö[at]");
    let script = scratch.script("tests/scripts/panicking.conan", &case.script);
    let ran = scratch.cargo_test().arg("--tests").ran();
    let at = place(&script, case.marker);
    ran.fails()
        .prints(&format!("tests/scripts/panicking.conan:{at}\n"));
    ran.prints("index out of bounds")
        .never_mentions("thread 't'");
}
