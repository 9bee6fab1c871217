//! One line each: for people in a hurry, and for GitHub's annotations.

use crate::diagnostic::Diagnostic;
use crate::source::Source;

/// `queue.conan:3:5: error[CN001]: unknown directive`
pub fn short(source: &Source, diagnostic: &Diagnostic) -> String {
    let at = source.position(diagnostic.span.start);
    format!(
        "{}:{}:{}: {}[{}]: {}\n",
        source.name(),
        at.line,
        at.column,
        diagnostic.severity().name(),
        diagnostic.code.id(),
        diagnostic.message,
    )
}

/// A workflow command that GitHub shows beside the script's line.
pub fn github(source: &Source, diagnostic: &Diagnostic) -> String {
    let start = source.position(diagnostic.span.start);
    let end = source.position(diagnostic.span.end);
    let mut message = diagnostic.message.clone();
    if !diagnostic.label.is_empty() {
        message = format!("{message}: {}", diagnostic.label);
    }
    format!(
        "::{} file={},line={},col={},endLine={},endColumn={},title={}::{}\n",
        diagnostic.severity().name(),
        property(source.name()),
        start.line,
        start.column,
        end.line,
        end.column,
        diagnostic.code.id(),
        data(&message),
    )
}

/// GitHub's escapes for the text of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// GitHub's escapes for a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
