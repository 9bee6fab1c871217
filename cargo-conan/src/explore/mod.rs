//! `cargo conan explore`, `replay` and `merge`: sequences under many schedules,
//! one of them again, and what several machines have found.

mod finding;
mod jobs;
mod progress;
mod replay;
mod request;
mod rewrite;
mod unfinished;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use conan_lang::Parsed;
use conan_protocol::replay::SEPARATOR;

use self::finding::Finding;
use self::jobs::Jobs;
pub(crate) use self::replay::replay;
use crate::cli::{ExploreArgs, Format, MergeArgs};
use crate::exit::{Exit, Stop, error};
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
    /// What a replay needs besides the token, as the driver is told.
    replay_options: String,
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
    interrupt::will_report();
    output::has_results();
    prepare_again(wanted)
}

fn prepare_again(wanted: &Wanted<'_>) -> Stop<Prepared> {
    let paths = files::scripts(wanted.files)?.all()?;
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
        replay_options: wanted.replay_options(),
    })
}

impl Wanted<'_> {
    /// The options with which an execution has to be replayed.
    fn replay_options(&self) -> String {
        let mut words = Vec::new();
        if self.is_fine {
            words.push("--fine");
        }
        for name in self.instrument {
            words.extend(["--instrument", name]);
        }
        if let Some(name) = self.package {
            words.extend(["--package", name]);
        }
        words.join(&SEPARATOR.to_string())
    }
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
    let unfinished = jobs.run(|finding| {
        has_failed |= finding.has_failed();
        print(&finding, args.message_format, std::mem::take(&mut is_first));
    })?;
    for sequence in &unfinished {
        sequence.print(args.message_format);
        has_failed |= sequence.has_failed();
    }
    if !unfinished.is_empty() {
        return Err(interrupt::exit(has_failed));
    }
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
        Format::Short | Format::Github => finding.print_lines(format),
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
