//! What several test files need.
#![allow(dead_code, reason = "each test file uses a part of it")]

use conan_lang::mask::Opaque;
use conan_lang::{Code, Parsed, parse, render};

/// The script of the language's own reference.
pub(crate) const PRODUCER_CONSUMER: &str = include_str!("../scripts/producer_consumer.conan");

/// A result together with the script that it comes from, for a snapshot.
pub(crate) fn beside(text: &str, result: &str) -> String {
    let text = text.trim_end_matches('\n');
    let result = result.trim_end_matches('\n');
    format!("{text}\n----------------------------------------\n{result}")
}

/// Every diagnostic of a script as people see it, without colours.
pub(crate) fn human(parsed: &Parsed) -> String {
    let each = parsed.diagnostics.iter();
    each.map(|diagnostic| render::human(&parsed.source, diagnostic, false))
        .collect()
}

/// The codes of a script's diagnostics.
pub(crate) fn codes(text: &str) -> Vec<&'static str> {
    let parsed = parse("test.conan", text);
    let codes = parsed
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.code.id());
    codes.collect()
}

/// Fails with the diagnostics if a script has any.
#[track_caller]
pub(crate) fn parse_clean(text: &str) -> Parsed {
    let parsed = parse("test.conan", text);
    assert!(
        parsed.diagnostics.is_empty(),
        "the script is not clean:\n{text}\n{}",
        human(&parsed)
    );
    parsed
}

/// The tree with the text of every place beside its offsets.
pub(crate) fn tree(parsed: &Parsed) -> String {
    let debug = format!("{:#?}", parsed.script);
    each_place(&debug, |start, end| {
        let text = &parsed.source.text()[start..end];
        format!("{start}..{end} «{}»", shorten(text))
    })
}

/// The tree with the text of every place instead of its offsets, white space
/// left out: what formatting must not change.
pub(crate) fn shape(parsed: &Parsed) -> String {
    let debug = format!("{:#?}", parsed.script);
    each_place(&debug, |start, end| {
        let text = &parsed.source.text()[start..end];
        format!("«{}»", text.split_whitespace().collect::<String>())
    })
}

fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(30).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Replaces every `1..5` outside string literals.
fn each_place(debug: &str, replace: impl Fn(usize, usize) -> String) -> String {
    let mut out = String::new();
    let mut rest = debug;
    while let Some(c) = rest.chars().next() {
        let len = match c {
            '"' => string_len(rest),
            '0'..='9' => {
                let word = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
                let word = word.unwrap_or(rest.len());
                let place = rest[..word].split_once("..");
                let place = place.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                if let Some((start, end)) = place {
                    out.push_str(&replace(start, end));
                    rest = &rest[word..];
                    continue;
                }
                word
            }
            c => c.len_utf8(),
        };
        out.push_str(&rest[..len]);
        rest = &rest[len..];
    }
    out
}

fn string_len(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Formats a script and checks all that formatting promises; returns nothing
/// if the script's structure is not clear enough.
#[track_caller]
pub(crate) fn format_checked(text: &str) -> Option<String> {
    let before = parse("test.conan", text);
    let formatted = conan_lang::format(&before).ok()?;
    let after = parse("test.conan", formatted.as_str());
    let context = || format!("of\n{text}\nwhich became\n{formatted}");
    assert_eq!(
        solid(before.source.text()),
        solid(&formatted),
        "more than white space moved {}",
        context()
    );
    assert_eq!(
        shape(&before),
        shape(&after),
        "the tree changed {}",
        context()
    );
    assert_eq!(
        parts(&before),
        parts(&after),
        "literals or comments changed {}",
        context()
    );
    let codes = |parsed: &Parsed| -> Vec<Code> {
        parsed
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.code)
            .collect()
    };
    assert_eq!(
        codes(&before),
        codes(&after),
        "the diagnostics changed {}",
        context()
    );
    let again = conan_lang::format(&after);
    let again = again.unwrap_or_else(|_| panic!("refused the second time {}", context()));
    assert_eq!(
        formatted,
        again,
        "the second time is different {}",
        context()
    );
    Some(formatted)
}

fn solid(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Literals byte for byte, comments and conditions without white space.
fn parts(parsed: &Parsed) -> Vec<String> {
    let parts = parsed.mask.parts.iter().map(|(kind, span)| match kind {
        Opaque::Literal => parsed.source.slice(*span).to_owned(),
        Opaque::Comment | Opaque::Condition => solid(parsed.source.slice(*span)),
    });
    parts.collect()
}
