//! The four message formats of every command.

use conan_integration::Run;
use serde_json::Value;

use crate::fixture::{conan, scratch, token};

/// Every command in every format: something is printed, and as JSON each line
/// is an object.
#[test]
fn every_command_has_four_formats() {
    let scratch = scratch("ending_formats");
    let token = token(&scratch);
    let part = conan(
        &scratch,
        &["explore", "--message-format", "json", "order.conan"],
    )
    .ran();
    scratch.write("part.json", &part.stdout);
    let commands: [&[&str]; 10] = [
        &["check", "broken.conan"],
        &["fmt", "--check", "ugly.conan"],
        &["expand", "order.conan"],
        &["stats", "order.conan"],
        &["explain", "CN001"],
        &["run", "wrong.conan"],
        &["explore", "order.conan"],
        &["replay", "order.conan", &token],
        &["merge", "part.json"],
        &["test", "--lib", "is_wrong"],
    ];
    for words in commands {
        for format in ["human", "short", "json", "github"] {
            let ran = conan(&scratch, words)
                .args(["--message-format", format])
                .ran();
            let text = ran.stdout.clone() + &ran.stderr;
            assert!(!text.trim().is_empty(), "{words:?} {format}: {ran}");
            if format == "json" {
                assert!(!ran.stdout.is_empty(), "{words:?}: {ran}");
                for line in ran.stdout.lines() {
                    let value: Result<Value, _> = serde_json::from_str(line);
                    assert!(
                        value.is_ok_and(|value| value.is_object()),
                        "{words:?}: {line}"
                    );
                }
            }
            if format == "github" && words[0] != "expand" {
                assert!(ran.stdout.contains("::"), "{words:?}: {ran}");
            }
        }
    }
    for (number, format) in ["human", "short", "json", "github"].into_iter().enumerate() {
        let name = format!("made_{number}");
        let words = ["new", "--message-format", format, &name];
        let ran = conan(&scratch, &words).ran();
        ran.exits_with(0)
            .prints(&format!("tests/scripts/{name}.conan"));
    }
}
