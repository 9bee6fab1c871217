//! `cargo conan runner`: a test binary with its arguments, as cargo and
//! nextest start it, with the kernel preloaded. What else cargo starts by its
//! runner is left as it is.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitStatus};

use conan_preload::Account;

use super::execute::{Understood, Verdict, described};
use super::library::Library;
use super::random::{Random, at_fixed_addresses};
use super::report;
use crate::exit::{Exit, Stop, error};
use crate::output;
use crate::run::interrupt::{self, Group, Running};

/// Runs a binary, and ends as it does.
pub(crate) fn runner(words: impl IntoIterator<Item = OsString>) -> Stop<()> {
    let mut words = words.into_iter();
    let Some(binary) = words.next().map(PathBuf::from) else {
        return Err(error(
            "which binary? cargo names it: `runner = \"cargo conan runner\"`",
        ));
    };
    let arguments: Vec<OsString> = words.collect();
    let status = if is_test(&binary, &arguments) {
        managed(&binary, &arguments)?
    } else {
        let mut command = Command::new(&binary);
        command.args(&arguments);
        ended(&binary, interrupt::start(&mut command, Group::Ours))?
    };
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => process::exit(code),
        None => Err(interrupt::unless_stopped(|| {
            let binary = binary.display();
            output::err(format_args!("{binary}: {}\n", described(status)));
            Exit::TestsFailed
        })),
    }
}

/// True for what cargo has built in order to test it: it has a number in its name.
/// A program that `cargo run` starts has none, nor has a doc test. A benchmark is
/// told that it is one; and to list tests takes no time.
fn is_test(binary: &Path, arguments: &[OsString]) -> bool {
    let stem = binary.file_stem().unwrap_or_default().to_string_lossy();
    let number = stem.rsplit_once('-').map(|(_, number)| number);
    let is_numbered = number.is_some_and(|number| {
        number.len() == 16 && number.bytes().all(|digit| digit.is_ascii_hexdigit())
    });
    let is_else = |word: &OsString| word == "--bench" || word == "--list";
    is_numbered && !arguments.iter().any(is_else)
}

/// Runs a binary with the kernel preloaded, and says why if it hangs.
fn managed(binary: &Path, arguments: &[OsString]) -> Stop<ExitStatus> {
    let library = Library::under(&target_around(binary), Random::of_environment()?)?;
    let path = library.account(0);
    let mut command = Command::new(binary);
    command.args(arguments);
    library.load_into(&mut command);
    command.envs(library.settings(&path, &name(binary, arguments), None));
    let start = || interrupt::start(&mut command, Group::Ours);
    let status = ended(binary, at_fixed_addresses(start))?;
    let account = fs::read_to_string(&path).unwrap_or_default();
    if let Some(hang) = Understood::from(Account::parse(&account), status).hang
        && let Some(text) = report::why(&Verdict::Hung(hang))
    {
        output::err(format_args!("\n{text}"));
    }
    Ok(status)
}

/// How a process has ended that was started.
fn ended(binary: &Path, started: io::Result<Running>) -> Stop<ExitStatus> {
    let cannot = |failure| error(format_args!("cannot start {}: {failure}", binary.display()));
    let status = started.map_err(cannot)?.wait();
    status.map_err(cannot)
}

/// What is run, without the part of the name that changes from build to build.
fn name(binary: &Path, arguments: &[OsString]) -> String {
    let stem = binary.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem.rsplit_once('-').map_or(&*stem, |(name, _)| name);
    let words = arguments.iter().map(|word| word.to_string_lossy());
    words.fold(stem.to_owned(), |name, word| name + " " + &word)
}

/// The target directory that a binary was built in.
fn target_around(binary: &Path) -> PathBuf {
    let binary = std::path::absolute(binary).unwrap_or_else(|_| binary.to_owned());
    let is_target = |folder: &&Path| folder.join("CACHEDIR.TAG").exists();
    let found = binary.ancestors().skip(1).find(is_target);
    found
        .or(binary.parent())
        .map_or_else(std::env::temp_dir, Path::to_owned)
}
