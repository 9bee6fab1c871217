//! The fault that the paper found in a readers-writers monitor (5.7), as its
//! script reports it.
//!
//! With a harness of its own: the script's sequences are no tests here, because
//! some of them must fail.

// Scripts show constructs, not always the shortest way to say a thing.
#![allow(clippy::pedantic)]

use conan_test::driver::{Settings, engine, run};
use libtest_mimic::{Arguments, Failed, Trial};

// To the script, the faulty component is the one that it always tests: what it
// uses as `conan_gallery` is this file.
extern crate conan_gallery as gallery;
extern crate self as conan_gallery;
pub use gallery::faulty::ReadWritePriority;

conan_test::script!("../../scripts/gallery/read_write_priority.conan");

fn main() {
    let trials = vec![Trial::test(
        "a_reader_who_wakes_one_thread_leaves_two_suspended",
        a_reader_who_wakes_one_thread_leaves_two_suspended,
    )];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn a_reader_who_wakes_one_thread_leaves_two_suspended() -> Result<(), Failed> {
    let settings = Settings {
        engine: engine("virtual")?,
        ticktime: None,
    };
    let script = &read_write_priority::SCRIPT;
    let sequences = script.sequences.iter();
    let reports = sequences.map(|sequence| run(script, sequence, settings));
    let failed = reports.filter(|report| !report.failures.is_empty());
    let failed: String = failed.map(|report| report.to_string()).collect();
    insta::assert_snapshot!("read_write_priority", failed);
    Ok(())
}
