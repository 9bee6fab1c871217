//! `cargo conan run`: the paper's own workflow. Generates a driver into a
//! scratch package, builds it, runs it, and prints the report.

pub(crate) mod cargo;
pub(crate) mod execute;
pub(crate) mod guardian;
mod highlight;
pub(crate) mod interrupt;
mod manifest;
pub(crate) mod reports;
pub(crate) mod scratch;

use std::path::{Path, PathBuf};

use self::scratch::{Place, Scratch};
use crate::cli::RunArgs;
use crate::exit::{Exit, Stop, error};
use crate::includes::Includes;
use crate::package::{Package, Workspace};
use crate::{check, files, output};

/// Runs scripts and reports.
pub(crate) fn run(args: &RunArgs) -> Stop<()> {
    interrupt::will_report();
    output::has_results();
    let found = files::scripts(&args.files)?;
    let paths = &found.scripts;
    let scripts = check::checked(paths, args.message_format)?;
    let sequences: usize = scripts
        .iter()
        .map(|parsed| parsed.script.sequences.len())
        .sum();
    let workspace = workspace_of(&paths[0], args.package.as_deref())?;
    let package = package_of(&workspace, paths, args.package.as_deref())?;
    let place = Place::of_run(&workspace, package, paths);
    let scratch = Scratch::prepare(place, &workspace, package, paths)?;
    let driver = cargo::build(&scratch)?;
    let format = args.message_format;
    let totals = execute::execute(&driver, &scratch, &args.clock, format, sequences)?;
    found.whole()?;
    if totals.failed {
        Err(Exit::Failed)
    } else {
        Ok(())
    }
}

/// The workspace around the script; for a script outside every workspace, or
/// a package that is not in the script's, the one that we are in.
pub(crate) fn workspace_of(script: &Path, package: Option<&str>) -> Stop<Workspace> {
    let has_it =
        |workspace: &Workspace| package.is_none_or(|name| workspace.package(name).is_some());
    let around = Workspace::around(script);
    if let Ok(workspace) = around {
        if has_it(&workspace) {
            return Ok(workspace);
        }
        return Ok(Workspace::around(Path::new("."))
            .ok()
            .filter(has_it)
            .unwrap_or(workspace));
    }
    Workspace::around(Path::new(".")).map_err(error)
}

/// The package whose components the scripts test.
pub(crate) fn package_of<'w>(
    workspace: &'w Workspace,
    paths: &[PathBuf],
    named: Option<&str>,
) -> Stop<Package<'w>> {
    if let Some(name) = named {
        return workspace
            .package(name)
            .ok_or_else(|| error(format_args!("the workspace has no package `{name}`")));
    }
    let includes = Includes::of(workspace);
    let mut chosen: Option<(Package<'w>, &Path)> = None;
    for path in paths {
        let including = includes
            .package_of(path)
            .and_then(|name| workspace.package(name));
        let found = including
            .or_else(|| workspace.package_around(path))
            .or_else(|| workspace.default_package());
        let Some(package) = found else {
            return Err(error(format_args!(
                "no package is around {}, and none includes it; name one: --package NAME",
                path.display()
            )));
        };
        match chosen {
            Some((first, first_path)) if first.name() != package.name() => {
                return Err(error(format_args!(
                    "{} belongs to package `{}` and {} to `{}`; run them apart, or name one: --package NAME",
                    first_path.display(),
                    first.name(),
                    path.display(),
                    package.name()
                )));
            }
            _ => chosen = Some((package, path)),
        }
    }
    chosen.map(|(package, _)| package).ok_or(Exit::Wrong)
}
