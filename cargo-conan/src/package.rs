//! The cargo workspace around a script.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use cargo_metadata::{Metadata, MetadataCommand};

use crate::run::interrupt::{self, Group};

/// A workspace as cargo describes it.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) metadata: Metadata,
}

/// A package of a workspace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Package<'w>(pub(crate) &'w cargo_metadata::Package);

impl Workspace {
    /// The workspace that a file or folder is in. The error is cargo's own.
    pub(crate) fn around(path: &Path) -> Result<Self, String> {
        let path = std::path::absolute(path).map_err(|failure| failure.to_string())?;
        let folder = if path.is_dir() {
            path
        } else {
            path.parent().map_or_else(PathBuf::new, Path::to_owned)
        };
        let mut command = MetadataCommand::new();
        command.current_dir(folder).no_deps();
        match metadata(&command) {
            Ok(metadata) => Ok(Self { metadata }),
            Err(cargo_metadata::Error::CargoMetadata { stderr }) => {
                // It is printed as an error of ours.
                let message = stderr.trim();
                Err(message
                    .strip_prefix("error: ")
                    .unwrap_or(message)
                    .to_owned())
            }
            Err(other) => Err(other.to_string()),
        }
    }

    /// Its packages.
    pub(crate) fn packages(&self) -> impl Iterator<Item = Package<'_>> {
        self.metadata.packages.iter().map(Package)
    }

    /// The package of this name.
    pub(crate) fn package(&self, name: &str) -> Option<Package<'_>> {
        self.packages().find(|package| package.name() == name)
    }

    /// The innermost package that a file is inside of.
    pub(crate) fn package_around(&self, file: &Path) -> Option<Package<'_>> {
        let file = std::path::absolute(file).ok()?;
        let file = std::fs::canonicalize(&file).unwrap_or(file);
        let around = self
            .packages()
            .filter(|package| file.starts_with(package.root()));
        around.max_by_key(|package| package.root().components().count())
    }

    /// The package that the workspace names for its scripts:
    /// `[workspace.metadata.conan] package = "…"`.
    pub(crate) fn default_package(&self) -> Option<Package<'_>> {
        let settings = self.metadata.workspace_metadata.get("conan")?;
        self.package(settings.get("package")?.as_str()?)
    }
}

/// Asks cargo about a workspace. The process ends when this one does.
pub(crate) fn metadata(command: &MetadataCommand) -> Result<Metadata, cargo_metadata::Error> {
    let mut command = command.cargo_command();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = interrupt::start(&mut command, Group::Own)?.output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(cargo_metadata::Error::CargoMetadata { stderr });
    }
    let stdout = str::from_utf8(&output.stdout)?;
    let object = stdout.lines().find(|line| line.starts_with('{'));
    MetadataCommand::parse(object.ok_or(cargo_metadata::Error::NoJson)?)
}

impl<'w> Package<'w> {
    pub(crate) fn name(self) -> &'w str {
        self.0.name.as_str()
    }

    pub(crate) fn root(self) -> PathBuf {
        let manifest = self.0.manifest_path.as_std_path();
        manifest.parent().map_or_else(PathBuf::new, Path::to_owned)
    }
}
