//! Scripts of the gallery against components with a fault: what the report
//! tells a reader who has not seen the code.
//!
//! The scripts are the same as ever. They ask for `conan_gallery::BufferImpl`;
//! but here `conan_gallery` is this crate, and what it has by that name is
//! faulty. With a harness of its own: the sequences are no tests here.

// Scripts show constructs, not always the shortest way to say a thing.
#![allow(clippy::pedantic)]

extern crate conan_gallery as gallery;
extern crate self as conan_gallery;

pub(crate) use gallery::faulty::bounded_overtaking_allocator::CountsLate as BoundedOvertakingAllocator;
pub(crate) use gallery::faulty::buffer_impl::NotifyOne as BufferImpl;

use conan_test::driver::{Script, Settings, engine, run};
use libtest_mimic::{Arguments, Failed, Trial};

conan_test::script!("../../scripts/gallery/bounded_overtaking_allocator.conan");
conan_test::script!("../../scripts/gallery/buffer_impl.conan");

fn main() {
    let trials = vec![
        trial(
            "notify_for_notify_all_suspends_a_producer_and_a_consumer",
            &buffer_impl::SCRIPT,
        ),
        trial(
            "an_overtaking_that_is_noticed_late_lets_the_next_one_pass",
            &bounded_overtaking_allocator::SCRIPT,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn trial(name: &'static str, script: &'static Script) -> Trial {
    Trial::test(name, move || {
        insta::assert_snapshot!(name, reports(script)?);
        Ok(())
    })
}

/// The reports of all sequences, and the paper's summary.
fn reports(script: &'static Script) -> Result<String, Failed> {
    let engine = engine("virtual")?;
    let settings = Settings {
        engine,
        ticktime: None,
    };
    let sequences = script.sequences.iter();
    let reports: Vec<_> = sequences
        .map(|sequence| run(script, sequence, settings))
        .collect();
    let totals = reports.iter().map(|report| report.totals);
    let totals = totals.reduce(|mut sum, totals| {
        sum += totals;
        sum
    });
    let totals = totals.expect("a script has sequences");
    let text: Vec<String> = reports.iter().map(ToString::to_string).collect();
    Ok(format!("{}\n{totals}", text.join("")))
}
