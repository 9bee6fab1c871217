//! `cargo conan replay`: one execution again, as a script if there is one that
//! fails like it, or under a debugger.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Prepared, Wanted, prepare, prepare_again, rewrite};
use crate::cli::{ClockArgs, Format, ReplayArgs};
use crate::exit::{Exit, Stop, error};
use crate::github::{self, Level, Location};
use crate::run::execute::{Driver, Ended, has_refused};
use crate::run::interrupt;
use crate::{files, output};

/// Runs one execution again.
pub(crate) fn replay(args: &ReplayArgs) -> Stop<()> {
    let Some((sequence, _)) = args.token.split_once(':') else {
        return Err(error(format_args!(
            "`{}` is not what an exploration prints: `sequence:token`",
            args.token
        )));
    };
    let prepared = prepare(&Wanted {
        files: std::slice::from_ref(&args.file),
        package: args.package.as_deref(),
        format: args.message_format,
        is_fine: args.fine,
        instrument: &args.instrument,
    })?;
    if !prepared.sequences.iter().any(|name| name == sequence) {
        let file = args.file.display();
        return Err(error(format_args!("{file} has no sequence `{sequence}`")));
    }
    if let Some(debugger) = &args.debugger {
        return debug(debugger, &prepared, args);
    }
    let clock = ClockArgs {
        clock: None,
        ticktime: args.ticktime,
    };
    let mut driver =
        Driver::new(&prepared.driver, &prepared.scratch, &clock).told("CONAN_REPLAY", &args.token);
    if let Some(steps) = args.steps {
        driver = driver.told("CONAN_EXPLORE", format!("fixed steps={steps}"));
    }
    if args.threads {
        driver = driver.told("CONAN_HANDOVER", "threads");
    }
    if args.message_format != Format::Human {
        driver = driver.on_stderr();
    }
    interrupt::remove_with_us(&prepared.scratch.reports);
    let mut replayed = None;
    let ended = driver.run(None, |line| {
        if let Ok(report) = serde_json::from_str::<Value>(line) {
            match args.message_format {
                Format::Json => output::out(format_args!("{}\n", line.trim_end())),
                Format::Human => {
                    let text = report["rendered"].as_str().unwrap_or_default();
                    output::out(format_args!("{text}"));
                }
                format => {
                    crate::run::reports::lines(format, &report);
                    print_verdict(format, &report);
                }
            }
            replayed = Some(report);
        }
        ControlFlow::Continue(())
    })?;
    let _ = fs::remove_file(&prepared.scratch.reports);
    if let (Some(file), Some(report)) = (&args.script, &replayed) {
        write_script(file, &prepared, sequence, report)?;
    }
    match (replayed, ended) {
        (Some(report), _) if report["replay"]["fits"] == false => {
            error(
                "the replay took a different path: the code, the script or the options are not \
                 those with which the token was recorded",
            );
            Err(Exit::Undecided)
        }
        (Some(report), _) if report["verdict"] == "failed" => Err(Exit::Failed),
        (Some(_), _) => Ok(()),
        (None, Ended::Itself(status, _)) if has_refused(status) => Err(Exit::Wrong),
        (None, _) => Err(interrupt::unless_stopped(|| {
            error("the driver ended before it had reported");
            Exit::Failed
        })),
    }
}

/// What came of a replay, in a line.
fn print_verdict(format: Format, report: &Value) {
    let text = |key: &str| report[key].as_str().unwrap_or_default();
    let message = format!("{}: {}", text("sequence"), text("verdict"));
    if format == Format::Github {
        let place = Location {
            file: text("script"),
            line: report["line"].as_u64().unwrap_or(1),
            column: None,
        };
        github::annotate(Level::Notice, Some(&place), "replay", &message);
    } else {
        output::out(format_args!(
            "{}:{}: {message}\n",
            text("script"),
            report["line"]
        ));
    }
}

/// Writes the schedule as a script, and makes sure that it fails alike.
fn write_script(file: &Path, replayed: &Prepared, sequence: &str, report: &Value) -> Stop<()> {
    let cannot = || {
        error(format_args!(
            "no order of the threads in their ticks fails like this; {} is not written",
            file.display()
        ))
    };
    if file.exists() {
        return Err(error(format_args!("{} is there already", file.display())));
    }
    let index = replayed.sequences.iter().position(|name| name == sequence);
    let order = serde_json::from_value(report["replay"]["order"].clone()).unwrap_or_default();
    let text = match (replayed.scripts.first(), index) {
        (Some(parsed), Some(index)) => rewrite::rewritten(parsed, index, &order),
        _ => None,
    };
    let Some(text) = text else {
        return Err(cannot());
    };
    files::replace(file, &text).map_err(|failure| files::cannot_write(file, &failure))?;
    let errors = errors_of(file, &replayed.package);
    let alike = |one: &Value, other: &Value| {
        ["kind", "thread", "tick", "message"]
            .iter()
            .all(|key| one[key] == other[key])
    };
    // Their order is that of the lines, which are others now.
    let own = report["errors"].as_array().map_or(&[][..], Vec::as_slice);
    let is_there = |error: &Value, errors: &[Value]| errors.iter().any(|it| alike(it, error));
    match errors {
        Ok(errors) if !own.is_empty() && own.iter().all(|error| is_there(error, &errors)) => {
            output::out(format_args!("\n{} fails in the same way\n", file.display()));
            Ok(())
        }
        Ok(_) => {
            let _ = fs::remove_file(file);
            Err(cannot())
        }
        Err(exit) => {
            let _ = fs::remove_file(file);
            Err(exit)
        }
    }
}

/// The errors of a script in the default order.
fn errors_of(file: &Path, package: &str) -> Stop<Vec<Value>> {
    let prepared = prepare_again(&Wanted {
        files: &[file.to_owned()],
        package: Some(package),
        format: Format::Human,
        is_fine: false,
        instrument: &[],
    })?;
    let clock = ClockArgs {
        clock: None,
        ticktime: None,
    };
    let driver = Driver::new(&prepared.driver, &prepared.scratch, &clock)
        .told("CONAN_EXPLORE", "off")
        .unheard();
    let mut errors = Vec::new();
    driver.run(None, |line| {
        if let Ok(report) = serde_json::from_str::<Value>(line) {
            let list = report["errors"].as_array();
            errors = list.cloned().unwrap_or_default();
        }
        ControlFlow::Continue(())
    })?;
    let _ = fs::remove_file(&prepared.scratch.reports);
    Ok(errors)
}

/// Runs the execution under a debugger, each thread on a thread of the system: a
/// debugger knows those.
fn debug(debugger: &str, prepared: &Prepared, args: &ReplayArgs) -> Stop<()> {
    let mut words = debugger.split_whitespace();
    let Some(program) = words.next() else {
        return Err(error("`--debugger` names no program"));
    };
    let mut command = Command::new(program);
    command
        .args(words)
        .arg(&prepared.driver)
        .current_dir(&prepared.scratch.package_root)
        .env("CONAN_REPLAY", &args.token)
        .env("CONAN_HANDOVER", "threads");
    if let Some(steps) = args.steps {
        command.env("CONAN_EXPLORE", format!("fixed steps={steps}"));
    }
    if let Some(ticktime) = args.ticktime {
        command.env("CONAN_TICKTIME", ticktime.to_string());
    }
    let status = interrupt::run_in_foreground(&mut command)
        .map_err(|failure| error(format_args!("cannot start {program}: {failure}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Exit::Failed)
    }
}
