//! `cargo conan explain`

use conan_lang::Code;

use crate::exit::{Stop, error};
use crate::output;

/// Prints the page of a diagnostic.
pub(crate) fn explain(code: &str) -> Stop<()> {
    let wanted = code.to_uppercase();
    let found = Code::ALL.iter().find(|code| code.id() == wanted);
    let Some(found) = found else {
        let first = Code::ALL[0].id();
        let last = Code::ALL[Code::ALL.len() - 1].id();
        return Err(error(format_args!(
            "there is no diagnostic `{code}`; they are {first} to {last}"
        )));
    };
    output::out(format_args!("{}", found.page()));
    Ok(())
}
