//! What is to be done: which scripts are to notice which mutants.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use conan_lang::Parsed;
use conan_mutate::Mutant;

use crate::cli::MutateArgs;
use crate::exit::{Exit, Stop, error};
use crate::output;
use crate::package::{Package, Workspace};

/// Scripts, and the components that they test.
pub(crate) struct Job {
    pub(crate) scripts: Vec<PathBuf>,
    /// How many sequences they have together.
    pub(crate) sequences: usize,
    pub(crate) components: Vec<Component>,
}

/// A component's source file.
pub(crate) struct Component {
    /// Its path as people know it.
    pub(crate) shown: String,
    /// Its path in the workspace.
    pub(crate) relative: PathBuf,
    pub(crate) source: String,
    /// The mutants that are asked for.
    pub(crate) mutants: Vec<Mutant>,
}

/// Reads the components and makes their mutants.
pub(crate) fn plan(
    args: &MutateArgs,
    paths: &[PathBuf],
    scripts: &[Parsed],
    workspace: &Workspace,
    package: Package<'_>,
) -> Stop<Vec<Job>> {
    let sequences = |parsed: &Parsed| parsed.script.sequences.len();
    let mut jobs = Vec::new();
    if args.component.is_empty() {
        for (path, parsed) in paths.iter().zip(scripts) {
            match default_component(path, package) {
                Ok(component) => jobs.push(Job {
                    scripts: vec![path.clone()],
                    sequences: sequences(parsed),
                    components: vec![Component::read(&component, workspace)?],
                }),
                Err(looked_for) => output::err(format_args!(
                    "note: {} is left out: there is no {}; name its component: --component FILE\n",
                    path.display(),
                    looked_for.display()
                )),
            }
        }
    } else {
        let components = args.component.iter();
        let components: Stop<Vec<Component>> = components
            .map(|path| Component::read(path, workspace))
            .collect();
        jobs.push(Job {
            scripts: paths.to_vec(),
            sequences: scripts.iter().map(sequences).sum(),
            components: components?,
        });
    }
    if jobs.is_empty() {
        return Err(error("there is no component to mutate"));
    }
    select(args, &mut jobs)?;
    Ok(jobs)
}

/// `src/queue.rs` for `queue.conan`; else where it was looked for.
fn default_component(script: &Path, package: Package<'_>) -> Result<PathBuf, PathBuf> {
    let name = script.file_stem().unwrap_or_default();
    let sources = package.root().join("src");
    let file = sources.join(name).with_extension("rs");
    let module = sources.join(name).join("mod.rs");
    if file.is_file() {
        Ok(file)
    } else if module.is_file() {
        Ok(module)
    } else {
        Err(shown(&file))
    }
}

impl Component {
    fn read(path: &Path, workspace: &Workspace) -> Stop<Self> {
        let shown = shown(path).display().to_string();
        let source = fs::read_to_string(path)
            .map_err(|failure| error(format_args!("cannot read {shown}: {failure}")))?;
        let root = workspace.metadata.workspace_root.as_std_path();
        let inside = |root: &Path, path: &Path| path.strip_prefix(root).map(Path::to_owned).ok();
        let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let whole_root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let Some(relative) = inside(&whole_root, &whole) else {
            return Err(error(format_args!(
                "{shown} is not in the workspace of the package under test, {}",
                root.display()
            )));
        };
        let component = conan_lang::on_large_stack(|| conan_mutate::component(&source));
        let component = component.map_err(|problem| {
            error(format_args!("{shown}:{problem}; mutants are made of Rust"))
        })?;
        for problem in &component.problems {
            let (line, column) = (problem.line, problem.column);
            error(format_args!("{shown}:{line}:{column}: {}", problem.message));
        }
        if !component.problems.is_empty() {
            return Err(Exit::Wrong);
        }
        if component.mutants.is_empty() {
            output::err(format_args!("note: {shown} has no mutants\n"));
        }
        Ok(Self {
            shown,
            relative,
            source,
            mutants: component.mutants,
        })
    }
}

/// A path as seen from here.
fn shown(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_owned()
}

/// Keeps the mutants that are asked for; there must be some.
fn select(args: &MutateArgs, jobs: &mut Vec<Job>) -> Stop<()> {
    let mut found = BTreeSet::new();
    let mut any = false;
    for component in jobs.iter_mut().flat_map(|job| &mut job.components) {
        component.mutants.retain(|mutant| {
            let id = mutant.id();
            let is_operator = args.only.is_empty() || args.only.contains(&mutant.operator);
            let is_named = args.mutant.is_empty() || args.mutant.contains(&id);
            found.insert(id);
            is_operator && is_named
        });
        any |= !component.mutants.is_empty();
    }
    if let Some(id) = args.mutant.iter().find(|id| !found.contains(*id)) {
        return Err(error(format_args!(
            "there is no mutant `{id}`; `--list` shows all"
        )));
    }
    if !any {
        return Err(error("there are no such mutants"));
    }
    for job in jobs.iter_mut() {
        job.components
            .retain(|component| !component.mutants.is_empty());
    }
    jobs.retain(|job| !job.components.is_empty());
    Ok(())
}
