//! A crate outside this workspace, from nothing to a verdict under `cargo
//! test`.

use std::fs;
use std::io::Write;

use conan_integration::{Ran, Run, Scratch, cargo, place, workspace};

/// Two sequences that pass.
const COUNTER: &str = r"
#ticktime 20
#cut c Counter

#top
    use CRATE::Counter;
#end

#begin counts
    #tick
        #thread <one>
            #valueCheck c.add(2) # 2 #end
        #end
    #end
    #tick
        #thread <other>
            #valueCheck c.add(3) # 5 #end
        #end
    #end
#end

#begin begins_anew
    #tick
        #thread
            #valueCheck c.add(1) # 1 #end
        #end
    #end
#end
";

/// The names of the tests that ran, with what came of them.
fn tests_of(ran: &Ran) -> Vec<&str> {
    let lines = ran
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("test "));
    let mut tests: Vec<&str> = lines.filter(|line| !line.starts_with("result:")).collect();
    tests.sort_unstable();
    tests
}

/// What `cargo new` makes, a component, a dev-dependency, a script, one line.
fn from_nothing(name: &str, edition: &str) -> Scratch {
    let scratch = Scratch::empty(name, name);
    let mut new = scratch.cargo();
    new.args(["init", "--lib", "--vcs", "none", "--edition", edition])
        .ran()
        .exits_with(0);
    let mut manifest = scratch.read("Cargo.toml");
    assert!(
        manifest.trim_end().ends_with("[dependencies]"),
        "cargo init made {manifest}"
    );
    let conan_test = workspace().join("conan-test");
    let conan_test = conan_test.display();
    manifest.push_str(&format!(
        "\n[dev-dependencies]\nconan-test = {{ path = '{conan_test}' }}\n"
    ));
    scratch.write("Cargo.toml", &manifest);
    let lock = fs::read_to_string(workspace().join("Cargo.lock")).unwrap();
    scratch.write("Cargo.lock", &lock);
    scratch.write("src/lib.rs", include_str!("../src/component.rs"));
    scratch.script("tests/scripts/counter.conan", COUNTER);
    scratch
}

#[test]
fn a_crate_of_edition_2021_runs_its_script_under_cargo_test() {
    let scratch = from_nothing("edition_2021", "2021");
    let ran = scratch.cargo_test().ran();
    ran.exits_with(0).never_mentions("warning");
    assert_eq!(
        tests_of(&ran),
        ["counter::begins_anew ... ok", "counter::counts ... ok"],
        "{ran}"
    );
}

#[test]
fn a_crate_of_edition_2024_runs_its_script_under_cargo_test_and_nextest() {
    let scratch = from_nothing("edition_2024", "2024");
    let ran = scratch.cargo_test().ran();
    ran.exits_with(0).never_mentions("warning");
    assert_eq!(
        tests_of(&ran),
        ["counter::begins_anew ... ok", "counter::counts ... ok"],
        "{ran}"
    );

    // Nothing was added to what the component itself depends on.
    let tree = scratch
        .cargo()
        .args(["tree", "--edges", "normal,build"])
        .ran();
    tree.exits_with(0);
    assert_eq!(tree.stdout.lines().count(), 1, "{tree}");

    if scratch.cargo().args(["nextest", "--version"]).ran().code != Some(0) {
        // Not `eprintln!`: nobody would see that.
        let _ = writeln!(
            std::io::stderr(),
            "cargo-nextest is not installed: not tested"
        );
        return;
    }
    let ran = scratch.cargo().args(["nextest", "run"]).ran();
    ran.exits_with(0);
    for test in ["counter::counts", "counter::begins_anew"] {
        ran.says(&format!("edition_2024::edition_2024 {test}"));
    }
    ran.says("2 tests run: 2 passed");
}

/// The block of code that follows a text of the README.
fn readme(text: &str) -> String {
    let readme = fs::read_to_string(workspace().join("README.md")).unwrap();
    let after = readme.split_once(text);
    let (_, after) = after.unwrap_or_else(|| panic!("the README has no {text:?}"));
    let block = after.split("```").nth(1).expect("a block follows");
    let (_language, code) = block.split_once('\n').expect("and has lines");
    code.to_owned()
}

#[test]
fn the_example_of_the_readme_does_what_the_readme_says() {
    let scratch = Scratch::empty("latch", "conan-user");
    let mut new = scratch.cargo();
    new.args(["new", "--lib", "--vcs", "none", "latch"])
        .ran()
        .exits_with(0);
    let latch = scratch.root().join("latch");
    let mut add = cargo(&latch);
    add.args(["add", "--dev", "conan-test", "--path"]);
    add.arg(workspace().join("conan-test")).ran().exits_with(0);
    let library = readme("`src/lib.rs`:");
    scratch.write("latch/src/lib.rs", &library);
    let script = readme("`tests/scripts/latch.conan`:");
    scratch.write("latch/tests/scripts/latch.conan", &script);
    scratch.write(
        "latch/tests/latch.rs",
        &readme("one line in `tests/latch.rs`"),
    );
    let lock = fs::read_to_string(workspace().join("Cargo.lock")).unwrap();
    scratch.write("latch/Cargo.lock", &lock);
    let ran = cargo(&latch).arg("test").ran();
    ran.exits_with(0).prints(&readme("`cargo test` now says"));

    let broken = library.replace("notify_all", "notify_one");
    scratch.write("latch/src/lib.rs", &broken);
    let ran = cargo(&latch).arg("test").ran();
    ran.fails();
    let why = readme("`cargo test` says why");
    for line in why.lines().filter(|line| *line != "…") {
        ran.prints_line(line);
    }
    scratch.write("latch/src/lib.rs", &library);

    // The type error that it shows.
    let wrong = script.replacen("latch.wait()", "latch.wait(3)", 1);
    scratch.write("latch/tests/scripts/latch.conan", &wrong);
    let ran = cargo(&latch).arg("test").ran();
    ran.fails();
    for line in readme("Had we written `latch.wait(3)`").lines() {
        let shown = line.trim_start_matches([' ', '-', '>']);
        if let Some((_, place)) = shown.split_once("tests/scripts/latch.conan:") {
            ran.says(&format!("tests/scripts/latch.conan:{place}\n"));
        } else {
            ran.says(line.trim_end());
        }
    }
}

#[test]
fn scripts_work_in_unit_tests_and_in_folders_with_odd_names() {
    let scratch = Scratch::in_folder("odd_folder", "ein Ordner (ü) #1");
    let library = scratch.read("src/lib.rs");
    let inside = "#[cfg(test)]\nmod tests {\n    conan_test::script!(\"scripts/unit.conan\");\n}\n";
    scratch.write("src/lib.rs", &format!("{library}\n{inside}"));
    scratch.write("scripts/unit.conan", &COUNTER.replace("CRATE", "crate"));
    scratch.script("tests/scripts/from-outside.conan", COUNTER);
    let ran = scratch.cargo_test().arg("--tests").ran();
    ran.exits_with(0);
    let expected = [
        "from_outside::begins_anew ... ok",
        "from_outside::counts ... ok",
        "tests::unit::begins_anew ... ok",
        "tests::unit::counts ... ok",
    ];
    assert_eq!(tests_of(&ran), expected, "{ran}");

    let ran = scratch
        .conan()
        .args(["run", "tests/scripts/from-outside.conan"])
        .ran();
    ran.exits_with(0).prints_line("Test cases: 3");
}

/// Every construct that leaves something in the driver.
const EVERYTHING: &str = r#"
#ticktime 20
#cut c Counter::starting_at(0)
#cut (tx, rx) std::sync::mpsc::channel::<u32>()

#conditions
    C1 it's all there
#end

#top
    use CRATE::Counter;
#end

#shared s
    seen: std::sync::Mutex<Vec<u32>> = std::sync::Mutex::new(Vec::new());
    fn note(&self, n: u32) { self.seen.lock().unwrap().push(n); }
    fn setup(&mut self) { self.note(7); }
    fn teardown(&self) { assert_eq!(self.seen.lock().unwrap().len(), 3); }
#end

#begin everything
    #test C1
    #shared s
        extra: u32 = 1;
        fn more(&self) -> u32 { self.extra }
    #end
    #wakeTimes w 1 1
    #stays <stuck>
    #tick
        #thread <many> x 2 clones tx
            #excMonitor let count = c.add(u32::try_from(index)?); #end
            s.note(count);
            #wakeCheck take w #end
            #matchCheck c.add(0) # n if n < 2 #end
            #excMonitor tx.send(s.more()); #end
        #end
        #thread <breaking>
            #excMonitor c.fail(); # panic "broken" #end
            #excMonitor "x".parse::<u32>(); # Err(_) #end
            if time() > 1 { return; }
        #end
        #thread <reader> takes rx
            #valueCheck rx.iter().sum::<u32>() # 2 #end
            #wakeCheck 1..=2 #end
        #end
        #thread <stuck>
            loop { std::thread::park(); }
        #end
        #suspended stuck
        #finished many
        #valueCheck c.add(0) # 1 #end
    #end
    #tick
    #end
#end
"#;

#[test]
fn drivers_stand_the_strictest_lints() {
    let scratch = Scratch::new("strictest_lints");
    scratch.script("tests/scripts/everything.conan", EVERYTHING);
    let lints = "#![deny(warnings, missing_docs, unsafe_code, unreachable_pub, unused)]\n\
        #![deny(rust_2018_idioms, future_incompatible, nonstandard_style, let_underscore)]\n\
        #![deny(single_use_lifetimes, trivial_casts, unused_lifetimes, unused_qualifications)]\n\
        //! Strict.\n";
    let test = format!("tests/{}.rs", scratch.name());
    scratch.write(&test, &format!("{lints}{}", scratch.read(&test)));
    let ran = scratch.cargo_test().arg("--tests").ran();
    ran.exits_with(0)
        .prints("test everything::everything ... ok")
        .never_mentions("warning");
}

#[test]
fn an_edited_script_is_built_again_and_an_untouched_one_is_not() {
    let scratch = Scratch::new("edited_script");
    let path = "tests/scripts/counter.conan";
    let script = scratch.script(path, COUNTER);
    let test = || scratch.cargo_test().arg("--tests").ran();
    test().exits_with(0).says("Compiling edited_script");

    let ran = test();
    ran.exits_with(0)
        .never_mentions("Compiling")
        .prints("2 passed");

    let wrong = scratch.write(path, &script.replace("# 5 #end", "# 6 #end"));
    let ran = test();
    ran.fails()
        .says("Compiling edited_script")
        .prints("test counter::counts ... FAILED");
    let at = place(&wrong, "#valueCheck c.add(3)");
    ran.prints(&format!("{path}:{at}\n"));
    ran.prints("#valueCheck c.add(3) # 6 #end");

    scratch.write(path, &script);
    test().exits_with(0).says("Compiling edited_script");
    test().exits_with(0).never_mentions("Compiling");

    fs::remove_file(scratch.root().join(path)).unwrap();
    let ran = test();
    ran.fails()
        .says(&format!("cannot read the script {path}"))
        .never_mentions("panicked");
}

#[test]
fn a_script_added_to_an_included_folder_fails_a_test_and_then_is_included() {
    let scratch = Scratch::new("added_script");
    scratch.write("tests/scripts/first.conan", COUNTER);
    scratch.include("tests/scripts");
    let test = || scratch.cargo_test().arg("--tests").ran();
    let ran = test();
    ran.exits_with(0)
        .prints("test scripts::every_script_is_included ... ok");

    scratch.write("tests/scripts/deeper/second.conan", COUNTER);
    let ran = test();
    ran.fails()
        .prints("test scripts::every_script_is_included ... FAILED");
    ran.prints("second.conan").prints("run `cargo test` again");
    ran.prints("test scripts::first::counts ... ok");

    let ran = test();
    ran.exits_with(0)
        .prints("test scripts::deeper::second::counts ... ok");
    ran.prints("test scripts::every_script_is_included ... ok");
    test().exits_with(0).never_mentions("Compiling");

    // One that is taken away is gone at once.
    fs::remove_file(scratch.root().join("tests/scripts/first.conan")).unwrap();
    let ran = test();
    ran.exits_with(0)
        .never_mentions("first")
        .prints("test scripts::deeper::second::counts ... ok");
}

#[test]
fn a_mistake_in_a_script_is_a_compile_error_that_shows_the_script() {
    let scratch = Scratch::new("script_mistake");
    let first = scratch.write(
        "tests/scripts/first.conan",
        &COUNTER.replace("#valueCheck c.add(3)", "#valuecheck c.add(3)"),
    );
    let second = scratch.write(
        "tests/scripts/second.conan",
        &COUNTER
            .replace("#ticktime 20", "#ticktime soon")
            .replace("c.add(1) # 1", "c.add(1"),
    );
    scratch.include("tests/scripts");
    let ran = scratch.cargo_test().arg("--tests").ran();
    ran.fails().never_mentions("panicked");
    // All mistakes of all scripts at once.
    ran.says("[CN001]: ").says("#valueCheck");
    ran.says(&format!(
        "tests/scripts/first.conan:{}",
        place(&first, "#valuecheck")
    ));
    ran.says("#valuecheck c.add(3) # 5 #end");
    ran.says("[CN012]: ");
    ran.says(&format!(
        "tests/scripts/second.conan:{}",
        place(&second, "soon")
    ));
    ran.says("#ticktime soon");
    ran.says(&format!(
        "tests/scripts/second.conan:{}:",
        place(&second, "c.add(1").line
    ));
    // And the invocation that includes them.
    ran.says("conan_test::script!(\"tests/scripts\")");
}

#[test]
fn a_script_that_is_not_there_is_a_compile_error_that_names_it() {
    let scratch = Scratch::new("missing_script");
    scratch.include("tests/scripts/nowhere.conan");
    let ran = scratch.cargo_test().arg("--tests").ran();
    ran.fails()
        .says("cannot read the script tests/scripts/nowhere.conan");
    ran.says("No such file").never_mentions("panicked");
}

#[test]
fn a_component_that_cannot_be_shared_gives_an_error_that_says_so() {
    let scratch = Scratch::new("not_sync");
    let path = "tests/scripts/unshared.conan";
    let shared = "#ticktime 20\n\n#cut u Unshared::new()\n\n#top\n    use CRATE::Unshared;\n#end\n\n\
        #begin counts\n    #tick\n        #thread <one>\n            #valueCheck u.add(1) # 1 #end\n\
        \x20       #end\n    #end\n    #tick\n        #thread <one>\n            \
        #valueCheck u.add(1) # 2 #end\n        #end\n    #end\n#end\n";
    let script = scratch.script(path, shared);
    let ran = scratch.cargo_test().arg("--tests").ran();
    ran.fails().says("`Unshared` cannot be shared");
    ran.says(&format!("{path}:{}\n", place(&script, "Unshared::new()")));
    ran.says("#cut u Unshared::new()");
    ran.says("it is not `Sync`").says("takes");

    let taken = shared.replacen("#thread <one>", "#thread <one> takes u", 1);
    scratch.write(path, &taken);
    let ran = scratch.cargo_test().arg("--tests").ran();
    ran.exits_with(0).prints("test unshared::counts ... ok");
}
