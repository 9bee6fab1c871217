//! Writes files under the target directory, all or nothing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process;
use std::time::SystemTime;

/// Writes a file unless it has this content already. It gets the age of what
/// it was made from: cargo would take a newer one for a change.
pub(crate) fn write(path: &Path, content: &str, made_from: &Path) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == content.as_bytes()) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)?;
    // Another compiler may be writing the same file at this moment.
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", process::id()));
    let draft = folder.join(name);
    let written = write_draft(&draft, content, made_from).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

fn write_draft(draft: &Path, content: &str, made_from: &Path) -> io::Result<()> {
    let mut file = File::create(draft)?;
    file.write_all(content.as_bytes())?;
    let age = fs::metadata(made_from).and_then(|data| data.modified());
    file.set_modified(age.unwrap_or(SystemTime::UNIX_EPOCH))
}
