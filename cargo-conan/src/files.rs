//! Finding scripts, and writing files whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use conan_lang::Parsed;
use tempfile::NamedTempFile;

use crate::exit::{Exit, Stop, error};
use crate::run::interrupt;

/// The scripts that the command line means: files as they are, folders with
/// all their `.conan` files, sorted.
pub(crate) fn scripts(paths: &[PathBuf]) -> Stop<Vec<PathBuf>> {
    let here = [PathBuf::from(".")];
    let paths = if paths.is_empty() { &here } else { paths };
    let mut scripts = Vec::new();
    let mut stop = Ok(());
    for path in paths {
        if path.is_dir() {
            let mut found = Vec::new();
            if let Err((folder, failure)) = collect(path, &mut found) {
                stop = Err(error(format_args!(
                    "cannot read the folder {}: {failure}",
                    folder.display()
                )));
            }
            found.sort();
            scripts.append(&mut found);
        } else {
            scripts.push(path.clone());
        }
    }
    stop?;
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
    Ok(scripts)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), (PathBuf, io::Error)> {
    let failed = |failure| (folder.to_owned(), failure);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        // `./a.conan` reads better as `a.conan`.
        let path = path.strip_prefix(".").map(Path::to_owned).unwrap_or(path);
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        if is_folder {
            if is_source_folder(&path) {
                collect(&path, found)?;
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == "conan")
        {
            found.push(path);
        }
    }
    Ok(())
}

/// True unless a folder is hidden, or made by a tool: cargo's, npm's.
pub(crate) fn is_source_folder(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_cache = fs::exists(path.join("CACHEDIR.TAG")).unwrap_or(false);
    !name.starts_with('.') && !is_cache && name != "node_modules"
}

/// Reads a script and checks it.
pub(crate) fn parse(path: &Path) -> Stop<Parsed> {
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
