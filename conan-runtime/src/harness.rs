//! The two ways into a run: a `#[test]` of cargo's, and a driver's `main`.

use std::env;
use std::panic::resume_unwind;
use std::process::ExitCode;

use conan_protocol::driver::REFUSED;

use crate::asked::Asked;
use crate::engine::with_same_threads;
#[cfg(conan_kernel)]
use crate::fresh;
use crate::output;
use crate::ran::Ran;
use crate::record::Recorder;
use crate::report::Totals;
use crate::script::Script;

/// Runs a sequence as a `#[test]`: prints the report and fails the test if
/// there is any error.
///
/// # Panics
///
/// If the sequence fails, without a message of its own: the report says all.
pub fn test(script: &'static Script, index: usize) {
    #[cfg(conan_kernel)]
    fresh::serve_if_asked(&[script]);
    let asked = Asked::from_env().unwrap_or_else(|error| panic!("{error}"));
    let recorder = Recorder::from_env();
    let run = || asked.run(script, &script.sequences[index], &recorder);
    #[cfg(conan_kernel)]
    let ran = fresh::with_test(run);
    #[cfg(not(conan_kernel))]
    let ran = run();
    let ran = ran.unwrap_or_else(|error| panic!("{error}"));
    recorder
        .record(&ran)
        .unwrap_or_else(|error| panic!("{error}"));
    if ran.has_failed() {
        let text = match &ran {
            Ran::Once(report) => format!("{report}\n{}", report.totals),
            ran => ran.to_string(),
        };
        #[cfg(conan_kernel)]
        output::end_if_it_is_held(&text);
        eprintln!("{text}");
        resume_unwind(Box::new("the sequence failed; its report is above"));
    }
    if let Ran::Explored(explored) = &ran {
        print!("{explored}");
    }
}

/// Runs every sequence of the scripts, one after the other, and prints the
/// reports and the summary. Exits with 1 if any sequence fails.
pub fn main(scripts: &[&'static Script]) -> ExitCode {
    #[cfg(conan_kernel)]
    {
        fresh::serve_if_asked(scripts);
        fresh::be_a_driver();
    }
    end_with_parent();
    let asked = Asked::from_env();
    let is_virtual = asked.as_ref().is_ok_and(Asked::is_virtual);
    let ran = asked.and_then(|asked| {
        let run = || run_all(scripts, &asked);
        if is_virtual {
            with_same_threads(run)
        } else {
            run()
        }
    });
    match ran {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(REFUSED)
        }
    }
    // Abandoned threads end with the process.
}

/// The variable by which the command that starts a driver names itself, by the number
/// of its process.
const PARENT: &str = "CONAN_PARENT";

/// A driver that the command has started ends when the command does, however that
/// comes about.
fn end_with_parent() {
    let parent = env::var(PARENT).ok();
    if let Some(parent) = parent.and_then(|parent| parent.parse().ok()) {
        #[cfg(conan_kernel)]
        conan_kernel::end_with_parent(parent);
        #[cfg(not(conan_kernel))]
        let _: u32 = parent;
    }
}

/// True if a sequence has failed.
fn run_all(scripts: &[&'static Script], asked: &Asked) -> Result<bool, String> {
    let recorder = Recorder::from_env();
    let is_of_command = env::var_os(PARENT).is_some();
    let sequences = scripts.iter().flat_map(|script| {
        script
            .sequences
            .iter()
            .map(move |sequence| (*script, sequence))
    });
    let chosen: Vec<_> = sequences
        .filter(|(_, sequence)| asked.is_wanted(sequence))
        .collect();
    if chosen.is_empty()
        && let Some(name) = asked.only()
    {
        return Err(format!("there is no sequence `{name}`"));
    }
    let mut totals = Totals::default();
    let mut has_failed = false;
    for (script, sequence) in chosen {
        if is_of_command {
            recorder.begins(script, sequence)?;
        }
        let ran = asked.run(script, sequence, &recorder)?;
        recorder.record(&ran)?;
        totals += ran.totals();
        has_failed |= ran.has_failed();
        // Who reads the reports from a file does not want them twice.
        if !recorder.is_on() {
            output::say(&ran.to_string());
        }
    }
    if !recorder.is_on() {
        output::say(&format!("\n{totals}"));
    }
    Ok(has_failed)
}
