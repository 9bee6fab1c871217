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
pub(super) struct Scratch {
    pub(super) name: String,
    pub(super) root: PathBuf,
    pub(super) manifest: PathBuf,
    /// Where cargo builds.
    pub(super) target: PathBuf,
    /// Where the driver puts its reports.
    pub(super) reports: PathBuf,
    /// Where the driver runs: in the package under test.
    pub(super) package_root: PathBuf,
}

impl Scratch {
    /// Writes the package for these scripts. What is there already and right
    /// stays untouched, so that nothing is built in vain.
    pub(super) fn prepare(
        workspace: &Workspace,
        package: Package<'_>,
        scripts: &[PathBuf],
    ) -> Stop<Self> {
        let target = workspace.metadata.target_directory.as_std_path().to_owned();
        let main = main(scripts);
        // Runs of other scripts may go on at the same time.
        let name = format!("conan-run-{}-{:08x}", package.name(), digest(&main));
        let root = target.join("conan").join("run").join(&name);
        let scratch = Self {
            manifest: root.join("Cargo.toml"),
            reports: root.join(format!("reports-{}.jsonl", std::process::id())),
            package_root: package.root(),
            target,
            root,
            name,
        };
        scratch.write(
            "Cargo.toml",
            &manifest::manifest(workspace, package, &scratch.name),
        )?;
        scratch.write("src/main.rs", &main)?;
        scratch.lock(workspace)?;
        Ok(scratch)
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
        let path = fs::canonicalize(script).unwrap_or_else(|_| script.clone());
        let (path, shown) = (path.display().to_string(), script.display().to_string());
        text.push_str(&format!("    {path:?} as {shown:?},\n"));
    }
    text.push_str("}\n");
    text
}

/// Tells one list of scripts from another (FNV-1a, folded to 32 bits).
fn digest(text: &str) -> u32 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(start, step);
    (hash ^ (hash >> 32)) as u32
}
