//! The pages of the diagnostics show what they say they show.

mod common;

use conan_lang::{Code, Parsed, parse, parse_bytes};

const SCRIPT: &str = "queue.conan";

/// The fenced blocks of a page that have this info string.
fn blocks<'p>(page: &'p str, info: &str) -> Vec<&'p str> {
    let fences = page.split("```").skip(1).step_by(2);
    fences
        .filter_map(|fence| fence.strip_prefix(info)?.strip_prefix('\n'))
        .collect()
}

#[track_caller]
fn assert_shows(code: Code, parsed: &Parsed) {
    let id = code.id();
    let human = common::human(parsed);
    let codes = parsed.diagnostics.iter().map(|diagnostic| diagnostic.code);
    assert!(
        codes.into_iter().any(|found| found == code),
        "no {id} in\n{human}"
    );
    for output in blocks(code.page(), "text") {
        assert!(
            human.contains(output.trim_end()),
            "the page of {id} shows\n{output}\nbut it is\n{human}"
        );
    }
}

#[test]
fn every_bad_example_has_the_code_of_its_page_and_its_message() {
    for &code in Code::ALL {
        let bad = blocks(code.page(), "conan,bad");
        // Bytes that are not UTF-8 cannot be in a page, and whether a script
        // is included does not depend on the script.
        if matches!(code, Code::InvalidUtf8 | Code::NotIncluded) {
            assert!(bad.is_empty(), "{}", code.id());
            continue;
        }
        assert_eq!(bad.len(), 1, "{} has one bad example", code.id());
        assert_shows(code, &parse(SCRIPT, bad[0]));
    }
}

#[test]
fn every_good_example_is_clean() {
    for &code in Code::ALL {
        let good = blocks(code.page(), "conan,good");
        let expected = usize::from(code != Code::NotIncluded);
        assert_eq!(good.len(), expected, "good examples of {}", code.id());
        for example in good {
            common::parse_clean(example);
            let formatted = common::format_checked(example);
            assert_eq!(
                formatted.as_deref(),
                Some(example),
                "{} is formatted",
                code.id()
            );
        }
    }
}

#[test]
fn the_page_about_bytes_shows_what_a_byte_does() {
    let good = blocks(Code::InvalidUtf8.page(), "conan,good")[0];
    let mut bytes = good.as_bytes().to_vec();
    let at = good.find("1;").expect("the byte that is replaced");
    bytes[at] = 0xff;
    assert_shows(Code::InvalidUtf8, &parse_bytes(SCRIPT, bytes));
}

#[test]
fn every_page_is_in_the_book() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/diagnostics");
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).expect(name);
    let index = read("README.md");
    for code in Code::ALL {
        let (id, title) = (code.id(), code.title());
        let row = format!("| [{id}]({id}.md) | {title} | {} |", code.severity().name());
        assert!(index.contains(&row), "the index lacks {row}");
        let page = read(&format!("{id}.md"));
        assert_eq!(
            page,
            format!("{{{{#include ../../../conan-lang/src/pages/{id}.md}}}}\n")
        );
    }
}
