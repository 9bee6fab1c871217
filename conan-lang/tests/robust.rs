//! Nothing that a file can contain crashes the reader, hangs it, or makes it
//! take more than linear time and memory.

mod common;

use std::time::{Duration, Instant};

use conan_lang::{Code, Parsed, parse, parse_bytes, render};
use proptest::prelude::*;

/// Runs everything that can be run on a script.
fn exercise(parsed: &Parsed) {
    for diagnostic in parsed.diagnostics.iter().take(10) {
        render::human(&parsed.source, diagnostic, false);
        render::human(&parsed.source, diagnostic, true);
        render::short(&parsed.source, diagnostic);
        render::github(&parsed.source, diagnostic);
        render::json(&parsed.source, diagnostic);
    }
    parsed.script.test_cases();
    parsed.source.line_count();
    let in_order = parsed.diagnostics.is_sorted_by_key(|d| d.span.start);
    assert!(in_order, "the diagnostics are not in the order of the text");
}

/// Runs `f` on a thread with the stack that tests have by default.
fn on_small_stack<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(f);
    let thread = thread.expect("a thread can be started");
    thread.join().expect("the thread does not panic")
}

fn in_thread(code: &str) -> String {
    format!("#begin\n#tick\n#thread\n{code}\n#end\n#end\n#end\n")
}

/// Parses a script on a small stack, does everything with it, and returns its
/// codes.
fn codes_of(text: String) -> Vec<Code> {
    on_small_stack(move || {
        let start = Instant::now();
        let parsed = parse("test.conan", text);
        exercise(&parsed);
        if parsed.source.text().len() < 1 << 20 {
            let _ = conan_lang::format(&parsed);
        }
        let taken = start.elapsed();
        // A few seconds in a debug build, for the largest of them; what is not
        // linear would take days.
        assert!(taken < Duration::from_secs(120), "took {taken:?}");
        parsed
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.code)
            .collect()
    })
}

// ---- depth ------------------------------------------------------------------

#[test]
fn ten_thousand_nested_brackets_are_an_error() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("f(", ")"),
        ("||{", "}"),
    ] {
        let deep = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
        for text in [
            in_thread(&format!("let x = {deep};")),
            in_thread(&format!("#valueCheck {deep} # 1 #end")),
            in_thread(&format!("#valueCheck 1 # {deep} #end")),
            in_thread(&format!("#matchCheck 1 # {deep} #end")),
            in_thread(&format!("#excMonitor {deep} #end")),
            in_thread(&format!("#wakeCheck {deep} #end")),
            format!("#top fn f() {{ {deep} }} #end\n#begin #tick #end #end"),
            format!("#cut m {deep}\n#begin #tick #end #end"),
            format!("#cut {deep} m\n#begin #tick #end #end"),
            format!("#shared s\nx: u8 = {deep};\n#end\n#begin #tick #end #end"),
        ] {
            assert!(codes_of(text).contains(&Code::TooDeep), "{open}");
        }
    }
}

#[test]
fn ten_thousand_brackets_that_are_only_opened_or_only_closed() {
    for bracket in ["(", "[", "{", ")", "]", "}"] {
        let deep = bracket.repeat(10_000);
        for text in [
            in_thread(&deep),
            in_thread(&format!("#valueCheck {deep} # 1 #end")),
            deep,
        ] {
            assert!(!codes_of(text).is_empty(), "{bracket}");
        }
    }
}

#[test]
fn ten_thousand_nested_comments_are_one() {
    let deep = format!("{}{}", "/*".repeat(10_000), "*/".repeat(10_000));
    assert_eq!(codes_of(in_thread(&deep)), []);
    assert_eq!(codes_of(format!("{deep} #begin #tick #end #end")), []);
    let open = "/*".repeat(10_000);
    assert_eq!(codes_of(in_thread(&open)), [Code::Unterminated]);
}

#[test]
fn ten_thousand_blocks_inside_one_another() {
    for word in [
        "#begin",
        "#tick",
        "#thread",
        "#top",
        "#valueCheck",
        "#excMonitor",
        "#shared s",
        "#what",
    ] {
        let opened = format!("{word} ").repeat(10_000);
        let closed = format!("{opened}{}", "#end ".repeat(10_000));
        assert!(!codes_of(opened).is_empty(), "{word}");
        assert!(!codes_of(closed).is_empty(), "{word}");
    }
}

/// What a recursive parser has to recurse for, as a part that is repeated, with
/// what stands before and behind it. None of them is limited by brackets.
const CHAINS: &[(&str, &str, &str)] = &[
    ("", "!", "x;"),
    ("", "-", "x;"),
    ("", "& ", "x;"),
    ("", "&mut ", "x;"),
    ("", "*", "x;"),
    ("a", "+a", ";"),
    ("a", "||a*a", ";"),
    ("", "a=", "a;"),
    ("", "a+=", "a;"),
    ("", "return ", "a;"),
    ("", "break ", "a;"),
    ("", "||", "a;"),
    ("", "|x|", "a;"),
    ("", "|x, y|", "a;"),
    ("", "move||", "a;"),
    ("x", " as T", ";"),
    ("x", ".a()", ";"),
    ("x", ".a", ";"),
    ("x", "?", ";"),
    ("x", "[0]", ";"),
    ("x", "()", ";"),
    ("x", ".await", ";"),
    ("", "if a {} else ", "{}"),
    ("let x: ", "&", "T = 1;"),
    ("let x: ", "&'a mut ", "T = 1;"),
    ("let x: ", "*const ", "T = 1;"),
    ("let x: ", "fn()->", "T = 1;"),
    ("let x: ", "impl Fn()->", "T = 1;"),
    ("let x: ", "impl for<'a, 'b> Fn()->", "T = 1;"),
    ("let x: ", "&dyn Fn()->", "T = 1;"),
    ("let ", "& ", "x = 1;"),
    ("let ", "a@", "_ = 1;"),
    ("let A", "|A", " = 1;"),
    ("if ", "let a=", "b {}"),
    ("if a", " && let A=b", " {}"),
    ("", "#[a] ", "x;"),
    ("a", "::a", ";"),
    ("", "&raw const ", "a;"),
    ("", "match ", "x {}"),
    ("", "while ", "x {}"),
    ("for x in ", "for x in ", "y {}"),
    ("", "a::<u8, u8> = ", "a;"),
    ("use ", "a::", "x;"),
    ("let x: impl A", "+A", " = 1;"),
];

/// The same for what is closed again behind the middle.
const NESTS: &[(&str, &str, &str, &str, &str)] = &[
    ("let x: ", "A<", "B", ">", " = 1;"),
    ("let x: ", "A<u8, ", "B", ">", " = 1;"),
    ("let x: ", "A<X = ", "B", ">", " = 1;"),
    ("let x: ", "A<&'a ", "B", ">", " = 1;"),
    ("let x: ", "<", "B", " as T>::X", " = 1;"),
    ("", "A::<", "B", ">", "::x();"),
    ("", "(", "x", ")", ";"),
    ("", "[", "x", "]", ";"),
    ("", "{", "x", "}", ";"),
    ("", "f(1, ", "x", ")", ";"),
    ("", "x.f(", "x", ")", ";"),
    ("", "!(", "x", ")", ";"),
    ("", "||{", "x", "}", ";"),
    ("", "match x { _ => ", "x", " }", ";"),
    ("", "match x { _ => {", "x", "} }", ";"),
    ("", "if a { b; ", "x", "}", ""),
    ("", "if a {} else {", "x", "}", ""),
    ("", "for a in b {", "x", "}", ""),
    ("", "loop {", "x", "}", ""),
    ("", "fn f() {", "", "}", ""),
    ("", "mod f {", "", "}", ""),
    ("", "impl A { fn f() {", "", "} }", ""),
    ("let x: ", "(", "A", ",)", " = 1;"),
    ("let x: ", "[", "A", "; 1]", " = 1;"),
    ("let ", "(", "A", ",)", " = 1;"),
    ("let ", "A(", "A", ")", " = 1;"),
    ("let x = ", "A { x: ", "1", " }", ";"),
    ("use ", "a::{", "x", "}", ";"),
    ("let x: [A; ", "{ [A; ", "1", "] }", "];"),
    // Long runs on every level at once.
    ("", "-!&*&mut a = |x| return f(", "x", ")", ";"),
    ("let x: ", "&&&&&&&&(", "A", ",)", " = 1;"),
];

#[test]
fn fragments_just_below_the_limits_are_parsed_and_just_above_are_refused() {
    let chain = |(before, part, after): &(&str, &str, &str), n: usize| {
        format!("{before}{}{after}", part.repeat(n))
    };
    for parts in CHAINS {
        assert_limited(&|n| chain(parts, n));
    }
    for (before, open, middle, close, after) in NESTS {
        assert_limited(&|n| {
            format!(
                "{before}{}{middle}{}{after}",
                open.repeat(n),
                close.repeat(n)
            )
        });
    }
}

/// Finds where a fragment becomes too deep, and parses what is around it.
#[track_caller]
fn assert_limited(fragment: &dyn Fn(usize) -> String) {
    let too_deep = |text: String| codes_of(text).contains(&Code::TooDeep);
    let (mut fits, mut fails) = (1, 2_000);
    assert!(!too_deep(in_thread(&fragment(fits))), "{}", fragment(fits));
    assert!(too_deep(in_thread(&fragment(fails))), "{}", fragment(3));
    while fails - fits > 1 {
        let middle = usize::midpoint(fits, fails);
        if too_deep(in_thread(&fragment(middle))) {
            fails = middle;
        } else {
            fits = middle;
        }
    }
    assert!(fits >= 30, "{} is refused {fits} deep already", fragment(3));
    for n in [fits - 2, fits, fails, 10_000] {
        let code = fragment(n);
        codes_of(format!(
            "#top fn f() {{ {code} }} #end\n#begin #tick #end #end"
        ));
        codes_of(in_thread(&format!("#excMonitor {code} #end")));
        codes_of(in_thread(&format!("#valueCheck {{ {code} }} # 1 #end")));
    }
}

#[test]
fn ordinary_code_is_not_too_deep() {
    let table = format!(
        "let t = [{}];",
        "-1, &x, *y, f(|a, b| a + b), A::<u8, u8>::new(), ".repeat(5_000)
    );
    assert_eq!(codes_of(in_thread(&table)), []);
    let statements =
        "let x = if a < b && c > d { f(1)?.g() } else { *h() };\nif a < b { c(); }\n*x = 1;\n"
            .repeat(5_000);
    assert_eq!(codes_of(in_thread(&statements)), []);
    let arms = format!(
        "match x {{ {} }}",
        "n if n < MAX => {}\n Some(1 | 2) | None => f(),\n".repeat(5_000)
    );
    assert_eq!(codes_of(in_thread(&arms)), []);
    let items = "#[derive(Debug, Clone)] struct S<T: A<B>> { x: Vec<T>, y: fn(u8) -> u8 }\n\
                 impl<T> S<T> { const A: u8 = 1 << 2; fn f(&self) -> Option<&T> { self.x.first() } }\n";
    let text = format!("#top {} #end\n#begin #tick #end #end", items.repeat(2_000));
    assert_eq!(codes_of(text), []);
}

// ---- size -------------------------------------------------------------------

#[test]
fn one_line_of_ten_megabytes() {
    for part in ["a", "#", "\"", "-", "r#\"", "(", "'"] {
        let line = part.repeat((10 << 20) / part.len());
        codes_of(in_thread(&line));
        codes_of(line);
    }
}

/// A long line of something: alone, and wherever it can stand.
fn check_long_line(part: &str) {
    let line = part.repeat(4_000 / part.len());
    codes_of(in_thread(&line));
    codes_of(in_thread(&format!("#valueCheck {line} # 1 #end")));
    codes_of(format!("#conditions\n{line}\n#end\n#begin #tick #end #end"));
    codes_of(format!("#begin\n{line}\n#tick\n#end\n#end"));
    codes_of(format!("#begin\n#tick {line}\n#end\n#end"));
    codes_of(format!("#top {line} #end\n#begin #tick #end #end"));
    codes_of(format!("#shared {line} #end\n#begin #tick #end #end"));
    codes_of(format!("#cut {line}\n#begin #tick #end #end"));
    codes_of(line);
}

#[test]
fn long_lines_of_all_that_has_a_meaning() {
    let parts = [
        "a",
        "#",
        "\"",
        "-",
        "r#\"",
        "(",
        "'",
        "# ",
        "#a ",
        "#end ",
        "#tick ",
        "#thread <a> ",
        "#Thread <a> ",
        "#begin a #tick #end #end ",
        "#valueCheck 1 # 1 #end ",
        "#test a ",
        "#cut m M ",
        "#stays a ",
        "#conditions ",
        "#excMonitor ",
        "a;",
        "ä",
        "//",
        "/*",
        "a b ",
        "{}",
        "<",
        "<a,",
        ",",
        "\\",
        "\"#end ",
        "#[",
        "|",
        "\r",
        "\u{a0}",
        "\u{feff}",
        "\0",
        "take ",
        "..",
        "panic ",
    ];
    for part in parts {
        check_long_line(part);
    }
}

#[test]
fn a_megabyte_on_one_line_is_formatted() {
    let code = in_thread(&"f(\"a\"); ".repeat((1 << 20) / 9));
    let parsed = parse("test.conan", code);
    assert!(conan_lang::format(&parsed).is_ok());
}

#[test]
fn a_hundred_thousand_lines() {
    let sequence = &common::PRODUCER_CONSUMER[common::PRODUCER_CONSUMER
        .find("#begin")
        .expect("it is there")..];
    let lines = sequence.lines().count();
    let declarations =
        &common::PRODUCER_CONSUMER[..common::PRODUCER_CONSUMER.len() - sequence.len()];
    let text = format!("{declarations}{}", sequence.repeat(100_000 / lines));
    assert_eq!(codes_of(text.clone()), []);
    // The same with a mistake on every line, and with one at its start.
    assert!(codes_of(text.replace("#end", "#ends")).len() > 1_000);
    assert!(!codes_of(format!("#top\n{text}")).is_empty());
    assert!(!codes_of("x\n".repeat(100_000)).is_empty());
    assert!(!codes_of("\n".repeat(100_000)).is_empty());
}

// ---- chance -----------------------------------------------------------------

/// Words of scripts and of Rust, and what confuses a scanner.
const PIECES: &[&str] = &[
    "#ticktime",
    "#cut",
    "#conditions",
    "#top",
    "#shared",
    "#begin",
    "#test",
    "#stays",
    "#wakeTimes",
    "#tick",
    "#suspended",
    "#finished",
    "#thread",
    "#excMonitor",
    "#valueCheck",
    "#matchCheck",
    "#wakeCheck",
    "#end",
    "#end",
    "#end",
    "#",
    "##",
    "#x",
    "#1",
    "#[a]",
    "#![a]",
    "<a>",
    "<",
    ">",
    "x 2",
    "takes",
    "clones",
    "take w",
    "panic",
    "m",
    "tx",
    "1",
    "3..4",
    "{2, 3}",
    "fn f() {}",
    "let x = 1;",
    "use a::b;",
    "x: u8 = 1;",
    "fn g(&self) {}",
    "a.b()",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    ",",
    "=",
    "|",
    "&",
    "\"",
    "'",
    "'a",
    "'a'",
    "'\\n'",
    "\"s\"",
    "r#\"",
    "\"#",
    "r#a",
    "b\"",
    "//",
    "/*",
    "*/",
    "///",
    "\\",
    "ä",
    "\u{feff}",
    "\u{a0}",
    "\u{2028}",
    "\r",
    "\r\n",
    "\n",
    "\n",
    "\n    ",
    "\t",
    " ",
    "\0",
    "C1 it's",
    "-",
    "if",
    "else",
    "loop",
];

fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    let gap = prop_oneof![3 => Just(" "), 1 => Just(""), 1 => Just("\n")];
    prop::collection::vec((piece, gap), 0..60)
        .prop_map(|parts| parts.into_iter().map(|(piece, gap)| piece + gap).collect())
}

const SCRIPTS: &[&str] = &[
    common::PRODUCER_CONSUMER,
    "#cut (tx, rx) channel::<u32>()\n#shared s\n    log: Mutex<Vec<u32>> = Mutex::new(Vec::new()); // all\n    \
         fn teardown(&self) { assert!(self.log.lock().is_ok()); }\n#end\n#begin named\n    #wakeTimes w 3 4\n    \
         #stays <q> p.1\n    #tick\n        #thread <p> x 2 clones tx\n            for i in 0..3 {\n                \
                 #excMonitor tx.send(\"#end\"); #end /* x */\n            }\n            #wakeCheck take w #end\n        \
             #end\n        #thread <q> takes rx let v = rx.recv()?; #matchCheck v # Some('#') if true #end #end\n        \
             #suspended p.0 q\n        #valueCheck s.log.lock().len() # 0 #end\n    #end\n#end\n",
    "#conditions C1 it's #end #top\r\n/// doc\r\nfn f<'a>(x: &'a str) -> &'a str { x }\r\n#end\r\n#begin #test C1\r\n\
         #tick #thread #excMonitor f(r#\"\"#) # panic \"x\" #end #wakeCheck {2, 4} #end #end #end #end",
];

/// Cuts a script into words, gaps and single characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = 0;
    let kind = |c: char| (c.is_alphanumeric() || c == '_', c.is_whitespace());
    let mut last = None;
    for (at, c) in text.char_indices() {
        let this = kind(c);
        let goes_on = last == Some(this) && this != (false, false);
        if !goes_on && at > start {
            tokens.push(&text[start..at]);
            start = at;
        }
        last = Some(this);
    }
    tokens.push(&text[start..]);
    tokens
}

/// A good script with a few tokens left out, doubled, swapped or replaced.
fn mutated() -> impl Strategy<Value = String> {
    let change = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        0..5_u8,
    );
    let changes = prop::collection::vec((change, prop::sample::select(PIECES)), 1..6);
    (prop::sample::select(SCRIPTS), changes).prop_map(|(script, changes)| {
        let mut tokens = tokens(script);
        for ((a, b, what), piece) in changes {
            let (a, b) = (a.index(tokens.len()), b.index(tokens.len()));
            match what {
                0 if tokens.len() > 1 => drop(tokens.remove(a)),
                1 => tokens.insert(a, tokens[a]),
                2 => tokens.swap(a, b),
                3 => tokens[a] = piece,
                _ => tokens.insert(a, piece),
            }
        }
        tokens.concat()
    })
}

fn check_anything(text: &str) {
    let parsed = parse("test.conan", text);
    exercise(&parsed);
    common::format_checked(text);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        exercise(&parse_bytes("test.conan", bytes));
    }

    #[test]
    fn any_text(text in any::<String>()) {
        check_anything(&text);
    }

    #[test]
    fn any_soup_of_directives_and_rust(text in soup()) {
        check_anything(&text);
    }

    #[test]
    fn any_script_with_a_few_slips(text in mutated()) {
        check_anything(&text);
    }

    #[test]
    fn any_script_with_a_bad_byte(
        script in prop::sample::select(SCRIPTS),
        at in any::<prop::sample::Index>(),
        byte in 0x80..=0xff_u8,
    ) {
        let mut bytes = script.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let parsed = parse_bytes("test.conan", bytes);
        prop_assert!(parsed.diagnostics.iter().any(|d| d.code == Code::InvalidUtf8));
        exercise(&parsed);
    }
}
