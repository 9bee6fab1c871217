//! Snapshots of the generated drivers: what users review.

use std::fs;
use std::path::Path;

use conan_codegen::{Origin, expand};

/// The driver of a script, formatted.
fn driver(name: &str, text: &str) -> String {
    let parsed = conan_lang::parse(name, text);
    assert!(!parsed.has_errors(), "{name}: {:#?}", parsed.diagnostics);
    let origin = Origin {
        shown: name.to_owned(),
        included: name.to_owned(),
    };
    expand(&parsed, &origin).expect("the driver is Rust")
}

#[track_caller]
fn check(name: &str, text: &str) {
    insta::with_settings!({ description => text, omit_expression => true }, {
        insta::assert_snapshot!(name, driver("script.conan", text));
    });
}

#[test]
fn drivers_of_all_scripts() {
    insta::glob!("../../scripts", "**/*.conan", |path| {
        let text = fs::read_to_string(path).expect("the script can be read");
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!(driver(&name, &text));
        });
    });
}

#[test]
fn the_same_script_gives_the_same_bytes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/producer_consumer.conan");
    let text = fs::read_to_string(path).expect("the script can be read");
    assert_eq!(driver("a.conan", &text), driver("a.conan", &text));
}

#[test]
fn smallest_script() {
    check(
        "smallest_script",
        "#begin #tick #thread f(); #end #end #end",
    );
}

#[test]
fn constructors_are_completed() {
    check(
        "constructors_are_completed",
        "#cut a Latch\n#cut b Latch::with(3)\n#cut c queue::bounded\n#cut d Ring<u8>\n\
         #cut e Ring::<u8>\n#cut (f, g) pair()\n\
         #begin #tick #thread use_all(a, b, c, d, e, f, g); #end #end #end",
    );
}

#[test]
fn values_and_exceptions() {
    check(
        "values_and_exceptions",
        "#cut m M\n#begin #tick #thread\n\
         #valueCheck m.get() # 1 #end\n#valueCheck a + b # -c #end\n\
         #matchCheck m.get() # Some(n) if n > 3 #end\n\
         #excMonitor m.put(1); #end\n#excMonitor m.put(1) # panic #end\n\
         #excMonitor m.put(1); # panic \"full\" #end\n#excMonitor m.put(1); # Err(Full(_)) #end\n\
         #excMonitor let g = m.lock(); #end\n#excMonitor let mut h: G = m.lock(); #end\n\
         #excMonitor let (a, b) = m.pair(); f(a); #end\n\
         #excMonitor f(); if x { g() } #end\n#end #end #end",
    );
}

#[test]
fn wake_up_checks() {
    check(
        "wake_up_checks",
        "#cut m M\n#begin #wakeTimes w 3 4 4\n#tick #thread\n#wakeCheck 3 #end\n\
         #wakeCheck 3..5 #end\n#wakeCheck 3..=4 #end\n#wakeCheck {2, n + 1} #end\n\
         #wakeCheck 2.. #end\n#wakeCheck take w #end\n#end #end #end",
    );
}

#[test]
fn one_body_over_several_ticks() {
    check(
        "one_body_over_several_ticks",
        "#cut m M\n#begin\n#tick #thread <a>\nlet x = m.get();\nif x { return; }\nlet f = || { return; };\n\
         m.put(x)\n#end #end\n#tick #end\n#tick #thread <a>\nm.put(x);\n#end #thread m.get(); #end #end\n#end",
    );
}

#[test]
fn templates_inside_loops() {
    check(
        "templates_inside_loops",
        "#cut m M\n#begin #tick #thread <p> x 10\nfor i in 0..100 {\n    if i > 3 { #excMonitor m.put(index * 100 + i); #end }\n    \
         #valueCheck (m.len()) # [1, 2][0] #end\n}\n#end #end #end",
    );
}

#[test]
fn owned_components() {
    check(
        "owned_components",
        "#cut (tx, rx) channel::<u32>()\n#begin\n#tick\n#thread <p> takes tx\ntx.send(1);\n#end\n\
         #thread <q> x 2 clones tx\ntx.send(2);\n#end\n#thread <r> takes rx\nrx.recv();\n#end\n#end\n#end\n\
         #begin\n#tick #thread <p> takes tx\ndrop(tx);\n#end #end\n#end",
    );
}

#[test]
fn shared_objects() {
    check(
        "shared_objects",
        "#shared s\n    log: Mutex<Vec<u32>> = Mutex::new(Vec::new());\n    fn note(&self) { self.say(); }\n    \
         fn say(&self) {}\n    fn setup(&mut self) {}\n    fn teardown(&self) {}\n#end\n\
         #begin #tick #thread s.note(); #end #end #end\n\
         #begin #shared t\n    more: u8 = 1;\n    fn say(&self) { f(self.more); }\n#end\n\
         #tick #thread t.note(); s.note(); #end #end #end",
    );
}

#[test]
fn checks_outside_threads() {
    check(
        "checks_outside_threads",
        "#cut m M\n#begin #stays p\n#tick\n#thread <p> m.wait(); #end\n#suspended p\n#valueCheck m.len() # 1 #end\n#end\n\
         #tick #end\n#tick\n#finished p\n#excMonitor m.open(); #end\n#end\n#end",
    );
}
