//! `cargo conan explore`, `replay` and `merge`: sequences under many schedules,
//! one of them again, and what several machines have found.

mod finding;
mod jobs;
mod progress;
mod request;
mod rewrite;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use conan_lang::Parsed;
use serde_json::Value;

use self::finding::Finding;
use self::jobs::Jobs;
use crate::cli::{ClockArgs, ExploreArgs, Format, MergeArgs, ReplayArgs};
use crate::exit::{Exit, Stop, error};
use crate::run::execute::{Driver, Ended};
use crate::run::scratch::{Place, Scratch};
use crate::run::{cargo, interrupt, package_of, workspace_of};
use crate::{check, files, fine, output};

/// A driver that is built, and what it runs.
struct Prepared {
    driver: PathBuf,
    scratch: Scratch,
    /// The package under test.
    package: String,
    scripts: Vec<Parsed>,
    /// The sequences' names, in order.
    sequences: Vec<String>,
}

/// What a command says about the driver that it needs.
struct Wanted<'a> {
    files: &'a [PathBuf],
    package: Option<&'a str>,
    format: Format,
    is_fine: bool,
    instrument: &'a [String],
}

fn prepare(wanted: &Wanted<'_>) -> Stop<Prepared> {
    interrupt::listen()?;
    prepare_again(wanted)
}

fn prepare_again(wanted: &Wanted<'_>) -> Stop<Prepared> {
    let paths = files::scripts(wanted.files)?;
    let scripts = check::checked(&paths, wanted.format)?;
    let names = scripts.iter().flat_map(|parsed| {
        let count = parsed.script.sequences.len();
        (0..count).map(|index| conan_codegen::sequence_name(parsed, index))
    });
    let sequences = names.collect();
    let workspace = workspace_of(&paths[0], wanted.package)?;
    let package = package_of(&workspace, &paths, wanted.package)?;
    let mut place = Place::of_run(&workspace, package, &paths);
    let mut environment = Vec::new();
    if wanted.is_fine || !wanted.instrument.is_empty() {
        let mut chosen = vec![package.name().to_owned()];
        chosen.extend_from_slice(wanted.instrument);
        place.target = fine::target(&place.target, &chosen);
        environment = fine::environment(&chosen)?;
    }
    let mut scratch = Scratch::prepare(place, &workspace, package, &paths)?;
    scratch.environment.extend(environment);
    let driver = cargo::build(&scratch)?;
    Ok(Prepared {
        driver,
        scratch,
        package: package.name().to_owned(),
        scripts,
        sequences,
    })
}

/// Explores the sequences of scripts.
pub(crate) fn explore(args: &ExploreArgs) -> Stop<()> {
    let request = request::request(args)?;
    let mut prepared = prepare(&Wanted {
        files: &args.files,
        package: args.package.as_deref(),
        format: args.message_format,
        is_fine: args.fine,
        instrument: &args.instrument,
    })?;
    if let Some(name) = &args.sequence {
        prepared.sequences.retain(|known| known == name);
        if prepared.sequences.is_empty() {
            return Err(error(format_args!("there is no sequence `{name}`")));
        }
    }
    let jobs = Jobs {
        prepared: &prepared,
        request: &request,
        count: args.jobs.map_or(1, std::num::NonZeroUsize::get) as u64,
        ticktime: args.ticktime,
        sequence: args.sequence.as_deref(),
        is_data: args.message_format != Format::Human,
    };
    let mut has_failed = false;
    let mut is_first = true;
    jobs.run(|finding| {
        has_failed |= finding.has_failed();
        print(&finding, args.message_format, std::mem::take(&mut is_first));
    })?;
    if has_failed {
        Err(Exit::Failed)
    } else {
        Ok(())
    }
}

fn print(finding: &Finding, format: Format, is_first: bool) {
    match format {
        Format::Json => output::out(format_args!("{}\n", finding.to_json())),
        Format::Human => {
            let gap = if is_first { "" } else { "\n" };
            output::out(format_args!("{gap}{}", finding.text()));
        }
        Format::Short | Format::Github => crate::run::reports::lines(format, &finding.to_json()),
    }
}

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
                format => crate::run::reports::lines(format, &report),
            }
            replayed = Some(report);
        }
        ControlFlow::Continue(())
    })?;
    let _ = fs::remove_file(&prepared.scratch.reports);
    if let (Some(file), Some(report)) = (&args.script, &replayed) {
        write_script(file, &prepared, sequence, report)?;
    }
    match (replayed.map(|report| report["verdict"] == "failed"), ended) {
        (Some(false), _) => Ok(()),
        (Some(true), _) => Err(Exit::Failed),
        (None, Ended::Itself(status, _)) if status.code() == Some(Exit::Wrong as i32) => {
            Err(Exit::Wrong)
        }
        (None, _) => {
            error("the driver ended before it had reported");
            Err(Exit::Failed)
        }
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
    let own = &report["errors"][0];
    match errors {
        Ok(error) if !own.is_null() && alike(&error, own) => {
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

/// The first error of a script in the default order.
fn errors_of(file: &Path, package: &str) -> Stop<Value> {
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
    let mut first = Value::Null;
    driver.run(None, |line| {
        if let Ok(report) = serde_json::from_str::<Value>(line) {
            first = report["errors"][0].clone();
        }
        ControlFlow::Continue(())
    })?;
    let _ = fs::remove_file(&prepared.scratch.reports);
    Ok(first)
}

/// Runs the execution under a debugger, on threads of the system's: those it
/// knows.
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
    if let Some(ticktime) = args.ticktime {
        command.env("CONAN_TICKTIME", ticktime.to_string());
    }
    let status = command
        .status()
        .map_err(|failure| error(format_args!("cannot start {program}: {failure}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Exit::Failed)
    }
}

/// Joins what parts of an exploration have found.
pub(crate) fn merge(args: &MergeArgs) -> Stop<()> {
    let mut found: Vec<Finding> = Vec::new();
    for path in &args.files {
        for part in read(path)? {
            match found.iter_mut().find(|known| known.is_of(&part)) {
                Some(known) => known
                    .join(&part)
                    .map_err(|problem| error(format_args!("{}: {problem}", path.display())))?,
                None => found.push(part),
            }
        }
    }
    let mut has_failed = false;
    for (index, finding) in found.iter().enumerate() {
        has_failed |= finding.has_failed();
        print(finding, args.message_format, index == 0);
    }
    let missing: BTreeSet<u64> = found.iter().flat_map(Finding::missing).collect();
    if !missing.is_empty() && args.message_format == Format::Human {
        let missing: Vec<String> = missing.iter().map(u64::to_string).collect();
        output::out(format_args!(
            "\nparts that are missing: {}\n",
            missing.join(", ")
        ));
    }
    if has_failed {
        Err(Exit::Failed)
    } else {
        Ok(())
    }
}

/// The findings in a file of `explore --message-format json`.
fn read(path: &Path) -> Stop<Vec<Finding>> {
    let shown = path.display();
    let text = if path == Path::new("-") {
        io::read_to_string(io::stdin())
    } else {
        fs::read_to_string(path)
    };
    let text = text.map_err(|failure| error(format_args!("cannot read {shown}: {failure}")))?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty());
    let findings: Vec<_> = lines
        .map(|(number, line)| {
            let value = serde_json::from_str(line).ok();
            value.and_then(Finding::from_json).ok_or_else(|| {
                error(format_args!(
                    "{shown}:{}: this is no finding of `cargo conan explore --message-format json`",
                    number + 1
                ))
            })
        })
        .collect::<Stop<_>>()?;
    if findings.is_empty() {
        return Err(error(format_args!("{shown} holds no finding")));
    }
    Ok(findings)
}
