//! The two ways into a run: a `#[test]` of cargo's, and a driver's `main`.

use std::fs::OpenOptions;
use std::io::Write;
use std::panic::resume_unwind;
use std::process::ExitCode;

use crate::engine::with_same_threads;
use crate::report::{Report, Totals, Verdict};
use crate::run::{Settings, run};
use crate::script::Script;

/// The variable that names a file to which every report is added, as JSON,
/// one object a line.
const REPORT_FILE: &str = "CONAN_REPORT";

/// Runs a sequence as a `#[test]`: prints the report and fails the test if
/// there is any error.
///
/// # Panics
///
/// If the sequence fails, without a message of its own: the report says all.
pub fn test(script: &'static Script, index: usize) {
    let settings = Settings::from_env().unwrap_or_else(|error| panic!("{error}"));
    let report = run(script, &script.sequences[index], settings);
    record(&report).unwrap_or_else(|error| panic!("{error}"));
    if report.verdict() == Verdict::Failed {
        eprintln!("{report}\n{}", report.totals);
        resume_unwind(Box::new("the sequence failed; its report is above"));
    }
}

/// Runs every sequence of the scripts, one after the other, and prints the
/// reports and the summary. Exits with 1 if any sequence fails.
pub fn main(scripts: &[&'static Script]) -> ExitCode {
    let settings = match Settings::from_env() {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    // Who reads the reports from a file does not want them twice.
    let quiet = std::env::var_os(REPORT_FILE).is_some();
    let totals = match with_same_threads(|| run_all(scripts, settings, quiet)) {
        Ok(totals) => totals,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    if !quiet {
        print!("\n{totals}");
    }
    // Abandoned threads end with the process.
    if totals.errors() == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Adds a report to the file that the environment names, if it names one.
fn record(report: &Report) -> Result<(), String> {
    let Some(path) = std::env::var_os(REPORT_FILE) else {
        return Ok(());
    };
    let line = format!("{}\n", report.to_json());
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    // One write, so that reports of parallel tests do not mix.
    let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    written.map_err(|error| {
        let path = path.display();
        format!("{REPORT_FILE}: cannot write to {path}: {error}")
    })
}

fn run_all(scripts: &[&'static Script], settings: Settings, quiet: bool) -> Result<Totals, String> {
    let mut totals = Totals::default();
    for script in scripts {
        for sequence in script.sequences {
            let report = run(script, sequence, settings);
            record(&report)?;
            totals += report.totals;
            if !quiet {
                print!("{report}");
            }
        }
    }
    Ok(totals)
}
