//! The faults that the paper found in its industrial components (5.8), and
//! what the reports say about them: `scripts/faults` against
//! `conan_gallery::faulty`.

// Scripts show constructs, not always the shortest way to say a thing.
#![allow(clippy::pedantic)]

use conan_test::driver::{Script, Settings, engine, run};

/// Inside a function the sequences are no tests: they fail on purpose.
#[allow(dead_code, unnameable_test_items)]
mod faults {
    use super::Script;

    pub(crate) fn scripts() -> [(&'static Script, &'static str); 5] {
        conan_test::script!(
            "../../scripts/faults/blocking_terminal_pool_unsynchronised_list.conan"
        );
        conan_test::script!("../../scripts/faults/jdbc_connection_pool_waits_again.conan");
        conan_test::script!("../../scripts/faults/record_input_stream_notifies_once.conan");
        conan_test::script!("../../scripts/faults/record_input_stream_notifies_one.conan");
        conan_test::script!("../../scripts/faults/record_input_stream_size_checked_before.conan");

        const TERMINALS: &str =
            include_str!("../../../scripts/gallery/blocking_terminal_pool.conan");
        const CONNECTIONS: &str =
            include_str!("../../../scripts/gallery/jdbc_connection_pool.conan");
        const RECORDS: &str = include_str!("../../../scripts/gallery/record_input_stream.conan");
        [
            (
                &blocking_terminal_pool_unsynchronised_list::SCRIPT,
                TERMINALS,
            ),
            (&jdbc_connection_pool_waits_again::SCRIPT, CONNECTIONS),
            (&record_input_stream_notifies_once::SCRIPT, RECORDS),
            (&record_input_stream_notifies_one::SCRIPT, RECORDS),
            (&record_input_stream_size_checked_before::SCRIPT, RECORDS),
        ]
    }
}

/// The report is about the fault and nothing else: every sequence fails, in
/// the same way each time.
#[test]
fn every_fault_is_reported() {
    for (script, _) in faults::scripts() {
        for sequence in script.sequences {
            let mut report = run(script, sequence, settings());
            for failure in &mut report.failures {
                // There is one only where RUST_BACKTRACE asks for it.
                failure.backtrace = None;
            }
            insta::assert_snapshot!(sequence.name, report);
        }
    }
}

/// So a right component passes what a faulty one fails, to the word.
#[test]
fn the_sequences_that_find_the_faults_are_the_gallerys_own() {
    for (script, gallery) in faults::scripts() {
        let texts: Vec<&str> = script.source.split("\n#begin ").skip(1).collect();
        assert_eq!(texts.len(), script.sequences.len(), "{}", script.path);
        for text in texts {
            let (sequence, _) = text.split_once("\n#end\n").unwrap();
            assert!(gallery.contains(sequence), "{}: {sequence}", script.path);
        }
    }
}

fn settings() -> Settings {
    let engine = engine("virtual").expect("the engine runs here");
    Settings {
        engine,
        ticktime: None,
    }
}
