//! One run at a time in a folder of workers.

use std::fs::{self, File};
use std::path::Path;

use fs4::TryLockError;

use crate::exit::{Stop, error};
use crate::output;

/// Takes the folder for this process, for as long as the file is open.
pub(crate) fn lock(folder: &Path) -> Stop<File> {
    let cannot = |failure: std::io::Error| {
        error(format_args!("cannot lock {}: {failure}", folder.display()))
    };
    fs::create_dir_all(folder).map_err(cannot)?;
    let file = File::create(folder.join("lock")).map_err(cannot)?;
    match fs4::FileExt::try_lock(&file) {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(failure)) => return Err(cannot(failure)),
    }
    output::err(format_args!(
        "waiting for another `cargo conan mutate` to end\n"
    ));
    fs4::FileExt::lock(&file).map_err(cannot)?;
    Ok(file)
}
