//! The scratch package that a run is built in, under the target directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::manifest;
use crate::exit::Stop;
use crate::files;
use crate::package::{Package, Workspace};

/// A scratch package on disk.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) name: String,
    pub(crate) root: PathBuf,
    pub(crate) manifest: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    /// Where the driver puts its reports.
    pub(crate) reports: PathBuf,
    /// Where the driver runs: in the package under test.
    pub(crate) package_root: PathBuf,
    /// More arguments and variables for cargo.
    pub(crate) cargo_arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
}

/// Where a scratch package belongs.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
}

impl Place {
    /// For a run of these scripts, under the workspace's target directory.
    pub(crate) fn of_run(workspace: &Workspace, package: Package<'_>, scripts: &[PathBuf]) -> Self {
        let target = workspace.metadata.target_directory.as_std_path().to_owned();
        // Runs of other scripts may go on at the same time.
        let name = format!(
            "conan-run-{}-{:08x}",
            package.name(),
            digest(&main(scripts))
        );
        let root = target.join("conan").join("run").join(&name);
        Self { name, root, target }
    }
}

impl Scratch {
    /// Writes the package for these scripts. What is there already and right
    /// stays untouched, so that nothing is built in vain.
    pub(crate) fn prepare(
        place: Place,
        workspace: &Workspace,
        package: Package<'_>,
        scripts: &[PathBuf],
    ) -> Stop<Self> {
        let Place { name, root, target } = place;
        let scratch = Self {
            manifest: root.join("Cargo.toml"),
            reports: root.join(format!("reports-{}.jsonl", std::process::id())),
            package_root: package.root(),
            target,
            root,
            name,
            cargo_arguments: Vec::new(),
            environment: Vec::new(),
        };
        let manifest = manifest::manifest(workspace, package, &scratch.name, &scratch.root);
        scratch.write("Cargo.toml", &manifest)?;
        scratch.write("src/main.rs", &main(scripts))?;
        scratch.lock(workspace)?;
        Ok(scratch)
    }

    /// True for the source file of the driver.
    pub(super) fn is_driver(&self, source: impl AsRef<Path>) -> bool {
        source.as_ref() == self.root.join("src").join("main.rs")
    }

    fn write(&self, name: &str, content: &str) -> Stop<()> {
        let path = self.root.join(name);
        if fs::read(&path).is_ok_and(|old| old == content.as_bytes()) {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(&self.root);
        let written = fs::create_dir_all(folder).and_then(|()| files::replace(&path, content));
        written.map_err(|failure| files::cannot_write(&path, &failure))
    }

    /// Begins with the versions that the workspace has locked.
    fn lock(&self, workspace: &Workspace) -> Stop<()> {
        let theirs = workspace
            .metadata
            .workspace_root
            .as_std_path()
            .join("Cargo.lock");
        let ours = self.root.join("Cargo.lock");
        let age = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        if age(&ours) >= age(&theirs) && ours.exists() {
            return Ok(());
        }
        let copied: io::Result<()> = match fs::read_to_string(&theirs) {
            Ok(lock) => files::replace(&ours, &lock),
            Err(_) => Ok(()),
        };
        copied.map_err(|failure| files::cannot_write(&ours, &failure))
    }
}

fn main(scripts: &[PathBuf]) -> String {
    let mut text = "conan_test::driver::main! {\n".to_owned();
    for script in scripts {
        let whole = fs::canonicalize(script).ok();
        // Where a link leads may have a path that the compiler cannot include.
        let whole = whole.filter(|path| path.to_str().is_some());
        let path = whole.or_else(|| std::path::absolute(script).ok());
        let path = path.unwrap_or_else(|| script.clone());
        let (path, shown) = (path.display().to_string(), script.display().to_string());
        text.push_str(&format!("    {path:?} as {shown:?},\n"));
    }
    text.push_str("}\n");
    text
}

/// Tells one list of scripts from another (FNV-1a, folded to 32 bits).
pub(crate) fn digest(text: &str) -> u32 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(start, step);
    (hash ^ (hash >> 32)) as u32
}
