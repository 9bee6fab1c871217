//! Finding scripts, and writing files whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use conan_lang::Parsed;
use tempfile::NamedTempFile;

use crate::exit::{Exit, Stop, error};
use crate::run::interrupt;

/// The scripts that the command line means, as far as they can be found.
pub(crate) struct Found {
    /// At least one, in the order of the command line.
    pub(crate) scripts: Vec<PathBuf>,
    /// An error that says of each folder that cannot be read was printed.
    is_incomplete: bool,
}

impl Found {
    /// All scripts. For commands that do not begin if any is missing.
    pub(crate) fn all(self) -> Stop<Vec<PathBuf>> {
        self.whole()?;
        Ok(self.scripts)
    }

    /// What a command comes to at its end that went on without those scripts
    /// that could not be found.
    pub(crate) fn whole(&self) -> Stop<()> {
        if self.is_incomplete {
            Err(Exit::Wrong)
        } else {
            Ok(())
        }
    }
}

/// Finds scripts: files as they are, folders with all their `.conan` files,
/// sorted. A folder that cannot be read does not hide the others.
pub(crate) fn scripts(paths: &[PathBuf]) -> Stop<Found> {
    let here = [PathBuf::from(".")];
    let paths = if paths.is_empty() { &here } else { paths };
    let mut scripts = Vec::new();
    let mut is_incomplete = false;
    for path in paths {
        if path.is_dir() {
            let mut unreadable = Vec::new();
            let mut found = Vec::new();
            collect(path, &mut found, &mut unreadable);
            for (folder, failure) in &unreadable {
                error(format_args!(
                    "cannot read the folder {}: {failure}",
                    folder.display()
                ));
            }
            is_incomplete |= !unreadable.is_empty();
            found.sort();
            scripts.append(&mut found);
        } else {
            scripts.push(path.clone());
        }
    }
    if scripts.is_empty() && is_incomplete {
        return Err(Exit::Wrong);
    }
    if scripts.is_empty() {
        let places: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        return Err(error(format_args!(
            "there is no `.conan` script in {}",
            places.join(", ")
        )));
    }
    Ok(Found {
        scripts,
        is_incomplete,
    })
}

/// The scripts in a folder and its subfolders, and the folders that cannot be
/// read.
fn collect(folder: &Path, found: &mut Vec<PathBuf>, unreadable: &mut Vec<(PathBuf, io::Error)>) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(failure) => return unreadable.push((folder.to_owned(), failure)),
    };
    for entry in entries {
        let kind = entry.and_then(|entry| Ok((entry.file_type()?.is_dir(), entry.path())));
        let (is_folder, path) = match kind {
            Ok(kind) => kind,
            Err(failure) => {
                unreadable.push((folder.to_owned(), failure));
                continue;
            }
        };
        // `./a.conan` reads better as `a.conan`.
        let path = path.strip_prefix(".").map(Path::to_owned).unwrap_or(path);
        if is_folder {
            if is_source_folder(&path) {
                collect(&path, found, unreadable);
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == "conan")
        {
            found.push(path);
        }
    }
}

/// True unless a folder is hidden, or made by a tool: cargo's, npm's.
pub(crate) fn is_source_folder(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_cache = fs::exists(path.join("CACHEDIR.TAG")).unwrap_or(false);
    !name.starts_with('.') && !is_cache && name != "node_modules"
}

/// Reads a script and checks it.
#[expect(
    clippy::unnecessary_debug_formatting,
    reason = "`Display` would hide which bytes are not UTF-8"
)]
pub(crate) fn parse(path: &Path) -> Stop<Parsed> {
    // The compiler includes a script by its whole path, which it has from a
    // string literal.
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if whole.to_str().is_none() {
        let shown = if path.to_str().is_none() {
            path
        } else {
            &whole
        };
        return Err(error(format_args!(
            "the path of the script {shown:?} is not UTF-8, and the compiler could not include it; \
             rename the file or the folder"
        )));
    }
    match fs::read(path) {
        Ok(bytes) => Ok(conan_lang::parse_bytes(path.display().to_string(), bytes)),
        Err(failure) => Err(error(format_args!(
            "cannot read {}: {failure}",
            path.display()
        ))),
    }
}

/// Replaces a file as a whole: no other process ever sees half of it, and an
/// interruption leaves no draft behind.
pub(crate) fn replace(path: &Path, content: &str) -> io::Result<()> {
    interrupt::uninterrupted(|| replace_at_once(path, content))
}

fn replace_at_once(path: &Path, content: &str) -> io::Result<()> {
    // A link stays a link, and the file that it means is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let path = target.as_path();
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut draft = NamedTempFile::new_in(folder)?;
    draft.write_all(content.as_bytes())?;
    let permissions = match fs::metadata(path) {
        Ok(old) => old.permissions(),
        Err(_) => fs::metadata(folder).map(|_| default_permissions(draft.as_file()))??,
    };
    draft.as_file().set_permissions(permissions)?;
    draft.persist(path).map_err(|failure| failure.error)?;
    Ok(())
}

/// A draft is private; a new file of the user's is as public as others are.
fn default_permissions(draft: &fs::File) -> io::Result<fs::Permissions> {
    let mut permissions = draft.metadata()?.permissions();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        permissions.set_mode(0o644);
    }
    #[cfg(not(unix))]
    permissions.set_readonly(false);
    Ok(permissions)
}

/// The error for a file that cannot be written.
pub(crate) fn cannot_write(path: &Path, failure: &io::Error) -> Exit {
    error(format_args!("cannot write {}: {failure}", path.display()))
}
