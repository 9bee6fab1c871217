//! Formatting: what it makes of a script, and what it leaves alone.

mod common;

use conan_lang::{format, parse};

/// Snapshots a script and what becomes of it.
#[track_caller]
fn check(name: &str, text: &str) {
    let formatted = common::format_checked(text).expect("the script can be formatted");
    let snapshot = common::beside(text, &formatted);
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(name, snapshot);
    });
}

/// Checks that a script stays as it is.
#[track_caller]
fn assert_kept(text: &str) {
    let formatted = common::format_checked(text).expect("the script can be formatted");
    assert_eq!(formatted, text);
}

#[test]
fn the_script_of_the_reference_stays_as_it_is() {
    assert_kept(common::PRODUCER_CONSUMER);
}

#[test]
fn the_script_of_the_reference_is_restored_from_any_indentation() {
    let unindented = each_line(|line| line.trim_start().to_owned());
    let tabs = each_line(|line| {
        let code = line.trim_start();
        format!("{}{code}", "\t".repeat((line.len() - code.len()) / 4))
    });
    let narrow = each_line(|line| {
        let code = line.trim_start();
        let narrow = format!("{}{code}", " ".repeat((line.len() - code.len()) / 2));
        // The comments at the ends of lines stay at their column.
        match code.find("//") {
            Some(at) if at > 0 => {
                let (code, comment) = narrow.split_at(narrow.len() - (code.len() - at));
                format!("{code:44}{comment}")
            }
            _ => narrow,
        }
    });
    for text in [unindented, tabs, narrow] {
        let formatted = common::format_checked(&text).expect("the script can be formatted");
        assert_eq!(formatted, common::PRODUCER_CONSUMER);
    }
}

fn each_line(change: impl Fn(&str) -> String) -> String {
    let lines = common::PRODUCER_CONSUMER.lines();
    lines.map(|line| change(line) + "\n").collect()
}

#[test]
fn one_line_becomes_many() {
    check(
        "one_line",
        "#ticktime 5 #cut m M::new() #conditions C1 one #end #top fn f() {} #end #shared s x: u8 = 1; \
         fn g(&self) {} #end #begin one #test C1 #stays t #wakeTimes w 1 #tick #thread <t> f(); \
         #valueCheck 1 # 1 #end #wakeCheck take w #end #end #suspended t #valueCheck 2 # 2 #end #end \
         #tick #end #end",
    );
}

#[test]
fn gaps_between_words_become_single_spaces() {
    check(
        "gaps",
        "#ticktime    5\n#cut   m   M::new()\n#shared    s\n#end\n#begin   one\n  #test  C1   C2\n  \
           #stays   t\n  #tick\n    #thread   <t>   x   2   clones   m\n      \
             #valueCheck    f( 1,  2 )#3#end\n      #excMonitor g( )  ;#end\n    #end\n    \
           #suspended   t.0   t.1\n  #end\n#end\n",
    );
}

#[test]
fn rust_keeps_its_shape_and_moves_as_a_whole() {
    check(
        "rust",
        "#top\n  use a::b;\n\n\n  fn f(\n    x: u8,\n  ) {\n      g()\n  }\n#end\n#begin\n#tick\n#thread <t>\n\
         if x {\n  #valueCheck\n      a\n      # b\n  #end\n} else {\n\ty();\n}\n#end\n#thread <u> f();\n            \
         g();\n#end\n#end\n#end\n",
    );
}

#[test]
fn arguments_over_several_lines_move_with_their_directive() {
    check(
        "arguments",
        "  #cut m M {\n      a: 1,\n  }\n#begin\n#test C1\n      C2\n#tick\n#valueCheck f(\n    1,\n)\n    # 2\n#end\n\
         #end\n#end\n",
    );
}

#[test]
fn comments_stay_with_what_they_are_about() {
    check(
        "comments",
        "\n\n// first\n/* second\n   third */\n#begin // the begin\n// in it\n#tick // time 1\n// in the tick\n#thread <a> \
         // the thread\n// in the thread\nf(); // a call\n// last\n#end // of a\n// after a\n#end /* of 1 */ // really\n\
         #tick /* empty */ #end\n/* before */ #tick\n#end\n// at the end\n#end\n// after all\n",
    );
}

#[test]
fn comments_below_one_another_stay_so() {
    check(
        "aligned_comments",
        "#begin\n#tick             // one\n#thread <a>       // two\nf();              // three\n#end\n#end\n#end\n",
    );
    check(
        "aligned_comments_without_room",
        "#begin\n#tick       // one\n#thread <a>  // apart\nf();        // two\n#end\n#end\n#end\n",
    );
}

#[test]
fn blank_lines_are_one_at_the_most() {
    check(
        "blank_lines",
        "\n\n\n#begin\n\n\n#tick\n\n#thread\n\n\nf();\n \t\n\ng();\n\n#end\n#end\n#end\n\n\n",
    );
}

#[test]
fn strings_over_several_lines_stay_as_they_are() {
    check(
        "strings",
        "#begin\n#tick\n#thread\nlet s = \"one\n  two  \n\n\n\tthree\";\nlet r = r#\"\n#end\n    \"#; f();\n\
         g(\"goes on \\\n   here\");\n#end\n#end\n#end\n",
    );
}

#[test]
fn carriage_returns_are_kept() {
    let dos = common::PRODUCER_CONSUMER.replace('\n', "\r\n");
    assert_kept(&dos);
    let one_line = "#begin #tick\r\n#thread let s = \"a\r\n  b\n\"; #end #end #end";
    let formatted = common::format_checked(one_line).expect("the script can be formatted");
    assert_eq!(
        formatted,
        "#begin\r\n    #tick\r\n        #thread\r\n            let s = \"a\r\n  b\n\";\r\n        #end\r\n    #end\r\n#end\r\n"
    );
}

#[test]
fn a_byte_order_mark_goes() {
    let parsed = parse("test.conan", "\u{feff}#begin #tick #end #end");
    let formatted = format(&parsed).expect("the script can be formatted");
    assert_eq!(formatted, "#begin\n    #tick\n    #end\n#end\n");
}

#[test]
fn scripts_with_errors_of_another_kind_are_formatted() {
    check(
        "with_errors",
        "#ticktime 0\n#begin a\n#test C1\n#tick\n#thread <t>\nlet x = ;\n#valueCheck 1 #end\n#valueCheck f( # 2 #end\n\
         g(];\n#end\n#thread <t> #end\n#suspended nobody\n#end\n#end\n#begin a\n#end\n",
    );
}

#[test]
fn scripts_whose_structure_is_not_clear_are_refused() {
    let refused = [
        "#begin #tick #end",
        "#begin #tick #end #end #end",
        "#begin #tick #thrad #end #end #end",
        "#begin #thread #end #tick #end #end",
        "stray #begin #tick #end #end",
        "#begin #tick #thread f(\"); #end #end #end",
        "#begin #tick #thread producer\nf(); #end #end #end",
    ];
    for text in refused {
        let error = format(&parse("test.conan", text)).expect_err(text);
        assert!(!error.diagnostics.is_empty(), "{text}");
    }
}

#[test]
fn an_empty_file_stays_empty() {
    for text in ["", "\n", " \t\r\n\n", "\u{feff}"] {
        let parsed = parse("test.conan", text);
        assert_eq!(format(&parsed).expect("nothing to refuse"), "");
    }
    assert_kept("// only a comment\n");
}

/// Small scripts of every kind, in every layout that a person may choose.
#[test]
fn whatever_the_layout_only_white_space_moves() {
    let scripts = [
        common::PRODUCER_CONSUMER,
        "#top /// doc\nfn f() {} // end\n#end #begin #tick #end #end",
        "#conditions // c\nC1 it's // d\n/* e */ C2 two /* f */\n#end\n#begin #tick #end #end",
        "#begin #tick #thread r#type::f('\"', '#', b\"#\"); #end #end #end",
        "#begin #tick #thread /* a\n b */ f(/* c\n d */); /* e */ #end /* f */ #end #end",
        "#begin #tick #thread #valueCheck /* a */ 1 /* b */ # /* c */ 2 /* d */ #end #end #end #end",
        "#begin #tick #thread #valueCheck 1 // a\n# 2 // b\n#end #end #end #end",
        "#begin #tick #thread loop { #valueCheck 1 # 1 #end } #excMonitor f() # Err(_) #end #end #end #end",
        "#shared s // a\nx: u8 = 1; /* b */ fn f(&self) { /* c */ }\n#end #begin #tick #end #end",
        "#cut (a, b) /* x */ f( // y\n1) // z\n#begin #tick #thread <t> takes a #end #end #end",
        "#begin /* a */ one /* b */ #test /* c */ C1 // d\nC2 #tick #end #end",
    ];
    for script in scripts {
        assert!(common::format_checked(script).is_some(), "{script}");
        let layouts = [
            script.replace(' ', "  "),
            script.replace(' ', "\t"),
            script.replace(' ', "\n"),
            script.replace('\n', "\n\n\n"),
            script.replace('\n', "\r\n"),
            script.replace('\n', " \n "),
        ];
        for layout in layouts {
            common::format_checked(&layout);
        }
    }
}
