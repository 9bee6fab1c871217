//! A package from the registry, in the target directory.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fs, io};

use cargo_metadata::{MetadataCommand, Package};
use toml::{Table, Value};

use crate::suite::Suite;

/// A copy of a package.
pub(crate) struct Copy {
    /// Its root.
    pub(crate) folder: PathBuf,
    /// Its version.
    pub(crate) version: String,
}

/// Copies the package that the scripts are tested with. Cargo has unpacked it,
/// tests and all, to build this.
pub(crate) fn package(suite: &Suite) -> Result<Copy, String> {
    let found = dependency(suite.package)?;
    let version = found.version.to_string();
    let source = found
        .manifest_path
        .parent()
        .ok_or("a manifest is in a folder")?;
    let sleepy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sleepy");
    let folder = sleepy.join(format!("{}-{version}", suite.package));
    // What is there is whole: it is written elsewhere, and renamed.
    if !folder.exists() {
        let part = sleepy.join(format!("{}.part", suite.package));
        write(source.as_std_path(), &part, suite)
            .and_then(|()| Ok(fs::rename(&part, &folder)?))
            .map_err(|error| format!("{}: {error}", part.display()))?;
    }
    Ok(Copy { folder, version })
}

/// The package of this name that the gallery depends on; the workspace may
/// have others.
fn dependency(name: &str) -> Result<Package, String> {
    let mut command = MetadataCommand::new();
    command.manifest_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    let metadata = command.exec().map_err(|error| error.to_string())?;
    let resolve = metadata
        .resolve
        .as_ref()
        .ok_or("cargo resolves dependencies")?;
    let gallery = resolve.root.as_ref().ok_or("the gallery is a package")?;
    let node = resolve.nodes.iter().find(|node| node.id == *gallery);
    let mut ids = node
        .into_iter()
        .flat_map(|node| &node.deps)
        .map(|dependency| &dependency.pkg);
    let package = ids.find_map(|id| {
        metadata
            .packages
            .iter()
            .find(|package| package.id == *id && package.name == name)
    });
    package
        .cloned()
        .ok_or_else(|| format!("the gallery does not depend on {name}"))
}

fn write(source: &Path, folder: &Path, suite: &Suite) -> Result<(), Box<dyn Error>> {
    copy(source, folder)?;
    let manifest = folder.join("Cargo.toml");
    let table: Table = fs::read_to_string(&manifest)?.parse()?;
    fs::write(&manifest, toml::to_string(&reduced(table, suite))?)?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// A manifest without what these tests do not need, such as benchmarks and
/// their libraries, and with a workspace of its own.
fn reduced(mut manifest: Table, suite: &Suite) -> Table {
    manifest.remove("bench");
    manifest.remove("example");
    if let Some(Value::Table(dependencies)) = manifest.get_mut("dev-dependencies") {
        dependencies.retain(|name, _| suite.dev_dependencies.contains(&name));
    }
    manifest.insert("workspace".to_owned(), Value::Table(Table::new()));
    manifest
}
