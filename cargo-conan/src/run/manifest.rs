//! The scratch package's manifest: the package under test and everything that
//! its own tests could use.

use std::path::Path;

use cargo_metadata::{Dependency, DependencyKind};
use toml::{Table, Value};

use crate::package::{Package, Workspace};

/// The manifest as text, for a package in the folder `root`.
pub(super) fn manifest(
    workspace: &Workspace,
    package: Package<'_>,
    name: &str,
    root: &Path,
) -> String {
    let mut manifest = Table::new();
    let mut about = Table::new();
    about.insert("name".into(), name.into());
    about.insert("version".into(), "0.0.0".into());
    about.insert("edition".into(), package.0.edition.as_str().into());
    about.insert("publish".into(), false.into());
    manifest.insert("package".into(), about.into());
    // A workspace of its own, whatever lies around it or, where mutants are
    // made, below it.
    let mut alone = Table::new();
    let below = workspace.metadata.workspace_root.as_std_path();
    if let Ok(below) = below.strip_prefix(root) {
        let below: Value = below.display().to_string().into();
        alone.insert("exclude".into(), vec![below].into());
    }
    manifest.insert("workspace".into(), alone.into());

    let mut dependencies = Table::new();
    let mut by_target = Table::new();
    for dependency in &package.0.dependencies {
        let is_for_tests = matches!(
            dependency.kind,
            DependencyKind::Normal | DependencyKind::Development
        );
        if !is_for_tests || dependency.optional {
            continue;
        }
        let name = dependency.rename.as_ref().unwrap_or(&dependency.name);
        let place = match &dependency.target {
            None => &mut dependencies,
            Some(target) => target_table(&mut by_target, &target.to_string()),
        };
        let entry = place
            .entry(name.clone())
            .or_insert_with(|| Table::new().into());
        if let Value::Table(entry) = entry {
            merge(entry, dependency);
        }
    }
    let has_library = package
        .0
        .targets
        .iter()
        .any(|target| target.is_lib() || target.is_kind(cargo_metadata::TargetKind::RLib));
    if has_library {
        let mut itself = Table::new();
        itself.insert("path".into(), package.root().display().to_string().into());
        dependencies.insert(package.name().to_owned(), itself.into());
    }
    if !dependencies.contains_key("conan-test") {
        dependencies.insert("conan-test".into(), conan_test().into());
    }
    manifest.insert("dependencies".into(), dependencies.into());
    if !by_target.is_empty() {
        manifest.insert("target".into(), by_target.into());
    }
    copy_from_root(workspace, &mut manifest);
    optimise_engine(&mut manifest);
    manifest.to_string()
}

fn target_table<'t>(by_target: &'t mut Table, target: &str) -> &'t mut Table {
    let entry = by_target
        .entry(target)
        .or_insert_with(|| Table::new().into());
    let table = entry.as_table_mut().expect("made as a table above");
    let inner = table
        .entry("dependencies")
        .or_insert_with(|| Table::new().into());
    inner.as_table_mut().expect("made as a table above")
}

/// Adds what one declaration of a dependency says; a package can stand both
/// among the dependencies and the dev-dependencies.
fn merge(entry: &mut Table, dependency: &Dependency) {
    if dependency.rename.is_some() {
        entry.insert("package".into(), dependency.name.clone().into());
    }
    if let Some(path) = &dependency.path {
        entry.insert("path".into(), path.to_string().into());
    } else if let Some(git) = dependency
        .source
        .as_ref()
        .and_then(|s| s.repr.strip_prefix("git+"))
    {
        git_source(entry, git);
    } else {
        entry.insert("version".into(), dependency.req.to_string().into());
        if let Some(index) = &dependency.registry {
            entry.insert("registry-index".into(), index.clone().into());
        }
    }
    let mut features: Vec<Value> = match entry.get("features") {
        Some(Value::Array(features)) => features.clone(),
        _ => Vec::new(),
    };
    for feature in &dependency.features {
        let feature = Value::from(feature.clone());
        if !features.contains(&feature) {
            features.push(feature);
        }
    }
    let wanted_before = entry.get("default-features").and_then(Value::as_bool);
    let wanted = dependency.uses_default_features || wanted_before == Some(true);
    entry.insert("default-features".into(), wanted.into());
    entry.insert("features".into(), features.into());
}

/// `url?branch=name#revision`
fn git_source(entry: &mut Table, source: &str) {
    let source = source.split('#').next().unwrap_or_default();
    let (url, query) = source.split_once('?').unwrap_or((source, ""));
    entry.insert("git".into(), url.into());
    if let Some((key, value)) = query.split_once('=') {
        entry.insert(key.to_owned(), value.into());
    }
}

/// The runtime of the same version as this command: from beside it while it
/// is built from its repository, else from the registry.
fn conan_test() -> Table {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conan-test");
    let mut table = Table::new();
    if beside.join("Cargo.toml").exists() {
        table.insert("path".into(), beside.display().to_string().into());
    } else {
        table.insert(
            "version".into(),
            format!("={}", env!("CARGO_PKG_VERSION")).into(),
        );
    }
    table
}

/// Profiles and patches are the workspace root's to say.
fn copy_from_root(workspace: &Workspace, manifest: &mut Table) {
    let root = workspace.metadata.workspace_root.as_std_path();
    let text = std::fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let Ok(theirs) = text.parse::<Table>() else {
        return;
    };
    for key in ["profile", "patch"] {
        if let Some(value) = theirs.get(key) {
            let mut value = value.clone();
            make_paths_absolute(&mut value, root);
            remove_panic(&mut value);
            manifest.insert(key.into(), value);
        }
    }
}

/// Every step of every thread goes through the engine: it is optimised where
/// nothing else is.
fn optimise_engine(manifest: &mut Table) {
    let mut table = manifest;
    for key in ["profile", "dev", "package"] {
        let entry = table.entry(key).or_insert_with(|| Table::new().into());
        let Value::Table(inner) = entry else { return };
        table = inner;
    }
    for name in ["conan-kernel", "conan-explore"] {
        let entry = table.entry(name).or_insert_with(|| Table::new().into());
        if let Value::Table(package) = entry {
            package.entry("opt-level").or_insert_with(|| 2.into());
        }
    }
}

/// A driver must live on after a panic.
fn remove_panic(value: &mut Value) {
    if let Value::Table(profiles) = value {
        for profile in profiles
            .iter_mut()
            .filter_map(|(_, value)| value.as_table_mut())
        {
            profile.remove("panic");
        }
    }
}

fn make_paths_absolute(value: &mut Value, root: &Path) {
    let Value::Table(table) = value else { return };
    for (key, value) in table.iter_mut() {
        match value {
            Value::String(path) if key == "path" => {
                *path = root.join(&*path).display().to_string();
            }
            other => make_paths_absolute(other, root),
        }
    }
}
