//! Crates outside the workspace, made for one test.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::target::{self, cargo, conan, workspace};

/// A crate in a temporary folder, with components to test.
///
/// Its name must be its own among all tests: what was built under that name
/// is removed with the crate, or the shared target directory would only grow.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    root: PathBuf,
    name: String,
}

const PROFILE: &str = "[profile.dev.package.\"*\"]\ndebug = \"line-tables-only\"\n";

/// The components of every scratch crate.
const LIBRARY: &str = include_str!("component.rs");

impl Scratch {
    /// A library with `conan-test` among its dev-dependencies, and the
    /// components of `component.rs` in it.
    pub fn new(name: &str) -> Self {
        Self::in_folder(name, name)
    }

    /// The same, in a folder of this name.
    pub fn in_folder(name: &str, folder: &str) -> Self {
        let scratch = Self::empty(name, folder);
        scratch.manifest("2024", "");
        scratch.write("src/lib.rs", LIBRARY);
        scratch.write("Cargo.lock", &locked());
        scratch
    }

    /// A folder without anything in it, for a crate that is yet to be made.
    pub fn empty(name: &str, folder: &str) -> Self {
        let temporary = TempDir::with_prefix("conan-").expect("a temporary folder can be made");
        let root = fs::canonicalize(temporary.path())
            .expect("the folder is there")
            .join(folder);
        fs::create_dir(&root).expect("a folder can be made in it");
        // The profile of this workspace, so that `cargo conan run` in here and
        // in a scratch crate build the dependencies but once.
        let config = temporary.path().join(".cargo");
        fs::create_dir(&config).expect("a second folder can be made in it");
        fs::write(config.join("config.toml"), PROFILE).expect("a file can be written");
        let name = name.to_owned();
        Self {
            folder: temporary,
            root,
            name,
        }
    }

    /// Writes `Cargo.toml` anew, with more lines at its end.
    pub fn manifest(&self, edition: &str, more: &str) {
        let Self { name, .. } = self;
        let conan_test = workspace().join("conan-test");
        let conan_test = conan_test.display();
        let text = format!(
            "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = {edition:?}\n\n\
             [dev-dependencies]\nconan-test = {{ path = '{conan_test}' }}\n{more}"
        );
        self.write("Cargo.toml", &text);
    }

    /// The crate's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The crate's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder around the crate's.
    pub fn around(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, and the folders on the way to it. `CRATE` in its text
    /// becomes the crate's name. Returns the text.
    pub fn write(&self, path: &str, text: &str) -> String {
        let text = text.replace("CRATE", &self.name);
        let path = self.root.join(path);
        let folder = path.parent().expect("a file is in a folder");
        fs::create_dir_all(folder).expect("folders can be made");
        fs::write(&path, &text).expect("files can be written");
        text
    }

    /// Writes the test file, which includes this script or folder.
    pub fn include(&self, path: &str) {
        let line = format!("conan_test::script!({path:?});\n");
        self.write(&format!("tests/{}.rs", self.name), &line);
    }

    /// Writes a script, and the test file that includes it. Returns the text.
    pub fn script(&self, path: &str, text: &str) -> String {
        self.include(path);
        self.write(path, text)
    }

    /// The text of a file.
    pub fn read(&self, path: &str) -> String {
        let path = self.root.join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Every file of the crate, relative to it.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        let mut pending = vec![self.root.clone()];
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(folder)
                .expect("the folder can be read")
                .flatten()
            {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    pending.push(path);
                } else {
                    files.extend(path.strip_prefix(&self.root).map(Path::to_owned));
                }
            }
        }
        files
    }

    /// `cargo` in the crate.
    pub fn cargo(&self) -> Command {
        cargo(&self.root)
    }

    /// `cargo test` in the crate.
    pub fn cargo_test(&self) -> Command {
        let mut command = self.cargo();
        command.arg("test");
        command
    }

    /// `cargo conan` in the crate.
    pub fn conan(&self) -> Command {
        conan(&self.root)
    }

    /// The names under which cargo has built something for this crate.
    fn built_names(&self) -> BTreeSet<String> {
        let tests = fs::read_dir(self.root.join("tests"))
            .into_iter()
            .flatten()
            .flatten();
        let stems = tests.filter_map(|entry| {
            let path = entry.path();
            path.extension()
                .is_some_and(|extension| extension == "rs")
                .then_some(())?;
            Some(path.file_stem()?.to_string_lossy().into_owned())
        });
        let inner = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let inner = inner.filter(|entry| entry.path().join("Cargo.toml").exists());
        let inner = inner.map(|entry| entry.file_name().to_string_lossy().into_owned());
        stems.chain(inner).chain([self.name.clone()]).collect()
    }
}

/// The workspace's lock file: the same versions, and nothing to resolve.
fn locked() -> String {
    fs::read_to_string(workspace().join("Cargo.lock")).expect("the workspace has a lock file")
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let names = self.built_names();
        let target = target::shared();
        let folders = [
            "debug",
            "debug/build",
            "debug/deps",
            "debug/.fingerprint",
            "conan/run",
            "tmp/conan",
        ];
        for folder in folders {
            for entry in fs::read_dir(target.join(folder))
                .into_iter()
                .flatten()
                .flatten()
            {
                let file = entry.file_name();
                let file = file.to_string_lossy();
                if names.iter().any(|name| is_built_for(&file, name)) {
                    let path = entry.path();
                    let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
                }
            }
        }
    }
}

/// True for `queue-0123456789abcdef`, `libqueue-0123456789abcdef.rlib`,
/// `conan-run-queue-01234567` and `conan_run_queue_01234567-0123456789abcdef`,
/// if the name is `queue`.
fn is_built_for(file: &str, name: &str) -> bool {
    let mut rest = file;
    for prefix in ["lib", "conan-run-", "conan_run_"] {
        rest = rest.strip_prefix(prefix).unwrap_or(rest);
    }
    let rest = rest.split(['-', '.']).next().unwrap_or(rest);
    let hash = rest
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('_'));
    let is_hash = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    rest == name || hash.is_some_and(is_hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_built_for_a_crate_is_known_by_its_name() {
        for file in [
            "queue-0123456789abcdef",
            "libqueue-01.rlib",
            "queue",
            "queue.d",
            "conan-run-queue-01234567",
        ] {
            assert!(is_built_for(file, "queue"), "{file}");
        }
        assert!(is_built_for(
            "conan_run_queue_01234567-0123456789abcdef.d",
            "queue"
        ));
        for file in [
            "queue_of_mine-0123456789abcdef",
            "libserde-01.rlib",
            "queues",
        ] {
            assert!(!is_built_for(file, "queue"), "{file}");
        }
    }
}
