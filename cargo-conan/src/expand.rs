//! `cargo conan expand`

use std::path::{Path, PathBuf};

use conan_codegen::Origin;
use conan_lang::Parsed;
use serde_json::json;

use crate::cli::Format;
use crate::exit::{Stop, error};
use crate::{check, output};

/// Prints the generated driver of a script.
pub(crate) fn expand(file: &PathBuf, format: Format) -> Stop<()> {
    let scripts = check::checked(std::slice::from_ref(file), format)?;
    for parsed in &scripts {
        let driver = driver(parsed, file)?;
        if format == Format::Json {
            let object = json!({ "file": parsed.source.name(), "driver": driver });
            output::out(format_args!("{object}\n"));
        } else {
            output::out(format_args!("{driver}"));
        }
    }
    Ok(())
}

/// The driver of a checked script, as a file beside the script would have it.
pub(crate) fn driver(parsed: &Parsed, file: &Path) -> Stop<String> {
    let name = file.file_name().unwrap_or_default();
    let origin = Origin {
        shown: parsed.source.name().to_owned(),
        included: name.to_string_lossy().into_owned(),
    };
    conan_codegen::expand(parsed, &origin).map_err(|failure| {
        error(format_args!(
            "the driver of {} is not Rust: {failure}",
            parsed.source.name()
        ))
    })
}
