//! The mutants of small components, as people see them.

use std::collections::HashSet;

use conan_mutate::{Mutant, Operator, component};

const SEMAPHORE: &str = include_str!("components/semaphore.rs");
const PARKING: &str = include_str!("components/parking.rs");
const SHAPES: &str = include_str!("components/shapes.rs");

#[track_caller]
fn mutants(source: &str) -> Vec<Mutant> {
    let component = component(source).expect("the component is Rust");
    assert_eq!(component.problems, []);
    component.mutants
}

/// Every mutant with its diff, one after the other.
fn diffs(source: &str) -> String {
    let diff = |mutant: &Mutant| {
        // Enough of the diff to see what has changed.
        let diff = mutant.diff(source, "component.rs");
        let lines = diff.lines().skip(3);
        let lines = lines.filter(|line| line.starts_with(['+', '-']));
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        format!("{}\n{lines}\n", mutant.id())
    };
    mutants(source).iter().map(diff).collect()
}

#[test]
fn mutants_of_a_semaphore() {
    insta::assert_snapshot!(diffs(SEMAPHORE));
}

#[test]
fn mutants_of_unusual_shapes() {
    insta::assert_snapshot!(diffs(SHAPES));
}

#[test]
fn mutants_of_a_guard_that_is_lent() {
    insta::assert_snapshot!(diffs(PARKING));
}

#[test]
fn a_diff_is_a_patch() {
    let mutants = mutants(SEMAPHORE);
    let mutant = mutants
        .iter()
        .find(|mutant| mutant.operator == Operator::WhileToIf);
    let mutant = mutant.expect("there is a `while`");
    insta::assert_snapshot!(mutant.diff(SEMAPHORE, "src/semaphore.rs"));
}

#[test]
fn every_mutant_is_rust_and_differs_in_its_range_alone() {
    for source in [SEMAPHORE, SHAPES, PARKING] {
        for mutant in mutants(source) {
            let mutated = mutant.apply(source);
            let id = mutant.id();
            if let Err(error) = component(&mutated) {
                panic!("{id} is not Rust: {error}\n{mutated}");
            }
            let (start, end) = (mutant.range.start, mutant.range.end);
            assert_eq!(mutated[..start], source[..start], "{id}");
            assert!(mutated.ends_with(&source[end..]), "{id}");
            assert_ne!(mutated, source, "{id}");
        }
    }
}

#[test]
fn no_two_mutants_are_the_same_and_no_two_have_the_same_name() {
    for source in [SEMAPHORE, SHAPES, PARKING] {
        let mutants = mutants(source);
        let results: HashSet<String> = mutants.iter().map(|mutant| mutant.apply(source)).collect();
        assert_eq!(results.len(), mutants.len());
        let ids: HashSet<String> = mutants.iter().map(Mutant::id).collect();
        assert_eq!(ids.len(), mutants.len());
    }
}

/// The ids of a small source's mutants.
#[track_caller]
fn ids(source: &str) -> Vec<String> {
    mutants(source).iter().map(Mutant::id).collect()
}

#[test]
fn each_operator_is_found_in_the_semaphore() {
    let mutants = mutants(SEMAPHORE);
    for operator in Operator::ALL {
        let found = mutants.iter().any(|mutant| mutant.operator == operator);
        assert!(found, "there is no mutant of {operator}");
        assert_eq!(Operator::named(operator.name()), Some(operator));
    }
    assert_eq!(Operator::named("while"), None);
}

#[test]
fn places_count_characters_and_lines_of_any_kind() {
    let call = "fn f(ä: &C) { ä.notify_one(); }";
    assert_eq!(ids(call), ["no-notify:1:15"]);
    assert_eq!(ids(&format!("\u{feff}{call}")), ["no-notify:1:16"]);
    assert_eq!(
        ids(&format!("#!/bin/run\r\n\r\n{call}")),
        ["no-notify:3:15"]
    );
    // The BOM stays where it is.
    let source = format!("\u{feff}#![allow(unused)]\n{call}");
    let mutated = mutants(&source)[0].apply(&source);
    assert_eq!(mutated, source.replace("ä.notify_one()", "()"));
}

#[test]
fn tests_attributes_documentation_and_macros_have_no_mutants() {
    let none = [
        "#[cfg(test)] fn f(c: &C) { c.notify_one(); }",
        "#[test] fn f() { c().notify_one(); }",
        "#[cfg(all(test, unix))] mod m { fn f(c: &C) { c.notify_one(); } }",
        "#[cfg(any(test, all(test, unix)))] impl C { fn f(&self) { self.notify_one(); } }",
        "#![cfg(test)] fn f(c: &C) { c.notify_one(); }",
        "fn f(c: &C) { #[cfg(test)] c.notify_one(); }",
        "fn f(c: &C) { #[cfg(test)] { c.notify_one(); } }",
        "impl C { #[cfg(test)] fn f(&self) { self.notify_one(); } }",
        "trait T { #[cfg(test)] fn f(c: &C) { c.notify_one(); } }",
        "/// c.notify_one(); if 1 < 2 {}\n#[doc = \"1 < 2\"] #[allow(x < 1)] fn f() {}",
        "//! c.notify_one();\n// c.notify_one();\n/* if 1 < 2 {} */ fn f() { \"c.notify_one()\"; }",
        "macro_rules! m { () => { c.notify_one() } } fn f() { assert!(1 < 2); }",
    ];
    for source in none {
        assert_eq!(ids(source), [""; 0], "{source}");
    }
    for source in [
        "#[cfg(not(test))] fn f(c: &C) { c.notify_one(); }",
        "#[cfg(any(test, unix))] fn f(c: &C) { c.notify_one(); }",
        "#[cfg(feature = \"test\")] fn f(c: &C) { c.notify_one(); }",
    ] {
        assert_eq!(ids(source).len(), 1, "{source}");
    }
}

/// `n < 2` is `n <= 1`: what says the same is said once.
#[test]
fn a_bound_is_moved_once_in_each_direction() {
    let off_by_one = |condition: &str| {
        let source = format!("fn f() {{ let b = {condition}; }}");
        let mutants = mutants(&source);
        let kept = mutants.iter().map(|mutant| {
            assert_eq!(mutant.operator, Operator::OffByOne);
            let mutated = mutant.apply(&source);
            let end = mutated.len() - "; }".len();
            mutated["fn f() { let b = ".len()..end].to_owned()
        });
        kept.collect::<Vec<_>>()
    };
    assert_eq!(off_by_one("n < 1"), ["n <= 1"]);
    assert_eq!(off_by_one("n <= 1"), ["n < 1", "n <= 2"]);
    assert_eq!(off_by_one("n > 1"), ["n >= 1", "n > 2"]);
    assert_eq!(off_by_one("n >= 1"), ["n > 1"]);
    assert_eq!(off_by_one("1 < n"), ["2 < n", "1 <= n"]);
    assert_eq!(off_by_one("1 <= n"), ["1 < n"]);
    assert_eq!(off_by_one("1 > n"), ["1 >= n"]);
    assert_eq!(off_by_one("1 >= n"), ["2 >= n", "1 > n"]);
    assert_eq!(off_by_one("n == 0x0f_u8"), ["n == 16u8"]);
    assert_eq!(off_by_one("n + 1 != m"), ["n + 2 != m"]);
    assert_eq!(off_by_one("n == m"), [""; 0]);
    assert_eq!(off_by_one("n == 1.5"), [""; 0]);
    let largest = format!("n == {}", u128::MAX);
    assert_eq!(off_by_one(&largest), [""; 0]);
}

#[test]
fn a_source_that_is_not_rust_has_a_place_for_it() {
    let error = component("fn f() {\n    let ä = = 1;\n}").expect_err("it is not Rust");
    assert_eq!((error.line, error.column), (2, 13), "{error}");
    let error = component("\u{feff}fn f() {\n").expect_err("a bracket is missing");
    assert_eq!(error.line, 1, "{error}");
    assert!(component("").expect("nothing is Rust").mutants.is_empty());
}

// ---- equivalent mutants ------------------------------------------------------

/// Whether each mutant of a source is declared equivalent, and why.
#[track_caller]
fn declared(source: &str) -> Vec<(String, Option<String>)> {
    let mutants = mutants(source);
    mutants
        .into_iter()
        .map(|mutant| (mutant.id(), mutant.equivalent))
        .collect()
}

#[test]
fn a_comment_declares_mutants_of_its_line_or_the_next_one_equivalent() {
    let why = || Some("nobody waits".to_owned());
    let beside =
        "fn f(c: &C) {\n    c.notify_all(); // mutants: equivalent: notify-one: nobody waits\n}";
    let expected = [
        ("no-notify:2:5".to_owned(), None),
        ("notify-one:2:7".to_owned(), why()),
    ];
    assert_eq!(declared(beside), expected);

    let above = "fn f(c: &C) {\n    // mutants: equivalent: notify-one: nobody waits\n    c.notify_all();\n    c.notify_all();\n}";
    let declared_above = declared(above);
    let equivalent = declared_above.iter().filter(|(_, why)| why.is_some());
    let equivalent: Vec<&str> = equivalent.map(|(id, _)| id.as_str()).collect();
    assert_eq!(equivalent, ["notify-one:3:7"]);

    let both = "fn f(c: &C) {\n    // mutants: equivalent: notify-one: nobody waits\n    // mutants:equivalent:no-notify:nobody waits\r\n    c.notify_all();\n}";
    assert!(declared(both).iter().all(|(_, said)| *said == why()));
}

#[test]
fn the_sentence_of_a_declaration_may_go_on_over_the_next_lines() {
    let source = "fn f(c: &C) {
    // Not of it.
    // mutants: equivalent: notify-one: nobody
    //   waits,
    // so it is
    // mutants: equivalent: no-notify: the same
    c.notify_all();
    c.notify_one(); // mutants: equivalent: no-notify: nobody
    // cares.
}";
    let expected = [
        ("no-notify:7:5".to_owned(), Some("the same".to_owned())),
        (
            "notify-one:7:7".to_owned(),
            Some("nobody waits, so it is".to_owned()),
        ),
        ("no-notify:8:5".to_owned(), Some("nobody".to_owned())),
    ];
    assert_eq!(declared(source), expected);
}

#[test]
fn a_declaration_may_name_what_a_mutant_puts_in() {
    let source = "fn f(n: u32) {\n    // mutants: equivalent: off-by-one `>=`: nobody cares: really\n    if n > 1 {}\n}";
    let declared = declared(source);
    let why = Some("nobody cares: really".to_owned());
    assert!(
        declared.contains(&("off-by-one:3:10".to_owned(), why)),
        "{declared:?}"
    );
    assert!(
        declared.contains(&("off-by-one:3:12".to_owned(), None)),
        "{declared:?}"
    );
}

/// The problem with the declarations of a source.
#[track_caller]
fn problem(source: &str) -> String {
    let component = component(source).expect("the component is Rust");
    let [problem] = component.problems.as_slice() else {
        panic!("not one problem: {:?}", component.problems);
    };
    format!("{}:{}: {}", problem.line, problem.column, problem.message)
}

#[test]
fn a_declaration_that_means_nothing_is_a_problem() {
    let of = |comment: &str| {
        problem(&format!(
            "fn f(c: &C) {{\n    {comment}\n    c.notify_one();\n}}"
        ))
    };
    let problems = [
        of("// mutants: equivalent: notify-one: there is none of these"),
        of("// mutants: equivalent: no-notify `x`: none puts this in"),
        of("// mutants: equivalent: notify: not an operator"),
        of("// mutants: equivalent: no-notify"),
        of("// mutants: equivalent: no-notify:  "),
        of("// mutants: equal: no-notify: what is this"),
        problem("fn f() {}\n// mutants: equivalent: no-wait: at the end"),
    ];
    insta::assert_snapshot!(problems.join("\n"));
}

#[test]
fn what_only_looks_like_a_declaration_is_none() {
    for source in [
        "fn f() { \"// mutants: equivalent: no-wait: in a string\"; }",
        "/// // mutants: equivalent: no-wait: documentation\nfn f() {}",
        "/* // mutants: equivalent: no-wait: a block comment */ fn f() {}",
        "/* /* nested */ // mutants: equivalent: no-wait: x\n */ fn f() {}",
        "// Our mutants: equivalent or not.\nfn f() {}",
    ] {
        assert_eq!(ids(source), [""; 0], "{source}");
    }
}
