//! Runs the driver and shows its reports as they come.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use super::interrupt;
use super::reports::Printer;
use super::scratch::Scratch;
use crate::cli::{Format, RunArgs};
use crate::exit::{Exit, Stop, error};
use crate::files;

/// How often to look for a new report.
const PERIOD: Duration = Duration::from_millis(20);

/// What came of all sequences.
pub(super) struct Outcome {
    pub(super) failed: bool,
}

/// Runs the driver to its end.
pub(super) fn execute(
    driver: &Path,
    scratch: &Scratch,
    args: &RunArgs,
    sequences: usize,
) -> Stop<Outcome> {
    let cannot = |failure| files::cannot_write(&scratch.reports, &failure);
    interrupt::remove_with_us(&scratch.reports);
    fs::write(&scratch.reports, "").map_err(cannot)?;
    let mut command = Command::new(driver);
    command
        .current_dir(&scratch.package_root)
        .env("CONAN_REPORT", &scratch.reports)
        .stdin(Stdio::null());
    if let Some(clock) = &args.clock {
        command.env("CONAN_CLOCK", clock);
    }
    if let Some(ticktime) = args.ticktime {
        command.env("CONAN_TICKTIME", ticktime.to_string());
    }
    // Data on standard output is ours alone.
    if args.message_format != Format::Human {
        command.stdout(Stdio::from(io::stderr()));
    }
    let opened = File::open(&scratch.reports);
    let mut reader = BufReader::new(opened.map_err(cannot)?);
    let mut child = command
        .spawn()
        .map_err(|failure| error(format_args!("cannot start the driver: {failure}")))?;
    interrupt::watch(&child);
    let mut printer = Printer::new(args.message_format);
    let mut line = String::new();
    let status = loop {
        let ended = child.try_wait();
        while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
            // A line without its end is still being written.
            if !line.ends_with('\n') {
                break;
            }
            printer.report(&line);
            line.clear();
        }
        match ended {
            Ok(None) => thread::sleep(PERIOD),
            Ok(Some(status)) => break status,
            Err(failure) => {
                return Err(error(format_args!("cannot wait for the driver: {failure}")));
            }
        }
    };
    interrupt::forget(&child);
    let _ = fs::remove_file(&scratch.reports);
    if status.code() == Some(Exit::Wrong as i32) && printer.count() == 0 {
        // The driver has said itself what is wrong with its settings.
        return Err(Exit::Wrong);
    }
    if status.code().is_none() {
        interrupt::let_the_handler_go_first();
    }
    let missing = sequences.saturating_sub(printer.count());
    if missing > 0 {
        printer.broken_off(missing, &described(status));
    }
    printer.totals();
    let failed = printer.failed() || missing > 0 || !status.success();
    Ok(Outcome { failed })
}

fn described(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}
