//! What `cargo conan` says to input that it can do nothing with.

use std::fs;
#[cfg(target_os = "linux")]
use std::path::PathBuf;

use conan_integration::{FINE, Run, Scratch, cargo, crate_with_scripts, place, target, workspace};

#[test]
fn what_is_not_there_or_cannot_be_read_is_an_error_that_names_it() {
    let scratch = crate_with_scripts("unreadable", &[("fine.conan", FINE)]);
    fs::create_dir(scratch.root().join("empty")).unwrap();
    fs::create_dir(scratch.root().join("folder.conan")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("loop.conan", scratch.root().join("loop.conan")).unwrap();
    fs::write(
        scratch.root().join("latin1.conan"),
        b"// \xe4\n#begin one\n#tick\n#end\n#end\n",
    )
    .unwrap();
    for command in ["check", "fmt", "expand", "run", "stats"] {
        let paths = [
            "nowhere.conan",
            "nowhere/at/all.conan",
            "fine.conan/below.conan",
            "latin1.conan",
        ];
        for path in paths.iter().chain(cfg!(unix).then_some(&"loop.conan")) {
            let ran = scratch.conan().args([command, path]).ran();
            ran.exits_with(2)
                .says("error")
                .says(path)
                .never_mentions("panicked");
        }
        for path in ["empty", "folder.conan"] {
            let ran = scratch.conan().args([command, path]).ran();
            ran.exits_with(2)
                .says("error: ")
                .says(path)
                .never_mentions("panicked");
        }
    }
    // One that is missing does not hide what is wrong with the others.
    scratch.write("wrong.conan", "#begin one\n");
    let ran = scratch
        .conan()
        .args(["check", "nowhere.conan", "wrong.conan"])
        .ran();
    ran.exits_with(2)
        .says("cannot read nowhere.conan")
        .says("CN002");
    scratch
        .conan()
        .args(["check", "latin1.conan"])
        .ran()
        .exits_with(2)
        .says("CN019");
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_read_is_an_error_that_names_it() {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    let scratch = crate_with_scripts("locked_folder", &[("scripts/fine.conan", FINE)]);
    let folder = scratch.root().join("scripts");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&folder).is_ok() {
        let _ = writeln!(std::io::stderr(), "root may read every folder: not tested");
    } else {
        let ran = scratch.conan().args(["check", "scripts"]).ran();
        ran.exits_with(2).says("cannot read the folder scripts");
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_subfolder_that_cannot_be_read_does_not_hide_the_others() {
    let scratch = Scratch::new("deep_folder");
    scratch.script("tests/scripts/a_first.conan", FINE);
    scratch.write("tests/scripts/z_last/wrong_at_the_end.conan", FINE);
    // Root may read every folder, but not one whose path is longer than Linux
    // allows. So long a path is made of two halves.
    let half: PathBuf = std::iter::repeat_n("d".repeat(250), 9).collect();
    let scripts = scratch.root().join("tests/scripts");
    fs::create_dir_all(scripts.join("m").join(&half)).unwrap();
    fs::create_dir_all(scripts.join("n").join(&half)).unwrap();
    fs::rename(scripts.join("n"), scripts.join("m").join(&half).join("n")).unwrap();

    let says = "cannot read the folder tests/scripts/m/ddd";
    let ran = scratch.conan().args(["check", "tests/scripts"]).ran();
    ran.exits_with(2).says(says).says("checked 2 scripts");
    let ran = scratch.conan().args(["fmt", "tests/scripts"]).ran();
    ran.exits_with(2).says(says);
    let ran = scratch.conan().args(["stats", "tests/scripts"]).ran();
    ran.exits_with(2).says(says).prints("z_last");
    let ran = scratch.conan().args(["run", "tests/scripts"]).ran();
    ran.exits_with(2)
        .says(says)
        .prints("wrong_at_the_end.conan")
        .prints_line("Test cases: 2");
    // Those who take long do not begin.
    let ran = scratch.conan().args(["explore", "tests/scripts"]).ran();
    ran.exits_with(2).says(says);
    assert_eq!(ran.stdout, "", "{ran}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_script_whose_path_is_not_utf_8_is_an_error_that_says_so() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    for path in [&b"caf\xe9.conan"[..], b"caf\xe9/fine.conan"] {
        let scratch = Scratch::new("not_utf_8");
        scratch.script("tests/scripts/fine.conan", FINE);
        scratch.include("tests/scripts");
        let script = scratch
            .root()
            .join("tests/scripts")
            .join(OsStr::from_bytes(path));
        fs::create_dir_all(script.parent().unwrap()).unwrap();
        let text = scratch.read("tests/scripts/fine.conan");
        fs::write(&script, text).unwrap();
        for command in ["check", "run", "explore", "stats", "fmt"] {
            let ran = scratch.conan().args([command, "tests/scripts"]).ran();
            ran.exits_with(2)
                .says(r"tests/scripts/caf\xE9")
                .says("is not UTF-8")
                .never_mentions("panicked");
        }
        let ran = scratch.conan().arg("expand").arg(&script).ran();
        ran.exits_with(2).says("is not UTF-8");
        let ran = scratch.cargo_test().ran();
        ran.fails()
            .says(r"tests/scripts/caf\xE9")
            .says("is not UTF-8")
            .never_mentions("cannot find")
            .never_mentions("panicked");
    }
}

#[test]
fn a_target_directory_that_cannot_be_written_is_an_error_that_names_it() {
    let scratch = crate_with_scripts("no_target", &[("tests/scripts/fine.conan", FINE)]);
    let nowhere = scratch.root().join("Cargo.toml/target");
    let mut command = scratch.conan();
    let ran = command
        .args(["run", "tests/scripts"])
        .env("CARGO_TARGET_DIR", &nowhere)
        .ran();
    ran.exits_with(2)
        .says("cannot write")
        .says("Cargo.toml/target")
        .never_mentions("panicked");

    // The macro's own file under it, too.
    let copies = target().join("integration/tmp/conan");
    fs::create_dir_all(&copies).unwrap();
    fs::write(copies.join("no_target"), "in the way").unwrap();
    scratch.include("tests/scripts");
    let ran = scratch.cargo_test().arg("--tests").ran();
    ran.fails()
        .says("cannot write")
        .says("no_target")
        .never_mentions("panicked");
}

#[test]
fn a_package_that_does_not_compile_ends_a_run_with_3() {
    let scratch = crate_with_scripts("does_not_compile", &[("tests/scripts/fine.conan", FINE)]);
    let library = scratch.read("src/lib.rs");
    let library = scratch.write(
        "src/lib.rs",
        &format!("{library}\npub fn wrong() -> u8 {{ 'u' }}\n"),
    );
    let ran = scratch.conan().args(["run", "tests/scripts"]).ran();
    ran.exits_with(3)
        .says("mismatched types")
        .says("the driver did not compile");
    ran.says(&format!("src/lib.rs:{}", place(&library, "'u'")));
    assert_eq!(ran.stdout, "", "{ran}");

    // A manifest that cargo cannot read is the command line's business.
    scratch.write("Cargo.toml", "[package\n");
    let ran = scratch.conan().args(["run", "tests/scripts"]).ran();
    ran.exits_with(2)
        .says("Cargo.toml")
        .never_mentions("panicked");
}

#[test]
fn wrong_command_lines_end_with_2_and_say_what_is_wrong() {
    let scratch = crate_with_scripts("command_lines", &[("fine.conan", FINE)]);
    let wrong: [(&[&str], &str); 13] = [
        (&[], "Usage"),
        (&["frobnicate"], "frobnicate"),
        (&["run", "--frobnicate"], "--frobnicate"),
        (&["run", "--clock", "moon", "fine.conan"], "moon"),
        (&["run", "--ticktime", "0", "fine.conan"], "--ticktime"),
        (&["run", "--ticktime", "-1", "fine.conan"], "-1"),
        (&["run", "--ticktime", "soon", "fine.conan"], "soon"),
        // A day, and a millisecond.
        (&["run", "--ticktime", "86400001", "fine.conan"], "86400001"),
        (&["run", "--package", "nobody", "fine.conan"], "nobody"),
        (&["check", "--message-format", "xml", "fine.conan"], "xml"),
        (&["expand"], "FILE"),
        (&["explain"], "CODE"),
        (&["new"], "NAME"),
    ];
    for (args, word) in wrong {
        let ran = scratch.conan().args(args).ran();
        ran.exits_with(2).says(word).never_mentions("panicked");
        assert_eq!(ran.stdout, "", "{ran}");
    }
    let fine: [(&[&str], &str); 3] = [
        (&["--help"], "Usage"),
        (&["--version"], "0."),
        (&["run", "--help"], "--ticktime"),
    ];
    for (args, word) in fine {
        scratch.conan().args(args).ran().exits_with(0).prints(word);
    }
}

#[test]
fn a_wrong_environment_is_named_and_no_test_is_blamed() {
    let scratch = Scratch::new("environment");
    scratch.script("tests/scripts/fine.conan", FINE);
    for (name, value) in [
        ("CONAN_TICKTIME", "abc"),
        ("CONAN_TICKTIME", "0"),
        ("CONAN_TICKTIME", "86400001"),
        ("CONAN_CLOCK", "moon"),
    ] {
        let ran = scratch
            .conan()
            .args(["run", "tests/scripts"])
            .env(name, value)
            .ran();
        ran.exits_with(2)
            .says(name)
            .says(value)
            .never_mentions("had reported");
        let ran = scratch.cargo_test().arg("--tests").env(name, value).ran();
        ran.fails().prints(name).prints(value);
    }
    // What is right is taken.
    let ran = scratch
        .cargo_test()
        .env("CONAN_TICKTIME", "10")
        .env("CONAN_CLOCK", "wall")
        .ran();
    ran.exits_with(0);
    let longest = scratch
        .conan()
        .args(["run", "--ticktime", "86400000", "tests/scripts"])
        .ran();
    longest.exits_with(0);
    let longest = scratch
        .conan()
        .args(["run", "tests/scripts"])
        .env("CONAN_TICKTIME", "86400000")
        .ran();
    longest.exits_with(0);
}

#[test]
fn the_alias_of_this_repository_works() {
    let mut command = cargo(workspace());
    // Where the command is built already.
    command
        .env("CARGO_TARGET_DIR", target())
        .env_remove("CARGO_PROFILE_DEV_DEBUG");
    command.env_remove("CARGO_INCREMENTAL");
    let ran = command
        .args(["conan", "check", "scripts/clock.conan"])
        .ran();
    ran.exits_with(0)
        .says("checked 1 script: 0 errors, 0 warnings");
}
