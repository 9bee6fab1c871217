//! A copy of a workspace's sources, in which mutants are made. The originals
//! are never touched.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use toml::{Table, Value};

use crate::exit::{Stop, error};
use crate::files;
use crate::package::Workspace;

/// Makes the copy in a folder what the workspace is now. Files that are right
/// already stay as they are, so that cargo does not build them again.
pub(crate) fn copy(workspace: &Workspace, to: &Path) -> Stop<()> {
    let root = workspace.metadata.workspace_root.as_std_path();
    let mut copier = Copier {
        root,
        target: workspace.metadata.target_directory.as_std_path(),
        to,
        copied: HashSet::new(),
    };
    let copied = copier.all(workspace)?;
    let copied = copied.and_then(|()| remove_others(to, &copier.copied));
    copied.map_err(|failure| {
        error(format_args!(
            "cannot copy {} to {}: {failure}",
            root.display(),
            to.display()
        ))
    })
}

struct Copier<'w> {
    root: &'w Path,
    target: &'w Path,
    to: &'w Path,
    copied: HashSet<PathBuf>,
}

impl Copier<'_> {
    /// The packages, and the files beside the workspace's manifest.
    fn all(&mut self, workspace: &Workspace) -> Stop<io::Result<()>> {
        let mut folders = Vec::new();
        for package in workspace.packages() {
            let folder = package.root();
            if !folder.starts_with(self.root) {
                return Err(error(format_args!(
                    "package `{}` is outside its workspace's folder, {}; mutants cannot be made of a copy then",
                    package.name(),
                    self.root.display()
                )));
            }
            folders.push(folder);
        }
        Ok(self
            .files_of(self.root)
            .and_then(|()| folders.iter().try_for_each(|folder| self.folder(folder))))
    }

    fn files_of(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_file() {
                self.file(&path)?;
            }
        }
        Ok(())
    }

    fn folder(&mut self, folder: &Path) -> io::Result<()> {
        self.files_of(folder)?;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            if path.is_dir() && path != self.target && files::is_source_folder(&path) {
                // What a link means may be anywhere, and may go round.
                if entry.file_type()?.is_symlink() {
                    self.link(&path)?;
                } else {
                    self.folder(&path)?;
                }
            }
        }
        Ok(())
    }

    fn place(&mut self, path: &Path) -> PathBuf {
        let relative = path.strip_prefix(self.root).unwrap_or(path);
        self.copied.insert(relative.to_owned());
        self.to.join(relative)
    }

    fn file(&mut self, path: &Path) -> io::Result<()> {
        let copy = self.place(path);
        let mut content = fs::read(path)?;
        if path.file_name().is_some_and(|name| name == "Cargo.toml") {
            content = self.manifest(path, content);
        }
        write(&copy, &content)
    }

    fn link(&mut self, path: &Path) -> io::Result<()> {
        let copy = self.place(path);
        if copy.is_symlink() {
            return Ok(());
        }
        let meant = fs::canonicalize(path)?;
        if let Some(folder) = copy.parent() {
            fs::create_dir_all(folder)?;
        }
        #[cfg(unix)]
        return std::os::unix::fs::symlink(meant, copy);
        #[cfg(windows)]
        return std::os::windows::fs::symlink_dir(meant, copy);
    }

    /// A manifest means the same from the copy's place: what it says about
    /// folders outside the workspace becomes absolute, and the root is a
    /// workspace whatever lies around the copy.
    fn manifest(&self, path: &Path, content: Vec<u8>) -> Vec<u8> {
        let text = String::from_utf8_lossy(&content);
        let Ok(mut table) = text.parse::<Table>() else {
            return content;
        };
        let folder = path.parent().unwrap_or(self.root);
        let mut changed = self.absolute_paths(&mut table, folder, false);
        if folder == self.root && !table.contains_key("workspace") {
            table.insert("workspace".into(), Table::new().into());
            changed = true;
        }
        if changed {
            table.to_string().into_bytes()
        } else {
            content
        }
    }

    /// Looks for `path` in the tables of dependencies and patches, but not in
    /// those of targets.
    fn absolute_paths(&self, table: &mut Table, folder: &Path, is_dependency: bool) -> bool {
        let mut changed = false;
        for (key, value) in table.iter_mut() {
            let is_dependency = is_dependency
                || key.ends_with("dependencies")
                || key == "patch"
                || key == "replace";
            match value {
                Value::Table(inner) => {
                    changed |= self.absolute_paths(inner, folder, is_dependency);
                }
                Value::String(path) if key == "path" && is_dependency => {
                    let absolute = normalized(&folder.join(&*path));
                    if !absolute.starts_with(self.root) {
                        *path = absolute.display().to_string();
                        changed = true;
                    }
                }
                _ => {}
            }
        }
        changed
    }
}

/// Writes a file unless it has this content already. A file that is written
/// is new to cargo.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, content)
}

/// Removes from the copy what the original does not have any more.
fn remove_others(to: &Path, copied: &HashSet<PathBuf>) -> io::Result<()> {
    let mut pending = vec![to.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            let relative = path.strip_prefix(to).unwrap_or(&path);
            if entry.file_type()?.is_dir() {
                pending.push(path);
            } else if !copied.contains(relative) {
                fs::remove_file(path)?;
            }
        }
    }
    Ok(())
}

/// A path without `.` and `..`.
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

/// Copies a folder with the ages of its files, by which cargo knows them.
pub(super) fn duplicate(
    from: &Path,
    to: &Path,
    leave_out: &dyn Fn(&Path) -> bool,
) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if leave_out(&path) {
            continue;
        }
        if kind.is_dir() {
            duplicate(&path, &copy, leave_out)?;
        } else if kind.is_file() {
            fs::copy(&path, &copy)?;
            let age = entry.metadata()?.modified()?;
            fs::File::open(&copy)?.set_modified(age)?;
        } else {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(&path)?, &copy)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copier<'w>(root: &'w Path, to: &'w Path) -> Copier<'w> {
        Copier {
            root,
            target: Path::new("/nowhere"),
            to,
            copied: HashSet::new(),
        }
    }

    #[test]
    fn a_manifest_means_the_same_folders_from_the_copys_place() {
        let root = Path::new("/home/w");
        let copier = copier(root, Path::new("/copy"));
        let manifest = |text: &str| {
            let path = root.join("member/Cargo.toml");
            let text = copier.manifest(&path, text.into());
            String::from_utf8(text).expect("a manifest is text")
        };
        let inside = "# A comment.\n[dependencies]\na = { path = \"../a\" }\n\n[lib]\npath = \"../../lib.rs\"\n";
        assert_eq!(manifest(inside), inside);
        for outside in [
            "[dependencies]\na = { path = \"../../a\" }\n",
            "[dev-dependencies.a]\npath = \"../../a\"\n",
            "[target.'cfg(unix)'.build-dependencies]\na.path = \"../.././a\"\n",
            "[workspace.dependencies]\na = { path = \"../../a\" }\n",
            "[patch.crates-io]\na = { path = \"../../a\" }\n",
        ] {
            let changed = manifest(outside);
            let is_absolute = changed.contains("\"/home/a\"");
            assert!(is_absolute, "{changed}");
        }
        assert_eq!(manifest("not a manifest"), "not a manifest");
    }

    #[test]
    fn the_root_of_the_copy_belongs_to_no_workspace_around_it() {
        let root = Path::new("/home/w");
        let copier = copier(root, Path::new("/copy"));
        let path = root.join("Cargo.toml");
        let text = copier.manifest(&path, b"[package]\nname = \"a\"\n".into());
        let text = String::from_utf8(text).expect("a manifest is text");
        assert!(text.contains("[workspace]"), "{text}");
        let has_one = b"[workspace]\nmembers = [\"a\"]\n";
        assert_eq!(copier.manifest(&path, has_one.into()), has_one);
    }

    #[test]
    fn what_is_right_keeps_its_age_and_what_is_gone_goes() {
        let temporary = tempfile::tempdir().expect("a temporary folder can be made");
        let (root, to) = (temporary.path().join("w"), temporary.path().join("copy"));
        let write = |path: &Path, text: &str| {
            let folder = path.parent().expect("a file is in a folder");
            fs::create_dir_all(folder).expect("folders can be made");
            fs::write(path, text).expect("files can be written");
        };
        for file in ["src/a.rs", "src/b.rs", ".git/config", "target/CACHEDIR.TAG"] {
            write(&root.join(file), "original");
        }
        write(&to.join("src/a.rs"), "original");
        write(&to.join("src/b.rs"), "a mutant");
        write(&to.join("src/gone.rs"), "original");
        let age = |file: &str| {
            let data = fs::metadata(to.join(file)).expect("it is there");
            data.modified().expect("it has an age")
        };
        let old = std::time::SystemTime::UNIX_EPOCH;
        for file in ["src/a.rs", "src/b.rs"] {
            let file = fs::File::options().append(true).open(to.join(file));
            let set = file.and_then(|file| file.set_modified(old));
            set.expect("an age can be set");
        }
        let mut copier = copier(&root, &to);
        let copied = copier.folder(&root);
        let copied = copied.and_then(|()| remove_others(&to, &copier.copied));
        copied.expect("a folder can be copied");
        assert_eq!(age("src/a.rs"), old);
        assert!(age("src/b.rs") > old, "cargo would not see the change");
        let text = fs::read_to_string(to.join("src/b.rs"));
        assert_eq!(text.ok().as_deref(), Some("original"));
        for file in ["src/gone.rs", ".git/config", "target/CACHEDIR.TAG"] {
            assert!(!to.join(file).exists(), "{file} is in the copy");
        }
    }
}
