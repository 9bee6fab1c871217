//! The test that sees scripts which were added to a folder after the build.

use std::fs;
use std::path::{Path, PathBuf};

/// Fails if a folder has scripts that the test binary does not know, and makes
/// the next `cargo test` build them.
///
/// # Panics
///
/// If the folder has a script that is not in `known`.
pub fn every_script_is_included(shown: &str, folder: &str, listing: &str, known: &str) {
    let known: Vec<&str> = known.lines().collect();
    let found = scripts_in(Path::new(folder));
    let new = found
        .iter()
        .filter(|script| !known.contains(&script.as_str()));
    let new: Vec<&str> = new.map(String::as_str).collect();
    if new.is_empty() {
        return;
    }
    // The compiler knows this file: a change of it makes cargo build again.
    let content: String = found.iter().map(|script| format!("{script}\n")).collect();
    let again = match fs::write(listing, content) {
        Ok(()) => "run `cargo test` again to include it",
        Err(_) => "touch the test file that includes the folder, and run `cargo test` again",
    };
    panic!(
        "{shown} has a script that is not tested yet: {}; {again}",
        new.join(", ")
    );
}

fn scripts_in(folder: &Path) -> Vec<String> {
    let mut scripts = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(relative) = pending.pop() {
        // A folder that is gone has no new scripts.
        for entry in fs::read_dir(folder.join(&relative))
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = relative.join(entry.file_name());
            if entry.path().is_dir() {
                pending.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "conan")
            {
                scripts.push(path.display().to_string());
            }
        }
    }
    scripts.sort();
    scripts
}
