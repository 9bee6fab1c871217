//! A fragment is scanned as Rust: nothing in a string, a comment or a bracket
//! is taken for a directive or a separator.

mod common;

use conan_lang::tree::{TemplateKind, TickItem};
use conan_lang::{Parsed, parse};

/// Checks that a thread's code is clean, is all of it, and has just these
/// templates, each as its parts.
#[track_caller]
fn check(code: &str, templates: &[&[&str]]) {
    let text = format!("#begin\n#tick\n#thread <t>\n{code}\n#end\n#end\n#end\n");
    let parsed = common::parse_clean(&text);
    let block = parsed.script.sequences[0].thread_blocks().next();
    let (_, block) = block.expect("the thread is there");
    assert_eq!(parsed.source.slice(block.code.span), code);
    let found = block
        .code
        .templates
        .iter()
        .map(|template| parts(&parsed, &template.kind));
    let found: Vec<Vec<&str>> = found.collect();
    assert_eq!(found, templates);
}

fn parts<'p>(parsed: &'p Parsed, kind: &TemplateKind) -> Vec<&'p str> {
    use conan_lang::tree::Exception;
    let fragments = match kind {
        TemplateKind::ExcMonitor { code, expected } => {
            let expected = match expected {
                Some(Exception::Pattern(pattern)) => Some(*pattern),
                Some(Exception::Panic { part }) => *part,
                None => None,
            };
            [Some(*code), expected]
        }
        TemplateKind::ValueCheck { actual, expected } => [Some(*actual), Some(*expected)],
        TemplateKind::MatchCheck { actual, pattern } => [Some(*actual), Some(*pattern)],
        TemplateKind::WakeCheck(_) => [None, None],
    };
    let texts = fragments.into_iter().flatten();
    texts
        .map(|fragment| parsed.source.slice(fragment.span))
        .collect()
}

#[test]
fn end_in_a_string_ends_nothing() {
    check("f(\"#end\");", &[]);
    check(
        "#excMonitor f(\"#end # #tick\"); #end",
        &[&["f(\"#end # #tick\");"]],
    );
    check("f(\"a \\\" #end \\\\\");", &[]);
    check("f(\"two\n    #end\n    lines\");", &[]);
    check("f(\"goes on \\\n    #end\");", &[]);
}

#[test]
fn a_separator_in_a_string_parts_nothing() {
    check(
        "#valueCheck \"#\" # \"a # b\" #end",
        &[&["\"#\"", "\"a # b\""]],
    );
}

#[test]
fn raw_strings_end_with_as_many_hashes_as_they_began() {
    check("f(r\"\\\"); // #end\ng(r\"#end\");", &[]);
    check("f(r#\"a \" #end \"#);", &[]);
    check("f(r##\"a \"# #end \"##);", &[]);
    check(
        "#valueCheck r#\"#\"# # r###\"\"## # #end\"### #end",
        &[&["r#\"#\"#", "r###\"\"## # #end\"###"]],
    );
}

#[test]
fn byte_and_c_strings() {
    check(
        "f(b\"#end\", br\"#end\", br#\"\" #end\"#, c\"#end\", cr#\"\" #end\"#);",
        &[],
    );
    check("f(b\"\\\" #end\");", &[]);
}

#[test]
fn characters_are_told_from_lifetimes() {
    check(
        "f('#', '\"', '\\'', '\\\\', '\\u{23}', 'ä', b'#', b'\"', b'\\'');",
        &[],
    );
    check(
        "fn f<'a, 'b: 'a>(x: &'a str, y: &'b str) -> &'a str { x }",
        &[],
    );
    check("'outer: loop { break 'outer; }", &[]);
    check(
        "#valueCheck m.receive() # '\"' #end f(\"\");",
        &[&["m.receive()", "'\"'"]],
    );
    check("f::<'static>('a', 'b');", &[]);
}

#[test]
fn comments_hide_what_is_in_them() {
    check("f(); // #end\ng();", &[]);
    check("f(/* #end # ) */);", &[]);
    check("f(); // it's \"\ng();", &[]);
    check(
        "#valueCheck 1 /* # */ # /* # */ 2 // #end\n#end",
        &[&["1", "2"]],
    );
}

#[test]
fn nested_comments_end_with_the_outermost() {
    check("f(/* a /* b */ #end /* c */ */);", &[]);
    check("f(/**/); g(/***/);", &[]);
}

#[test]
fn doc_comments_are_comments() {
    check("f();\n/// an #end\nfn f() {}", &[]);
    check("f();\n/** an #end */\nfn f() {}\n/// more\nfn g() {}", &[]);
}

#[test]
fn raw_identifiers_have_no_separator() {
    check(
        "#valueCheck r#type # r#match #end",
        &[&["r#type", "r#match"]],
    );
    check("let r#end = r#fn(1);", &[]);
}

#[test]
fn attributes_are_code() {
    check("#[allow(unused)]\nlet x = 1;", &[]);
    check("#[cfg(test)] { #![allow(unused)] f(); }", &[]);
    check(
        "#excMonitor #[allow(unused)] let x = f(); #end",
        &[&["#[allow(unused)] let x = f();"]],
    );
}

#[test]
fn a_separator_stands_outside_every_bracket() {
    check(
        "#valueCheck f!(a # b) # g!([#] {#}) #end",
        &[&["f!(a # b)", "g!([#] {#})"]],
    );
    check("f!(a # b);", &[]);
    check("#valueCheck [1, 2] # [1, 2] #end", &[&["[1, 2]", "[1, 2]"]]);
    check("#matchCheck x # A { b, .. } #end", &[&["x", "A { b, .. }"]]);
}

#[test]
fn templates_stand_in_loops_closures_and_arms() {
    check(
        "for i in 0..3 { while f(i) { #valueCheck i # 1 #end } }",
        &[&["i", "1"]],
    );
    check(
        "let f = |x| { #excMonitor g(x); #end };\nmatch 1 { 1 => { #valueCheck 1 # 1 #end } _ => {} }",
        &[&["g(x);"], &["1", "1"]],
    );
}

#[test]
fn templates_stand_side_by_side_without_semicolons() {
    let many = "#valueCheck time() # 1 #end ".repeat(500);
    let parts: &[&str] = &["time()", "1"];
    check(many.trim_end(), &vec![parts; 500]);
}

#[test]
fn templates_outside_threads_are_items_of_their_tick() {
    let text = "#begin #tick\n#valueCheck \"#end\" # \"#\" #end\n#excMonitor f(); #end\n#end #end";
    let parsed = common::parse_clean(text);
    let items = parsed.script.sequences[0].items();
    let found: Vec<Vec<&str>> = items
        .map(|(_, item)| match item {
            TickItem::Template(template) => parts(&parsed, &template.kind),
            other => panic!("not a template: {other:?}"),
        })
        .collect();
    assert_eq!(found, [vec!["\"#end\"", "\"#\""], vec!["f();"]]);
}

#[test]
fn everything_may_stand_on_one_line() {
    let text = "#ticktime 5 #cut m M::new() #top fn f() {} #end #shared s x: u8 = 1; fn g(&self) {} #end \
                #begin one #test C1 #stays t #tick #thread <t> f(); #valueCheck 1 # 1 #end #end \
                #suspended t #end #tick #end #end";
    let parsed = common::parse_clean(text);
    let script = &parsed.script;
    assert_eq!(script.ticktime_ms(), 5);
    assert_eq!(
        parsed.source.slice(script.cuts[0].constructor.span),
        "M::new()"
    );
    assert_eq!(parsed.source.slice(script.tops[0].items.span), "fn f() {}");
    let members = &script.shared.as_ref().expect("a shared block").members;
    assert_eq!(members.len(), 2);
    let sequence = &script.sequences[0];
    assert_eq!(sequence.ticks.len(), 2);
    assert_eq!(sequence.ticks[0].items.len(), 2);
    assert_eq!(script.test_cases(), 1);
}

#[test]
fn conditions_are_free_text_with_apostrophes_and_quotes() {
    let text = "#conditions\n  C1 it's \"half a quote\n  C2 'tis r#\"raw (and [open\n  C3 a #hash, # alone, #tick\n\
                  C4 last #end\n#begin #test C1 C2 C3 C4 #tick #end #end";
    let parsed = common::parse_clean(text);
    let conditions = parsed
        .script
        .conditions
        .as_ref()
        .expect("the block is there");
    let found: Vec<(&str, &str)> = conditions
        .items
        .iter()
        .map(|condition| (condition.id.value.as_str(), condition.text.value.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("C1", "it's \"half a quote"),
            ("C2", "'tis r#\"raw (and [open"),
            ("C3", "a #hash, # alone, #tick"),
            ("C4", "last"),
        ]
    );
}

#[test]
fn conditions_of_unusual_white_space_are_read_to_their_end() {
    for space in ["\u{a0}", "\u{b}", "\u{c}", "\u{2003}", "\u{85}", "\u{2028}"] {
        let text = format!(
            "#conditions\n{space}\n{space}C1 one\n{space}#end\n#begin #test C1 #tick #end #end"
        );
        let parsed = parse("test.conan", text.as_str());
        let conditions = parsed
            .script
            .conditions
            .as_ref()
            .expect("the block is there");
        assert_eq!(conditions.items.len(), 1, "{space:?}");
    }
}

#[test]
fn carriage_returns_are_white_space() {
    let unix = common::PRODUCER_CONSUMER;
    let dos = unix.replace('\n', "\r\n");
    let (unix, dos) = (common::parse_clean(unix), common::parse_clean(&dos));
    assert_eq!(common::shape(&unix), common::shape(&dos));
    let conditions = dos.script.conditions.as_ref().expect("the block is there");
    assert_eq!(conditions.items[3].text.value, "one sender suspended");
}

#[test]
fn places_after_carriage_returns_are_exact() {
    let text = "#begin\r\n#tick\r\n#thread\r\nlet x = ;\r\n#end\r\n#end\r\n#end\r\n";
    let parsed = parse("test.conan", text);
    let at = parsed.source.position(parsed.diagnostics[0].span.start);
    assert_eq!((at.line, at.column), (4, 9));
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let text = "\u{feff}#begin #tick #end #end";
    let parsed = common::parse_clean(text);
    assert_eq!(parsed.script.sequences[0].begin.start, 0);
    let bytes = conan_lang::parse_bytes("test.conan", text.as_bytes().to_vec());
    assert!(bytes.diagnostics.is_empty());
}

#[test]
fn names_may_be_of_any_alphabet() {
    let text = "#cut größe M::new()\n#begin größer #tick #thread <日本> größe.f(); #end #suspended 日本 #end #end";
    let parsed = common::parse_clean(text);
    assert_eq!(parsed.script.cuts[0].names[0].value, "größe");
}
