//! The replay command that is printed, and replays that do not repeat their
//! execution.

use conan_integration::{Run, Scratch};

use crate::fixture::{LIBRARY, ORDER, TOP, conan, printed_token, scratch, token};

/// Every command that is printed can be pasted into a shell.
#[test]
fn the_printed_replay_command_can_be_pasted() {
    let scratch = Scratch::in_folder("ending_pasted", "a folder");
    scratch.write("src/lib.rs", LIBRARY);
    scratch.write("it's order.conan", &(TOP.to_owned() + ORDER));
    for words in [
        &["explore", "it's order.conan"][..],
        &[
            "explore",
            "--steps",
            "50000",
            "--ticktime",
            "50",
            "it's order.conan",
        ],
        &[
            "explore",
            "--spurious",
            "1",
            "--package",
            "ending_pasted",
            "it's order.conan",
        ],
        &["explore", "--fine", "it's order.conan"],
        &["test", "--lib", "--executions", "3", "is_wrong"],
    ] {
        let ran = conan(&scratch, words).ran();
        let text = ran.stdout.clone() + &ran.stderr;
        let line = text.lines().find_map(|line| line.strip_prefix("replay: "));
        let line = line.unwrap_or_else(|| panic!("{words:?} prints no command; {ran}"));
        let pasted = line.replace("cargo conan", "\"$CONAN\" conan");
        let mut shell = conan_integration::command("sh", scratch.root());
        shell.args(["-c", &pasted]);
        shell.env("CONAN", conan_integration::cargo_conan());
        let again = shell.ran();
        assert_eq!(again.code, ran.code, "{line}: {again}");
        let has_failed = again.stdout.contains("FAILED") || again.stderr.contains("FAIL");
        assert!(has_failed, "{line}: {again}");
    }
}

#[test]
fn a_token_of_a_program_with_hooks_is_refused_without_them() {
    let scratch = scratch("ending_hooks");
    let ran = conan(&scratch, &["explore", "--fine", "order.conan"]).ran();
    let token = printed_token(&ran.stdout);
    conan(&scratch, &["replay", "order.conan", &token])
        .ran()
        .exits_with(2)
        .says("the token was recorded with `--fine`");
    conan(&scratch, &["replay", "--fine", "order.conan", &token])
        .ran()
        .exits_with(1);
}

#[test]
fn a_replay_that_takes_another_path_has_no_verdict() {
    let scratch = scratch("ending_path");
    let token = token(&scratch);
    let other = ORDER.replace("#thread <b>", "#thread <c> #end #thread <b>");
    scratch.write("order.conan", &(TOP.to_owned() + &other));
    conan(&scratch, &["replay", "order.conan", &token])
        .ran()
        .exits_with(4)
        .says("the replay took a different path");
}
