//! Where scripts and their copies are.

use std::path::{Component, Path, PathBuf};
use std::{env, fs, io};

/// A script that a test file includes.
#[derive(Debug)]
pub(crate) struct Script {
    /// Its absolute path.
    pub(crate) path: PathBuf,
    /// The path that messages show.
    pub(crate) shown: String,
    /// Where its copy belongs: under the target directory, in a folder of the
    /// package's own, with the script's own path below it.
    pub(crate) copy: PathBuf,
}

impl Script {
    /// The script at a path relative to the package's root.
    pub(crate) fn at(path: &str) -> Self {
        let path = normalized(&manifest_dir().join(path));
        let shown = shown(&path);
        let copy = copies().join(relative_to(&path, &manifest_dir()));
        Self { path, shown, copy }
    }

    /// A script below this folder.
    pub(crate) fn below(&self, relative: &Path) -> Self {
        let path = self.path.join(relative);
        let shown = shown(&path);
        let copy = self.copy.join(relative);
        Self { path, shown, copy }
    }

    /// A script at an absolute path that messages call otherwise.
    pub(crate) fn called(path: PathBuf, shown: String) -> Self {
        let copy = copies().join(relative_to(Path::new(&shown), Path::new("")));
        Self { path, shown, copy }
    }
}

/// The package's root.
fn manifest_dir() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from)
}

/// A path as cargo and rustc show paths: relative to where they run.
fn shown(path: &Path) -> String {
    let here = env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(&here).unwrap_or(path);
    path.display().to_string()
}

/// The `.conan` files of a folder and its subfolders, sorted, relative to it.
pub(crate) fn scripts_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut scripts = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(relative) = pending.pop() {
        for entry in fs::read_dir(folder.join(&relative))? {
            let entry = entry?;
            let path = relative.join(entry.file_name());
            if entry.path().is_dir() {
                pending.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "conan")
            {
                scripts.push(path);
            }
        }
    }
    scripts.sort();
    Ok(scripts)
}

/// Where the copies of the package's scripts are.
fn copies() -> PathBuf {
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    target_dir().join("conan").join(package)
}

/// A path below another; a step up is written as a folder `up`.
fn relative_to(path: &Path, base: &Path) -> PathBuf {
    let mut base: Vec<Component<'_>> = base.components().collect();
    let path: Vec<Component<'_>> = path.components().collect();
    let mut relative = PathBuf::new();
    while !path.starts_with(&base) && base.pop().is_some() {
        relative.push("up");
    }
    let rest = path[base.len()..].iter();
    relative.extend(rest.filter(|part| matches!(part, Component::Normal(_))));
    relative
}

/// A folder for files of ours. Cargo names one for integration tests; for
/// other targets the compiler's own arguments tell where it writes.
fn target_dir() -> PathBuf {
    if let Some(dir) = env::var_os("CARGO_TARGET_TMPDIR") {
        return PathBuf::from(dir);
    }
    let mut args = env::args_os();
    while let Some(arg) = args.next() {
        if arg == "--out-dir"
            && let Some(dir) = args.next()
        {
            // `target/debug/deps`
            let dir = PathBuf::from(dir);
            if let Some(target) = dir.ancestors().nth(2) {
                return target.join("tmp");
            }
        }
    }
    match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => PathBuf::from(dir).join("tmp"),
        None => manifest_dir().join("target").join("tmp"),
    }
}

/// A path without `.` and `..`, as far as that can be told without looking.
fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
