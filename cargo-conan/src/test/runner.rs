//! `cargo conan runner`: a test binary with its arguments, as cargo and
//! nextest start it, with the kernel preloaded.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use conan_preload::Account;

use super::execute::{Understood, Verdict, described};
use super::library::Library;
use super::random::{Random, at_fixed_addresses};
use super::report;
use crate::exit::{Exit, Stop, error};
use crate::output;
use crate::run::interrupt::{self, Group};

/// Runs a binary, and ends as it does.
pub(crate) fn runner(words: impl IntoIterator<Item = OsString>) -> Stop<()> {
    let mut words = words.into_iter();
    let Some(binary) = words.next().map(PathBuf::from) else {
        return Err(error(
            "which binary? cargo names it: `runner = \"cargo conan runner\"`",
        ));
    };
    let arguments: Vec<OsString> = words.collect();
    let lists = arguments.iter().any(|word| word == "--list");
    let mut command = Command::new(&binary);
    command.args(&arguments);
    let library = Library::under(&target_around(&binary), Random::of_environment()?)?;
    let path = library.account(0);
    if !lists {
        library.preload(&mut command, &path, &name(&binary, &arguments));
    }
    interrupt::listen()?;
    let cannot = |failure| error(format_args!("cannot start {}: {failure}", binary.display()));
    let start = || interrupt::start(&mut command, Group::Ours);
    let mut child = at_fixed_addresses(start).map_err(cannot)?;
    let status = child.wait();
    drop(child);
    let status = status.map_err(cannot)?;
    let account = fs::read_to_string(&path).unwrap_or_default();
    drop(library);
    if let Some(hang) = Understood::from(Account::parse(&account), status).hang
        && let Some(text) = report::why(&Verdict::Hung(hang))
    {
        output::err(format_args!("\n{text}"));
    }
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => process::exit(code),
        None => {
            interrupt::let_the_handler_go_first();
            output::err(format_args!(
                "{}: {}\n",
                binary.display(),
                described(status)
            ));
            Err(Exit::TestsFailed)
        }
    }
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
