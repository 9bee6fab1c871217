//! `cargo conan mutate`: breaks a component in small ways, and sees whether
//! its script notices.

mod copy;
mod crew;
mod lock;
mod plan;
mod progress;
mod report;
mod table;
mod verdict;
mod worker;

use std::path::PathBuf;

use crate::cli::MutateArgs;
use crate::exit::{Exit, Stop};
use crate::package::Workspace;
use crate::run::interrupt;
use crate::{check, files, output, run};

/// Runs scripts against the mutants of the components that they test.
pub(crate) fn mutate(args: &MutateArgs) -> Stop<()> {
    interrupt::will_report();
    output::has_results();
    let paths = files::scripts(&args.files)?.all()?;
    let scripts = check::checked(&paths, args.message_format)?;
    let workspace = run::workspace_of(&paths[0], args.package.as_deref())?;
    let package = run::package_of(&workspace, &paths, args.package.as_deref())?;
    let jobs = plan::plan(args, &paths, &scripts, &workspace, package)?;
    if args.list {
        report::list(&jobs, args.message_format);
        return Ok(());
    }
    let site = Site {
        workspace: &workspace,
        package: package.name(),
        folder: folder(&workspace),
    };
    let _lock = lock::lock(&site.folder)?;
    let mut report = report::Report::new(args.message_format);
    for job in &jobs {
        if let Err(exit) = crew::work(args, &site, job, &mut report) {
            if interrupt::must_stop() {
                return Err(report.stopped(job));
            }
            return Err(exit);
        }
    }
    match report.end() {
        Exit::Fine => Ok(()),
        other => Err(other),
    }
}

/// Where the work is done.
struct Site<'w> {
    workspace: &'w Workspace,
    package: &'w str,
    /// The workers' folders are in it.
    folder: PathBuf,
}

impl Site<'_> {
    fn worker(&self, number: usize) -> PathBuf {
        self.folder.join(format!("worker-{number}"))
    }
}

/// Under the target directory, and as cargo sees it: without links. All
/// packages have it in common, and with it what their tests depend on.
fn folder(workspace: &Workspace) -> PathBuf {
    let target = workspace.metadata.target_directory.as_std_path();
    let _ = std::fs::create_dir_all(target);
    let target = std::fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    target.join("conan").join("mutate")
}
