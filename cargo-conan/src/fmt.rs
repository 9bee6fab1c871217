//! `cargo conan fmt`

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::Format;
use crate::exit::{Exit, Stop};
use crate::github::{self, Level, Location};
use crate::{check, files, output};

/// Formats scripts, or says which are not formatted.
pub(crate) fn fmt(check_only: bool, paths: &[PathBuf], format: Format) -> Stop<()> {
    let found = files::scripts(paths)?;
    let mut worst = found.whole();
    for path in &found.scripts {
        let exit = one(check_only, path, format);
        if let Err(exit) = exit {
            worst = Err(worst.err().map_or(exit, |old: Exit| old.max(exit)));
        }
    }
    worst
}

fn one(check_only: bool, path: &Path, format: Format) -> Stop<()> {
    let parsed = files::parse(path)?;
    let formatted = match conan_lang::format(&parsed) {
        Ok(formatted) => formatted,
        Err(refused) => {
            let diagnostics = refused.diagnostics;
            let parsed = conan_lang::Parsed {
                diagnostics,
                ..parsed
            };
            check::print(&parsed, format);
            return Err(Exit::Wrong);
        }
    };
    // The source is without its byte order mark; the file may have one.
    let is_formatted = fs::read(path).is_ok_and(|bytes| bytes == formatted.as_bytes());
    if is_formatted {
        return Ok(());
    }
    if check_only {
        let old = parsed.source.text().lines();
        let pairs = old.zip(formatted.lines()).zip(1..);
        let line = pairs
            .filter(|((old, new), _)| old != new)
            .map(|(_, line)| line)
            .next();
        let line = line.unwrap_or(parsed.source.line_count().max(1));
        let file = path.display().to_string();
        match format {
            Format::Human | Format::Short => {
                output::out(format_args!("{file}:{line}: not formatted\n"));
            }
            Format::Json => output::out(format_args!(
                "{}\n",
                json!({ "file": file, "line": line, "message": "not formatted" })
            )),
            Format::Github => {
                let place = Location {
                    file: &file,
                    line: line as u64,
                    column: None,
                };
                github::annotate(Level::Error, Some(&place), "fmt", "not formatted");
            }
        }
        return Err(Exit::Failed);
    }
    files::replace(path, &formatted).map_err(|failure| files::cannot_write(path, &failure))
}
