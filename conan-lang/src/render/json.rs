//! One JSON object a line, for tools.

use serde_json::{Value, json};

use crate::diagnostic::Diagnostic;
use crate::source::Source;
use crate::span::Span;

/// Renders one diagnostic as a JSON object on one line.
pub fn json(source: &Source, diagnostic: &Diagnostic) -> String {
    let related: Vec<Value> = diagnostic
        .related
        .iter()
        .map(|related| {
            let mut value = place(source, related.span);
            value["label"] = related.label.clone().into();
            value
        })
        .collect();
    let suggestion = diagnostic.suggestion.as_ref().map(|suggestion| {
        let mut value = place(source, suggestion.span);
        value["replacement"] = suggestion.replacement.clone().into();
        value
    });
    let value = json!({
        "code": diagnostic.code.id(),
        "severity": diagnostic.severity().name(),
        "message": diagnostic.message,
        "file": source.name(),
        "span": place(source, diagnostic.span),
        "label": diagnostic.label,
        "related": related,
        "help": diagnostic.help,
        "suggestion": suggestion,
    });
    format!("{value}\n")
}

fn place(source: &Source, span: Span) -> Value {
    let start = source.position(span.start);
    let end = source.position(span.end);
    json!({
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "byte_start": span.start,
        "byte_end": span.end,
    })
}
