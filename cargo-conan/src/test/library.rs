//! The shared library on disk, where the system's loader finds it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use conan_preload::{ACCOUNT, FILE_STEM, LIBRARY, MEMORY, PARENT, RANDOM, SCHEDULE};
use tempfile::{Builder, NamedTempFile, TempDir};

use super::digest::digest;
use super::execute::Wish;
use super::random::Random;
use crate::exit::{Stop, error};
use crate::run::interrupt;

/// The library, and room for accounts.
pub(super) struct Library {
    path: PathBuf,
    accounts: TempDir,
    random: Random,
}

impl Library {
    /// Puts the library under a target directory, if it is not there yet.
    pub(super) fn under(target: &Path, random: Random) -> Stop<Self> {
        let Some(bytes) = LIBRARY else {
            return Err(error(
                "the engine runs on Linux with glibc, on x86-64 and aarch64 only; use `cargo test`",
            ));
        };
        let cannot = |failure: io::Error| {
            error(format_args!(
                "cannot write the engine's library to {}: {failure}",
                target.display()
            ))
        };
        let accounts = room().map_err(cannot)?;
        interrupt::remove_with_us(accounts.path());
        // The loader takes these as the end of a path.
        let is_loadable = !target.to_string_lossy().contains([' ', ':']);
        let folder = if is_loadable {
            target.join("conan").join("preload")
        } else {
            accounts.path().to_owned()
        };
        let path = folder.join(format!("{FILE_STEM}-{:016x}.so", digest(bytes)));
        if !path.exists() {
            write(&folder, &path, bytes).map_err(cannot)?;
        }
        Ok(Self {
            path,
            accounts,
            random,
        })
    }

    /// Where one process shall leave its account. What is in its environment
    /// moves its stack: all have names of the same length.
    pub(super) fn account(&self, number: usize) -> PathBuf {
        self.accounts.path().join(format!("account-{number:08}"))
    }

    /// Where the search for one test keeps what it has tried.
    pub(super) fn memory(&self, number: usize) -> PathBuf {
        self.accounts.path().join(format!("memory-{number}"))
    }

    /// Makes a process load the library. It must be started on a thread that waits
    /// for its end: the system takes the end of that thread for ours.
    pub(super) fn load_into(&self, command: &mut Command) {
        let mut preloaded = OsString::from(&self.path);
        if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            preloaded.push(":");
            preloaded.push(others);
        }
        command.env("LD_PRELOAD", preloaded);
        // Of the same length for all, as above.
        command.env(PARENT, format!("{:010}", process::id()));
    }

    /// What the library is told in a process. What that does has a name, so that
    /// it draws random numbers of its own.
    pub(super) fn settings(&self, account: &Path, name: &str, wish: Option<&Wish>) -> Settings {
        let random = self.random.of(name).to_string();
        let mut settings = vec![(ACCOUNT, account.into()), (RANDOM, random.into())];
        if let Some(wish) = wish {
            settings.push((SCHEDULE, wish.schedule.clone().into()));
            settings.extend(wish.memory.iter().map(|memory| (MEMORY, memory.into())));
        }
        settings
    }
}

/// Names, and what they are set to.
pub(super) type Settings = Vec<(&'static str, OsString)>;

/// Room for small files that are gone again at once: in memory, where there is
/// such a place. On a disk they take as long as a short test.
fn room() -> io::Result<TempDir> {
    const IN_MEMORY: &str = "/dev/shm";
    let name = || Builder::new().prefix("conan-").to_owned();
    name().tempdir_in(IN_MEMORY).or_else(|_| name().tempdir())
}

/// Whole or not at all: others may be looking.
fn write(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut draft = NamedTempFile::new_in(folder)?;
    draft.write_all(bytes)?;
    draft.persist(path).map_err(|failure| failure.error)?;
    Ok(())
}
