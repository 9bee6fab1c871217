//! The formatter. It moves white space only: directives go on lines of their
//! own and are indented by their depth, templates on one line get one space
//! around their parts, and Rust keeps its shape but moves as a whole.
//! Literals stay as they are, byte for byte; comments too, but for the
//! indentation of the lines of a block comment.

mod breaks;
mod comments;
mod indent;
mod structure;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Source;
use crate::{Parsed, mask};

/// Why a script cannot be formatted: its structure is not clear.
#[derive(Debug)]
pub struct FormatError {
    /// What has to be mended first.
    pub diagnostics: Vec<Diagnostic>,
}

/// Formats a script. Refuses one whose blocks cannot be told apart.
pub fn format(parsed: &Parsed) -> Result<String, FormatError> {
    let unclear = |diagnostic: &&Diagnostic| {
        matches!(
            diagnostic.code,
            Code::UnknownDirective
                | Code::MissingEnd
                | Code::ExtraEnd
                | Code::WrongPlace
                | Code::StrayText
                | Code::BadHead
                | Code::ExtraSeparator
                | Code::Unterminated
                | Code::InvalidUtf8
        )
    };
    let diagnostics: Vec<Diagnostic> = parsed.diagnostics.iter().filter(unclear).cloned().collect();
    if !diagnostics.is_empty() {
        return Err(FormatError { diagnostics });
    }
    let text = parsed.source.text();
    let line = text.split_once('\n').map(|(line, _)| line);
    let is_dos = line.is_some_and(|line| line.ends_with('\r'));
    let broken = breaks::apply(&parsed.source, &parsed.mask);
    let source = Source::new(parsed.source.name(), broken);
    let (mask, _) = mask::mask(source.text());
    let formatted = indent::apply(&source, &mask, if is_dos { "\r\n" } else { "\n" });
    debug_assert_eq!(
        significant(text),
        significant(&formatted),
        "formatting changed more than white space"
    );
    Ok(formatted)
}

/// A text without white space: what formatting must leave alone.
fn significant(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
