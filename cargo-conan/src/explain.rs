//! `cargo conan explain`

use conan_lang::Code;

use serde_json::json;

use crate::cli::Format;
use crate::exit::{Stop, error};
use crate::github::{self, Level};
use crate::output;

/// Prints the page of a diagnostic.
pub(crate) fn explain(code: &str, format: Format) -> Stop<()> {
    let wanted = code.to_uppercase();
    let found = Code::ALL.iter().find(|code| code.id() == wanted);
    let Some(found) = found else {
        let first = Code::ALL[0].id();
        let last = Code::ALL[Code::ALL.len() - 1].id();
        return Err(error(format_args!(
            "there is no diagnostic `{code}`; they are {first} to {last}"
        )));
    };
    let (id, page) = (found.id(), found.page());
    // The first line is the heading: `# CN001: unknown directive`.
    let heading = page.lines().next().unwrap_or_default();
    let heading = heading.trim_start_matches("# ");
    match format {
        Format::Human => output::out(format_args!("{page}")),
        Format::Short => output::out(format_args!("{heading}\n")),
        Format::Json => {
            let title = heading.split_once(": ").map_or(heading, |(_, title)| title);
            let object = json!({ "code": id, "title": title, "page": page });
            output::out(format_args!("{object}\n"));
        }
        Format::Github => github::annotate(Level::Notice, None, id, page),
    }
    Ok(())
}
