//! `cargo conan mutate`, from the source of a component to the score of its
//! script.

use std::collections::BTreeMap;

use conan_integration::{Ran, Run, Scratch, workspace};
use serde_json::Value;

/// It denies warnings, which no mutant must mind, and has one `+=` that
/// cannot be a `-=`.
const LIBRARY: &str = r#"#![deny(warnings)]
pub mod semaphore;

pub fn title() -> String {
    let mut title = String::from("a ");
    title += "semaphore";
    title
}
"#;

const SEMAPHORE: &str = "\
use std::sync::{Condvar, Mutex};

pub struct Semaphore {
    permits: Mutex<usize>,
    released: Condvar,
}

impl Semaphore {
    pub fn new(permits: usize) -> Self {
        Self { permits: Mutex::new(permits), released: Condvar::new() }
    }

    pub fn acquire(&self) {
        let mut permits = self.permits.lock().unwrap();
        while *permits == 0 {
            permits = self.released.wait(permits).unwrap();
        }
        *permits -= 1;
    }

    pub fn release(&self) {
        *self.permits.lock().unwrap() += 1;
        self.released.notify_all();
    }
}
";

const TOP: &str = "
#cut s Semaphore::new(1)

#top
    use CRATE::semaphore::Semaphore;
#end
";

/// Nobody ever waits.
const WEAK: &str = "
#begin one_permit_is_enough_for_one
    #tick
        #thread
            #excMonitor s.acquire(); #end
            #excMonitor s.release(); #end
        #end
    #end
#end
";

const STRONG: &str = "
#begin the_second_waits_for_a_release
    #tick
        #thread <first>
            #excMonitor s.acquire(); #end
            #wakeCheck 1 #end
        #end
    #end
    #tick
        #thread <second>
            #excMonitor s.acquire(); #end
            #wakeCheck 3 #end
        #end
        #suspended second
    #end
    #tick
        #thread <first>
            #excMonitor s.release(); #end
        #end
        #finished first second
    #end
#end

#begin who_is_overtaken_waits_again
    #tick
        #thread <first>
            #excMonitor s.acquire(); #end
        #end
    #end
    #tick
        #thread <slow>
            #excMonitor s.acquire(); #end
            #wakeCheck 4 #end
        #end
    #end
    #tick
        #thread <first>
            #excMonitor s.release(); #end
        #end
        #thread <quick>
            #excMonitor s.acquire(); #end
            #wakeCheck 3 #end
        #end
        #suspended slow
    #end
    #tick
        #thread <quick>
            #excMonitor s.release(); #end
        #end
        #finished slow
    #end
#end

#begin of_two_at_once_one_waits
    #tick
        #thread <one>
            #excMonitor s.acquire(); #end
            #wakeCheck 1 #end
        #end
        #thread <other>
            #excMonitor s.acquire(); #end
            #wakeCheck 2 #end
        #end
        #suspended other
    #end
    #tick
        #thread <one>
            #excMonitor s.release(); #end
        #end
    #end
#end
";

const SCRIPT: &str = "tests/scripts/semaphore.conan";

/// A crate with the semaphore; conan-test is beside it, in another folder.
fn semaphores(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write("src/lib.rs", LIBRARY);
    scratch.write("src/semaphore.rs", SEMAPHORE);
    let up = "../".repeat(scratch.root().components().count() - 1);
    let conan_test = workspace().join("conan-test");
    let conan_test = conan_test.strip_prefix("/").unwrap_or(&conan_test);
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dev-dependencies]\nconan-test = {{ path = '{up}{}' }}\n",
        conan_test.display()
    );
    scratch.write("Cargo.toml", &manifest);
    scratch
}

fn script(scratch: &Scratch, sequences: &str) {
    scratch.write(SCRIPT, &format!("{TOP}{sequences}"));
}

/// `cargo conan mutate` of the script with these arguments.
fn mutate(scratch: &Scratch, args: &[&str]) -> Ran {
    let ran = scratch.conan().args(["mutate", SCRIPT]).args(args).ran();
    ran.never_mentions("a mistake in cargo-conan itself");
    ran
}

/// The objects of `--message-format json`: mutants by their ids, and the
/// summary.
#[track_caller]
fn objects(ran: &Ran) -> (BTreeMap<String, Value>, Value) {
    let mut mutants = BTreeMap::new();
    let mut summary = Value::Null;
    for line in ran.stdout.lines() {
        let object: Value = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("{line:?} is not JSON ({error}); {ran}"));
        match object["id"].as_str() {
            Some(id) => drop(mutants.insert(id.to_owned(), object)),
            None => summary = object["summary"].clone(),
        }
    }
    assert!(summary.is_object(), "there is no summary; {ran}");
    (mutants, summary)
}

/// The ids of mutants that came to this.
fn with_verdict<'m>(mutants: &'m BTreeMap<String, Value>, verdict: &str) -> Vec<&'m str> {
    let of_it = mutants
        .iter()
        .filter(|(_, mutant)| mutant["verdict"] == verdict);
    of_it.map(|(id, _)| id.as_str()).collect()
}

#[test]
fn a_weak_script_lets_mutants_live_and_a_better_one_kills_them() {
    let scratch = semaphores("weak_and_strong");
    script(&scratch, WEAK);
    let files = scratch.files();

    // Who never waits does not notice how others would.
    let ran = mutate(&scratch, &["--message-format", "json"]);
    ran.exits_with(1);
    let (mutants, summary) = objects(&ran);
    assert_eq!(
        with_verdict(&mutants, "survived"),
        [
            "early-unlock:18:9",
            "initial-value:10:36",
            "no-notify:23:9",
            "no-wait:15:9",
            "notify-one:23:23",
            "plus-minus:18:18",
            "while-to-if:15:9"
        ],
        "{ran}"
    );
    assert_eq!(summary["generated"], 10, "{ran}");
    assert_eq!(summary["killed"], 3, "{ran}");
    let killed = &mutants["negated-guard:15:24"];
    assert_eq!(killed["operator"], "negated-guard");
    assert_eq!(killed["file"], "src/semaphore.rs");
    assert_eq!(
        (&killed["line"], &killed["column"]),
        (&15.into(), &24.into())
    );
    assert_eq!(killed["by"]["kind"], "liveness", "{ran}");
    assert_eq!(killed["by"]["sequence"], "one_permit_is_enough_for_one");
    assert_eq!(killed["by"]["script"], SCRIPT);
    assert!(killed["seconds"].as_f64().is_some_and(|time| time > 0.0));
    assert_eq!(mutants["no-wait:15:9"]["by"], Value::Null);

    // As people see it.
    let ran = mutate(
        &scratch,
        &["--only", "no-notify", "--only", "negated-guard"],
    );
    ran.exits_with(1)
        .prints_line("survived: no-notify:23:9 at src/semaphore.rs:23:9")
        .prints_line("--- src/semaphore.rs")
        .prints_line("-        self.released.notify_all();")
        .prints_line("+        ();")
        .prints_line("src/semaphore.rs, tested by tests/scripts/semaphore.conan")
        .prints_line("no-notify              1       0         1           0         0")
        .prints_line("negated-guard          1       1         0           0         0")
        .prints_line("total                  2       1         1           0         0")
        .prints_line("score: 1 of 2, 50 %")
        .says("tried 2 mutants");
    let ran = mutate(
        &scratch,
        &["--only", "no-notify", "--message-format", "short"],
    );
    ran.exits_with(1).prints_line(
        "src/semaphore.rs:23:9: survived: no-notify:23:9: `self.released.notify_all()` is left out",
    );
    let ran = mutate(
        &scratch,
        &["--only", "no-notify", "--message-format", "github"],
    );
    ran.exits_with(1)
        .prints("::error file=src/semaphore.rs,line=23,col=9,title=surviving mutant::no-notify");

    // Each release makes room for one: that one of all is woken is enough.
    script(&scratch, STRONG);
    let ran = mutate(&scratch, &["--component", "src/semaphore.rs"]);
    ran.exits_with(1)
        .prints_line("survived: notify-one:23:23 at src/semaphore.rs:23:23")
        .prints_line("score: 9 of 10, 90 %");
    let said =
        "        // mutants: equivalent: notify-one: one permit, one thread that can go on\n";
    let notify = "        self.released.notify_all();";
    let declared = SEMAPHORE.replace(notify, &format!("{said}{notify}"));
    scratch.write("src/semaphore.rs", &declared);
    let ran = mutate(&scratch, &["--jobs", "1"]);
    ran.exits_with(0)
        .prints_line("notify-one             1       0         0           1         0")
        .prints_line("score: 9 of 9, 100 %")
        .never_mentions("survived:");

    // One mutant, with the script's own report.
    let ran = mutate(&scratch, &["--mutant", "early-unlock:18:9"]);
    ran.exits_with(0)
        .prints("+        drop(permits); ::std::thread::yield_now();")
        .prints("of_two_at_once_one_waits ... FAILED")
        .prints("early-unlock:18:9: killed: exception error in who_is_overtaken_waits_again");

    // What does not compile counts for nothing.
    let ran = mutate(&scratch, &["--component", "src/lib.rs"]);
    ran.exits_with(0)
        .prints_line("plus-minus          1       0         0           0         1")
        .prints_line("score: none to kill");

    // A declaration must be true.
    let permits = "        *permits -= 1;";
    let wrong = declared.replace(
        permits,
        &format!("        // mutants: equivalent: plus-minus: is it?\n{permits}"),
    );
    scratch.write("src/semaphore.rs", &wrong);
    let ran = mutate(&scratch, &["--only", "plus-minus"]);
    ran.exits_with(2)
        .says("src/semaphore.rs:19:18: plus-minus:19:18 is declared equivalent, but it is killed");

    // Nothing of all this has touched the crate.
    assert_eq!(scratch.files(), files);
    assert_eq!(scratch.read("src/semaphore.rs"), wrong);
}

#[test]
fn only_a_script_that_passes_is_tried_on_mutants() {
    let scratch = semaphores("not_to_be_tried");
    let mutate = |scratch: &Scratch, args: &[&str]| {
        let ran = mutate(scratch, args);
        ran.never_mentions("panicked at");
        ran
    };
    scratch.write(
        "src/alone.rs",
        "pub fn f(c: &std::sync::Condvar) { c.notify_one(); }\n",
    );

    script(
        &scratch,
        &WEAK.replace("#end\n            #excMonitor s.release(); #end", "#end"),
    );
    // The script leaves out a release, which is no fault yet.
    mutate(&scratch, &["--only", "negated-guard"]).exits_with(0);

    // It fails without any mutant.
    script(
        &scratch,
        &STRONG.replace("#wakeCheck 3 #end", "#wakeCheck 2 #end"),
    );
    let ran = mutate(&scratch, &[]);
    ran.exits_with(1)
        .says("the_second_waits_for_a_release (tests/scripts/semaphore.conan:8): FAILED")
        .says("tests/scripts/semaphore.conan fails on the component as it is");
    assert_eq!(ran.stdout, "", "{ran}");

    // It does not compile.
    script(&scratch, &WEAK.replace("s.acquire()", "s.acquire(1)"));
    let ran = mutate(&scratch, &[]);
    ran.exits_with(3)
        .says("error[E0061]")
        .says(" tests/scripts/semaphore.conan:")
        .says("the driver did not compile");

    // The driver does not contain the component.
    script(&scratch, WEAK);
    let ran = mutate(&scratch, &["--component", "src/alone.rs"]);
    ran.exits_with(2)
        .says("the driver is not built from src/alone.rs");

    // No time is left for mutants.
    script(
        &scratch,
        &WEAK.replacen("#tick", "#tick #end\n    #tick", 1),
    );
    let wall = ["--clock", "wall", "--ticktime", "1500", "--timeout", "1"];
    let ran = mutate(&scratch, &wall);
    ran.exits_with(2)
        .says("--timeout: the component itself takes");
}

#[test]
fn what_cannot_be_mutated_is_said_before_anything_is_built() {
    let scratch = semaphores("not_mutated");
    script(&scratch, WEAK);
    scratch.write("other.conan", &format!("{TOP}{WEAK}"));
    scratch.write("src/broken.rs", "pub fn f() {\n    let a = = 1;\n}\n");
    scratch.write("src/quiet.rs", "pub fn f() {}\n");
    scratch.write(
        "src/declared.rs",
        "pub fn f(c: &std::sync::Condvar) {\n    \
         // mutants: equivalent: no-wait: there is none\n    c.notify_one();\n    \
         // mutants: equivalent: no-notify\n    c.notify_one();\n}\n",
    );
    let fails = |args: &[&str], says: &str| {
        let ran = scratch.conan().arg("mutate").args(args).ran();
        ran.exits_with(2).says(says).never_mentions("Compiling");
    };
    fails(&[], "SCRIPT");
    fails(&["none.conan"], "cannot read none.conan");
    fails(
        &["other.conan"],
        "there is no src/other.rs; name its component",
    );
    let with = |file| [SCRIPT, "--component", file];
    fails(&with("src/none.rs"), "cannot read src/none.rs");
    fails(&with("src/broken.rs"), "src/broken.rs:2:13: ");
    fails(&with("src/quiet.rs"), "src/quiet.rs has no mutants");
    fails(
        &with("src/declared.rs"),
        "src/declared.rs:2:5: there is no such mutant `no-wait` on line 3",
    );
    fails(
        &with("src/declared.rs"),
        "src/declared.rs:4:5: why the mutant is",
    );
    let outside = workspace().join("Cargo.toml");
    let outside = outside.display().to_string();
    fails(
        &with(&outside),
        "is not in the workspace of the package under test",
    );
    fails(
        &[SCRIPT, "--mutant", "no-wait:1:1"],
        "there is no mutant `no-wait:1:1`",
    );
    fails(&[SCRIPT, "--only", "no-weight"], "no-wait");
    fails(
        &[SCRIPT, "--component", "src/lib.rs", "--only", "no-wait"],
        "no such mutants",
    );
    fails(&[SCRIPT, "--jobs", "0"], "--jobs");
    scratch.write(SCRIPT, "#begin");
    fails(&[SCRIPT], "error[CN");
}

#[test]
fn a_list_shows_the_mutants_and_builds_nothing() {
    let scratch = semaphores("listed");
    script(&scratch, WEAK);
    let said = "// mutants: equivalent: notify-one: it is";
    let notify = "self.released.notify_all();";
    scratch.write(
        "src/semaphore.rs",
        &SEMAPHORE.replace(notify, &format!("{notify} {said}")),
    );
    let ran = mutate(&scratch, &["--list"]);
    ran.exits_with(0)
        .never_mentions("Compiling")
        .says("10 mutants");
    let expected = "\
src/semaphore.rs: initial-value:10:36: `permits` becomes `permits + 1`
src/semaphore.rs: while-to-if:15:9: `while` becomes `if`
src/semaphore.rs: no-wait:15:9: `while *permits == 0 { permits = self.released.wait(permits).…` is left out
src/semaphore.rs: negated-guard:15:24: `==` becomes `!=`
src/semaphore.rs: off-by-one:15:27: `0` becomes `1`
src/semaphore.rs: early-unlock:18:9: `drop(permits); ::std::thread::yield_now(); permits = self.pe…` is put in
src/semaphore.rs: plus-minus:18:18: `-=` becomes `+=`
src/semaphore.rs: plus-minus:22:39: `+=` becomes `-=`
src/semaphore.rs: no-notify:23:9: `self.released.notify_all()` is left out
src/semaphore.rs: notify-one:23:23: `notify_all` becomes `notify_one` (equivalent: it is)
";
    assert_eq!(ran.stdout, expected, "{ran}");

    // A folder: each script with the component of its name.
    scratch.write("tests/scripts/title.conan", &format!("{TOP}{WEAK}"));
    let ran = scratch
        .conan()
        .args(["mutate", "tests/scripts", "--list", "--only", "no-wait"])
        .args(["--message-format", "json"])
        .ran();
    ran.exits_with(0)
        .says("tests/scripts/title.conan is left out: there is no src/title.rs");
    let object: Value = serde_json::from_str(ran.stdout.trim()).expect("there is one mutant");
    assert_eq!(object["id"], "no-wait:15:9", "{ran}");
    assert!(
        object["diff"]
            .as_str()
            .is_some_and(|diff| diff.contains("+        ();")),
        "{ran}"
    );
}
