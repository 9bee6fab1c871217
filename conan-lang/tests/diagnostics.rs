//! What a user reads about a script that is wrong: the code, the place, the
//! label, the help; and that one slip is one message.

mod common;

use conan_lang::{Code, parse, render};

/// Snapshots everything that is said about a script.
#[track_caller]
fn check(name: &str, text: &str) {
    let parsed = parse("test.conan", text);
    let snapshot = common::beside(text, &common::human(&parsed));
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(name, snapshot);
    });
}

/// The same for the inside of a thread of an otherwise good script.
#[track_caller]
fn check_thread(name: &str, code: &str) {
    check(
        name,
        &format!("#begin\n#tick\n#thread <t>\n{code}\n#end\n#end\n#end\n"),
    );
}

/// The same for the inside of a sequence with one thread `t`.
#[track_caller]
fn check_sequence(name: &str, inside: &str) {
    check(
        name,
        &format!("#begin\n{inside}\n#tick\n#thread <t>\n#end\n#end\n#end\n"),
    );
}

/// What is said in one word each: `CN001@3:5`.
#[track_caller]
fn assert_places(text: &str, expected: &[&str]) {
    let parsed = parse("test.conan", text);
    let each = parsed.diagnostics.iter().map(|diagnostic| {
        let at = parsed.source.position(diagnostic.span.start);
        format!("{}@{}:{}", diagnostic.code.id(), at.line, at.column)
    });
    let found: Vec<String> = each.collect();
    assert_eq!(found, expected, "{text}\n{}", common::human(&parsed));
}

// ---- directives and blocks --------------------------------------------------

#[test]
fn unknown_directives_are_named_with_the_nearest_known_one() {
    check_thread(
        "unknown_directive",
        "#frobnicate now\n#valuecheck 1 # 1 #end\n#wakecheck 3 #end",
    );
}

#[test]
fn a_near_miss_is_one_error_and_is_read_as_what_was_meant() {
    assert_places(
        "#Cut m M::new()\n#Conditions\nC1 it's\n#end\n#begin\n#Test C1\n#ticks\n\
         #Thread <a> x 2 clones m\n#valuecheck 1 # 1 #ends\n#end\n#suspend a.0\n#end\n#end\n",
        &[
            "CN001@1:1",
            "CN001@2:1",
            "CN001@6:1",
            "CN001@7:1",
            "CN001@8:1",
            "CN001@9:1",
            "CN001@9:19",
            "CN001@11:1",
        ],
    );
}

#[test]
fn an_unknown_directive_with_an_end_of_its_own_is_one_error() {
    assert_places(
        "#begin\n#tick\n#thread <a>\n#assertEqual 1 # 2 #end\n#end\n#end\n#tick\n#end\n#end\n",
        &["CN001@4:1"],
    );
    assert_places(
        "#suite\n#begin\n#tick\n#thread <a>\nlet x = ;\n#end\n#end\n#end\n#end\n",
        &["CN001@1:1"],
    );
}

#[test]
fn an_unknown_directive_without_an_end_is_one_error() {
    assert_places(
        "#begin\n#tick\n#thread <a>\n#assert(1, 2);\n#end\n#end\n#end\n",
        &["CN001@4:1"],
    );
}

#[test]
fn a_missing_end_is_found_by_indentation() {
    check(
        "missing_end_of_a_thread",
        "#begin\n    #tick\n        #thread <a>\n            m.send(1);\n    #end\n    \
             #tick\n        #thread <b>\n            m.send(2);\n        #end\n    #end\n#end\n",
    );
    check(
        "missing_end_of_a_tick",
        "#begin\n    #tick\n        #thread <a>\n        #end\n    #tick\n        \
             #thread <b>\n        #end\n    #end\n#end\n",
    );
}

#[test]
fn a_missing_end_of_a_template_costs_nothing_but_that() {
    check(
        "missing_end_of_a_template",
        "#begin\n    #tick\n        #thread <a>\n            #valueCheck 1 # 1\n            \
             let x = 2;\n            #valueCheck x # 2 #end\n        #end\n    #end\n#end\n",
    );
    assert_places(
        "#begin\n    #tick\n        #thread <a>\n            #valueCheck 1 # 1\n        #end\n    #end\n#end\n",
        &["CN002@4:13"],
    );
}

#[test]
fn a_missing_end_of_a_sequence_is_found_at_the_next_one_or_at_the_end() {
    check(
        "missing_end_of_a_sequence",
        "#begin\n    #tick\n    #end\n#begin\n    #tick\n    #end\n",
    );
}

#[test]
fn a_missing_end_of_a_declaration_is_found_at_the_next_one() {
    assert_places(
        "#conditions\nC1 one\n#top\n#end\n#begin #test C1 #tick #end #end",
        &["CN002@1:1"],
    );
    assert_places(
        "#top\nuse a::b;\n#cut m M\n#begin #tick #end #end",
        &["CN002@1:1"],
    );
    assert_places(
        "#shared s\nx: u8 = 1;\n#begin #tick #end #end",
        &["CN002@1:1"],
    );
}

#[test]
fn a_missing_end_before_a_line_of_a_tick_or_a_sequence() {
    assert_places(
        "#begin\n#tick\n#thread <a>\nf();\n#suspended a\n#end\n#stays a\n#end\n",
        &["CN002@3:1"],
    );
    assert_places(
        "#begin\n  #tick\n    #thread <a>\n    #end\n  #stays a\n#end\n",
        &["CN002@2:3"],
    );
}

#[test]
fn an_end_too_many_is_found_by_indentation() {
    check(
        "extra_end",
        "#begin\n    #tick\n        #thread <a>\n            m.send(1);\n            #end\n        \
             #end\n    #end\n    #tick\n    #end\n#end\n",
    );
    check(
        "extra_end_at_the_end",
        "#begin\n    #tick\n    #end\n#end\n#end\n",
    );
}

#[test]
fn blocks_in_the_wrong_place() {
    check(
        "wrong_place",
        "#tick\n    #thread <lost>\n        #valueCheck 1 # #end\n    #end\n#end\n\
         #begin\n    #thread <t>\n    #end\n    #tick\n    #end\n#end\n",
    );
    check(
        "wrong_place_inside",
        "#begin\n    #tick\n        #thread <t>\n            #test C1\n            #top\n            \
             #end\n        #end\n        #test C1\n    #end\n#end\n",
    );
}

#[test]
fn declarations_that_come_too_late() {
    check(
        "too_late",
        "#begin\n    #tick\n    #end\n    #shared s\n    #end\n#end\n\
         #ticktime 10\n#cut m M::new()\n#top\n#end\n",
    );
}

#[test]
fn a_misplaced_component_is_known_all_the_same() {
    assert_places(
        "#begin\n#cut m M::new()\n#tick\n#thread <a> takes m\n#end\n#end\n#end\n",
        &["CN004@2:1"],
    );
}

#[test]
fn text_that_belongs_to_nothing() {
    check(
        "stray_text",
        "use a::b;\nuse c::d;\n#begin two words\n    #test C1\n    m.send(1);\n    #tick\n        \
             let x = 1; // here\n        let y = 2;\n        #thread <t>\n        #end # more\n    \
         #end\n#end\n",
    );
}

// ---- names ------------------------------------------------------------------

#[test]
fn a_thread_stands_once_in_a_tick() {
    check(
        "duplicate_thread",
        "#begin\n    #tick\n        #thread <a>\n        #end\n        #thread <b>\n        #end\n        \
             #thread <a>\n        #end\n    #end\n    #tick\n        #thread <a>\n        #end\n    \
         #end\n#end\n",
    );
}

#[test]
fn components_shared_objects_and_sequences_have_names_of_their_own() {
    check(
        "duplicate_component",
        "#cut m A::new()\n#cut (n, m) pair()\n#begin #tick #end #end\n",
    );
    check(
        "duplicate_shared",
        "#cut m M::new()\n#shared s\n#end\n#shared t\n#end\n\
         #begin\n    #shared m\n        x: u8 = 1;\n        fn x(&self) {}\n    #end\n    \
             #tick #end\n#end\n",
    );
    check(
        "duplicate_sequence",
        "#begin a #tick #end #end\n#begin a #tick #end #end\n\
         #begin #tick #end #end\n#begin sequence_3 #tick #end #end\n",
    );
}

#[test]
fn only_methods_override_what_is_inherited() {
    check(
        "override",
        "#shared s\n    x: u8 = 1;\n    fn f(&self) {}\n    fn g(&self) {}\n#end\n\
         #begin\n    #shared s\n        x: u8 = 2;\n        fn f(&self) {}\n        g: u8 = 1;\n    \
             #end\n    #tick #end\n#end\n",
    );
}

#[test]
fn names_that_rust_does_not_allow() {
    check(
        "bad_names",
        "#cut type M::new()\n#cut M M::new()\n#cut time M::new()\n#shared match\n#end\n\
         #begin fn\n    #tick\n        #thread <loop> #end\n        #thread <a.b> #end\n        \
             #thread <2nd> #end\n    #end\n#end\n#begin 1st #tick #end #end\n",
    );
}

// ---- conditions and ticks ---------------------------------------------------

#[test]
fn conditions_are_declared_once_and_exercised() {
    check(
        "conditions",
        "#conditions\n    C1 one\n    C2 two\n    C1 again\n    Long1 three\n#end\n\
         #begin\n    #test C1 C4 Long2\n    #tick #end\n#end\n",
    );
}

#[test]
fn conditions_need_no_declaration_where_there_is_no_block() {
    assert_places("#begin #test C1 #tick #end #end", &[]);
}

#[test]
fn ticktime_is_a_positive_whole_number_and_stands_once() {
    check(
        "ticktime",
        "#ticktime 0\n#ticktime fast\n#ticktime -1\n#ticktime 1.5\n#ticktime 10 ms\n\
         #ticktime 20\n#ticktime\n#ticktime 30\n#begin #tick #end #end\n",
    );
}

#[test]
fn a_tick_is_at_most_a_day_long() {
    check(
        "long_ticktime",
        "#ticktime 86_400_001\n#ticktime 18446744073709551615\n\
         #ticktime 99999999999999999999\n#ticktime 00\n#begin #tick #end #end\n",
    );
    assert_places("#ticktime 86_400_000\n#begin #tick #end #end\n", &[]);
}

#[test]
fn a_script_has_a_sequence_and_a_sequence_a_tick() {
    check("no_sequence", "#cut m M::new()\n");
    check("empty_file", "");
    check("no_tick", "#begin\n    #test C1\n#end\n");
}

// ---- templates and fragments ------------------------------------------------

#[test]
fn a_template_says_what_is_expected() {
    check_thread(
        "missing_expected",
        "#valueCheck m.len() #end\n#valueCheck m.len() # #end\n#matchCheck m.get() #end\n\
         #excMonitor m.fail() # #end\n#valueCheck m.all() #[1, 2] #end\n#valueCheck f(1 # 2) #end",
    );
}

#[test]
fn a_template_has_something_to_run() {
    check_thread(
        "empty_fragment",
        "#valueCheck # 3 #end\n#valueCheck #end\n#excMonitor #end\n#matchCheck # _ #end\n\
         #wakeCheck #end\n#excMonitor /* nothing */ #end",
    );
}

#[test]
fn separators_too_many() {
    check_thread(
        "extra_separator",
        "#valueCheck 1 # 2 # 3 #end\n#wakeCheck 1 # 2 #end\n#valueCheck 1 ## 2 #end\nlet x = 1; # x",
    );
}

#[test]
fn rust_errors_stand_at_their_own_line_and_column() {
    check(
        "rust_syntax",
        "#cut m M::new(\n#cut n M +\n#top\n    fn one() { 1 +; }\n#end\n#begin\n    #tick\n        \
             #thread\n            let x = 1;\n            let = 2;\n        #end\n        #thread\n            \
                 #valueCheck f(1 # 2 #end\n            #valueCheck 1 + # 2 #end\n            \
                 #valueCheck 1 # 2 3 #end\n            #matchCheck 1 # 2 + 3 #end\n            \
                 #excMonitor f(]; #end\n            #excMonitor f() # panic ! #end\n            \
                 #excMonitor f() # 1 + 1 #end\n            #wakeCheck 1 2 #end\n            \
                 #wakeCheck {1, *} #end\n            #excMonitor 'abc' #end\n        #end\n        \
             #thread\n            f(); }\n        #end\n    #end\n#end\n",
    );
}

#[test]
fn literals_and_comments_without_an_end() {
    check_thread(
        "unterminated_string",
        "#excMonitor m.send(\"a); #end\nlet x = \"fine\";",
    );
    check_thread("unterminated_raw_string", "let x = r#\"never;\nlet y = 1;");
    check_thread("unterminated_character", "let x = '\\n;\nlet y = 1;");
    check(
        "unterminated_comment",
        "#begin\n    /* not closed\n    #tick\n    #end\n#end\n",
    );
}

#[test]
fn nothing_jumps_out_of_a_template() {
    check_thread(
        "leaves_template",
        "loop {\n    #excMonitor return; #end\n    #excMonitor if f() { break } #end\n    \
             #valueCheck match f() { 1 => continue, n => n } # 2 #end\n    \
             #excMonitor for i in 0..3 { if i == 1 { break; } } #end\n    \
             #excMonitor (|| { return 1 })(); #end\n}",
    );
}

#[test]
fn fragments_nested_too_deeply() {
    let deep = format!("{}1{}", "(".repeat(300), ")".repeat(300));
    assert_places(
        &format!("#begin\n#tick\n#thread\nlet x = {deep};\n#end\n#end\n#end\n"),
        &["CN030@4:109"],
    );
}

// ---- heads ------------------------------------------------------------------

#[test]
fn directives_that_do_not_say_what_they_must() {
    check(
        "bad_heads",
        "#cut\n#cut m\n#cut m = M::new()\n#shared\n    x: u8 = 1;\n#end\n#begin\n    #test\n    #stays\n    \
             #tick\n        #thread <a b>\n            f();\n        #end\n        #thread <c\n            \
                 f();\n        #end\n        #thread d\n            f();\n        #end\n        \
             #thread <e> x many\n        #end\n        #thread <h> x 2\n        #end\n        #thread <f> x\n            f();\n        #end\n        \
             #thread <g> takes\n            f();\n        #end\n    #end\n    #tick\n        \
             #thread <h> x 3\n        #end\n    #end\n#end\n",
    );
}

#[test]
fn shared_blocks_are_fields_and_methods() {
    check(
        "bad_shared",
        "#shared s\n    x = 1;\n#end\n#begin\n    #shared t\n        struct T;\n    #end\n    #tick #end\n#end\n\
         #begin\n    #shared t\n        fn setup(self) {}\n        fn teardown(&mut self) {}\n    #end\n    \
             #tick #end\n#end\n",
    );
}

// ---- threads ----------------------------------------------------------------

#[test]
fn threads_that_do_not_exist() {
    check(
        "unknown_thread",
        "#begin\n    #stays producr\n    #tick\n        #thread <producer> x 2 #end\n        \
             #suspended producer.2 producer.1 someone\n        #finished 1\n    #end\n#end\n\
         #begin\n    #stays a\n    #tick\n        #thread #end\n    #end\n#end\n",
    );
}

#[test]
fn components_that_belong_to_other_threads() {
    check(
        "foreign_component",
        "#cut (tx, rx) channel()\n#begin\n    #tick\n        #thread <p> takes tx\n            \
                 tx.send(1);\n        #end\n        #thread <q> clones rx\n            \
                 let copy = Some { x: tx };\n            a.tx(); b::tx(); f(C { tx: 1 });\n        #end\n        \
             #thread <r>\n            let rx = 1;\n            f(rx);\n        #end\n        \
             #valueCheck rx.len() # 0 #end\n    #end\n#end\n",
    );
}

#[test]
fn takes_and_clones_that_cannot_be() {
    check(
        "bad_ownership",
        "#cut (tx, rx) channel()\n#begin\n    #tick\n        #thread <a> takes tx\n        #end\n        \
             #thread <b> takes tx\n        #end\n        #thread <c> x 2 takes rx\n        #end\n        \
             #thread <d> takes nothing\n        #end\n        #thread <e> clones rx, rx\n        #end\n        \
             #thread <f> takes rx clones rx\n        #end\n        #thread <g>\n        #end\n    #end\n    \
             #tick\n        #thread <g> clones tx\n        #end\n    #end\n#end\n",
    );
}

#[test]
fn lists_of_wake_up_times_that_do_not_fit() {
    check_sequence(
        "bad_wake_times",
        "#wakeTimes w 3 soon\n#wakeTimes w 4\n#wakeTimes empty\n#wakeTimes",
    );
    check_thread(
        "bad_takes",
        "#wakeCheck take w #end\n#wakeCheck take #end\n#wakeCheck {} #end",
    );
}

#[test]
fn explorations_that_cannot_be() {
    check_sequence("bad_explore", "#explore luck 1000\n#explore\n");
    check_sequence(
        "bad_explore_options",
        "#explore random 0 7 seed=x speed=9\n#explore dfs 1_000 preemptions=2\n",
    );
}

#[test]
fn hot_spots_named_twice() {
    check_sequence(
        "bad_hot_spots",
        "#always full\n#never lost, full\n#sometimes\n",
    );
}

// ---- the file ---------------------------------------------------------------

#[test]
fn bytes_that_are_not_utf8_are_an_error_at_their_place_and_the_rest_is_checked() {
    let bytes = b"\xef\xbb\xbf#begin\n#tick\n#thread <t>\nlet x = \xff\xfe;\n#end\n#thread <t>\n#end\n#end\n#end\n";
    let parsed = conan_lang::parse_bytes("test.conan", bytes.to_vec());
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("invalid_utf8", common::human(&parsed));
    });
}

#[test]
fn every_renderer_says_the_same() {
    let text =
        "#begin\n#tick\n#thread <ä>\n#end\n#thread <ä>\n#valuecheck 1 # 1 #end\n#end\n#end\n#end\n";
    let parsed = parse("100%, a:b.conan", text);
    let mut all = String::new();
    for diagnostic in &parsed.diagnostics {
        all += &render::human(&parsed.source, diagnostic, false);
        all += &render::short(&parsed.source, diagnostic);
        all += &render::github(&parsed.source, diagnostic);
        all += &render::json(&parsed.source, diagnostic);
    }
    let snapshot = common::beside(text, &all);
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("renderers", snapshot);
    });
}

#[test]
fn colours_change_nothing_but_colours() {
    let parsed = parse("test.conan", "#begin\n#end\n#ends\n");
    for diagnostic in &parsed.diagnostics {
        let plain = render::human(&parsed.source, diagnostic, false);
        let colourful = render::human(&parsed.source, diagnostic, true);
        assert_ne!(plain, colourful);
        assert_eq!(plain, without_escapes(&colourful));
    }
}

/// Leaves out `ESC [ … m`.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        let (_, rest) = part.split_once('m').expect("a style ends in `m`");
        plain + rest
    })
}

#[test]
fn a_message_about_a_long_line_or_places_far_apart_stays_short() {
    let filler = "// ä filler\n".repeat(5_000);
    let text = format!("#cut m M::new()\n{filler}#cut m M::new()\n#begin #tick #end #end\n");
    let parsed = parse("test.conan", text.as_str());
    let far = common::human(&parsed);
    let text = format!(
        "#begin #tick {} #thrad #end #end #end",
        "/* ä */ ".repeat(10_000)
    );
    let parsed = parse("test.conan", text.as_str());
    let long = common::human(&parsed);
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("far_apart_and_long", format!("{far}{long}"));
    });
}

#[test]
fn all_the_mistakes_of_a_file_are_reported_in_its_order() {
    check(
        "many_mistakes",
        "#ticktime 0\n#cut m M::new(\n#conditions\n    C1 one\n#end\n#begin\n    #test C2\n    #tick\n        \
             #thread <a>\n            #valueCheck 1 #end\n            #excmonitor f( #end\n        #end\n        \
             #thread <a>\n            let x = ;\n        #end\n        #suspended b\n    #end\n#end\n",
    );
}

#[test]
fn every_code_but_two_is_shown_by_some_snapshot() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).expect("the snapshots are there") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("diagnostics__") {
            text += &std::fs::read_to_string(&path).expect("a snapshot");
        }
    }
    for code in Code::ALL {
        // Shown without a snapshot; raised by `cargo conan check`.
        if matches!(code, Code::TooDeep | Code::NotIncluded) {
            continue;
        }
        assert!(
            text.contains(&format!("[{}]", code.id())),
            "no snapshot shows {}",
            code.id()
        );
    }
}
