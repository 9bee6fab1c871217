//! A worker: a copy of the workspace, and a scratch package that is built
//! from it. Each has a folder and a target directory of its own, so that
//! workers do not wait for each other, and what one has built stays good for
//! its next mutant.

use std::fs;
use std::path::{Path, PathBuf};

use super::copy;
use super::verdict::{Limits, Verdict, judge};
use crate::cli::ClockArgs;
use crate::exit::{Stop, error};
use crate::files;
use crate::package::Workspace;
use crate::run::cargo::{self, Built};
use crate::run::execute::Driver;
use crate::run::scratch::{Place, Scratch};

/// The name of the scratch package, and of the driver.
const NAME: &str = "conan-mutant";

/// A worker in its folder.
pub(crate) struct Worker {
    /// The copy of the workspace.
    sources: PathBuf,
    pub(crate) scratch: Scratch,
}

/// The component under test, as a worker sees it.
pub(crate) struct Component<'c> {
    /// Its path in the workspace.
    pub(crate) path: &'c Path,
    pub(crate) source: &'c str,
}

impl Worker {
    /// The worker in a folder, with the sources as they are now.
    pub(crate) fn open(
        folder: &Path,
        workspace: &Workspace,
        package: &str,
        scripts: &[PathBuf],
    ) -> Stop<Self> {
        let sources = folder.join("workspace");
        copy::copy(workspace, &sources)?;
        let copied = Workspace::around(&sources).map_err(error)?;
        let package = copied
            .package(package)
            .ok_or_else(|| error(format_args!("the copy has no package `{package}`")))?;
        let place = Place {
            name: NAME.to_owned(),
            root: folder.to_owned(),
            target: folder.join("target"),
        };
        let mut scratch = Scratch::prepare(place, &copied, package, scripts)?;
        settings(&mut scratch);
        Ok(Self { sources, scratch })
    }

    /// Makes a folder for another worker of what this one has built. Cargo
    /// finds nothing to do there; without this it would build everything.
    pub(crate) fn share(&self, folder: &Path) {
        let ours = &self.scratch.root;
        let draft = folder.with_extension("draft");
        let target = ours.join("target");
        let leave_out = |path: &Path| path.starts_with(&target) && path.ends_with("incremental");
        // A copy that breaks off is not used; the other builds for itself.
        let _ = fs::remove_dir_all(&draft);
        let _ = copy::duplicate(ours, &draft, &leave_out).and_then(|()| fs::rename(&draft, folder));
        let _ = fs::remove_dir_all(&draft);
    }

    /// Builds the component as it is, with what cargo says about it.
    pub(crate) fn build(&self) -> Stop<PathBuf> {
        cargo::build(&self.scratch)
    }

    /// True if a component's file is part of what is built: if it is, nothing
    /// is built from a version that does not compile.
    pub(crate) fn is_built_from(&self, component: &Component<'_>, limits: &Limits) -> Stop<bool> {
        let broken = format!("{}\ncompile_error!(\"a probe\");\n", component.source);
        self.put(component.path, &broken)?;
        let built = cargo::build_quietly(&self.scratch, limits.build);
        self.put(component.path, component.source)?;
        Ok(matches!(built?, Built::Refused))
    }

    /// Builds a mutant and returns the driver, or nothing if it does not
    /// compile.
    pub(crate) fn build_mutant(
        &self,
        component: &Component<'_>,
        mutated: &str,
        limits: &Limits,
    ) -> Stop<Option<PathBuf>> {
        self.put(component.path, mutated)?;
        let built = cargo::build_quietly(&self.scratch, limits.build);
        // The next mutant may be one of another component.
        self.put(component.path, component.source)?;
        match built? {
            Built::Driver(driver) => Ok(Some(driver)),
            Built::Refused => Ok(None),
        }
    }

    /// Builds a mutant, runs the script against it, and judges it.
    pub(crate) fn attempt(
        &self,
        component: &Component<'_>,
        mutated: &str,
        clock: &ClockArgs,
        limits: &Limits,
    ) -> Stop<Verdict> {
        match self.build_mutant(component, mutated, limits)? {
            None => Ok(Verdict::Unviable),
            Some(driver) => {
                let driver = Driver::new(&driver, &self.scratch, clock).of_mutant();
                judge(driver.unheard(), *limits)
            }
        }
    }

    /// Puts a text in the place of a component's file.
    pub(crate) fn put(&self, path: &Path, text: &str) -> Stop<()> {
        let path = self.sources.join(path);
        copy::write(&path, text.as_bytes()).map_err(|failure| files::cannot_write(&path, &failure))
    }
}

/// How mutants are built: fast, with places for reports, and in spite of lints
/// that a mutant offends against.
fn settings(scratch: &mut Scratch) {
    let mut set = |name: &str, value: String| scratch.environment.push((name.to_owned(), value));
    set("CARGO_INCREMENTAL", "1".to_owned());
    set("CARGO_PROFILE_DEV_DEBUG", "line-tables-only".to_owned());
    let cap = "--cap-lints=warn";
    if let Ok(flags) = std::env::var("CARGO_ENCODED_RUSTFLAGS") {
        set("CARGO_ENCODED_RUSTFLAGS", format!("{flags}\u{1f}{cap}"));
    } else if let Ok(flags) = std::env::var("RUSTFLAGS") {
        set("RUSTFLAGS", format!("{flags} {cap}"));
    } else {
        // Added to those of the configuration, not in their place.
        let flags = format!("build.rustflags=[{cap:?}]");
        scratch
            .cargo_arguments
            .extend(["--config".to_owned(), flags]);
    }
}
