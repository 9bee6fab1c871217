//! Brackets in Rust code, counted on the mask.

use crate::diagnostic::{Code, Diagnostic};
use crate::mask::Mask;
use crate::span::Span;

/// How many more brackets a piece of a mask opens than it closes.
pub(crate) fn depth(text: &str) -> i64 {
    let step = |byte| match byte {
        b'(' | b'[' | b'{' => 1,
        b')' | b']' | b'}' => -1,
        _ => 0,
    };
    text.bytes().map(step).sum()
}

/// The first bracket in a place that closes the wrong one or nothing, or else
/// the innermost one that is never closed. What is in the `holes`, which are
/// in order, is not looked at.
pub(crate) fn mismatch(mask: &Mask, span: Span, holes: &[Span]) -> Option<Diagnostic> {
    let bytes = mask.text.as_bytes();
    let mut holes = holes.iter().peekable();
    let mut open: Vec<usize> = Vec::new();
    let mut at = span.start as usize;
    while at < span.end as usize {
        if let Some(hole) = holes.next_if(|hole| hole.start as usize <= at) {
            at = at.max(hole.end as usize);
            continue;
        }
        let byte = bytes[at];
        let opening = match byte {
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            b'(' | b'[' | b'{' => {
                open.push(at);
                at += 1;
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        };
        let place = Span::new(at, at + 1);
        let bracket = char::from(byte);
        match open.pop() {
            None => {
                let message = format!("this `{bracket}` closes nothing");
                return Some(Diagnostic::new(Code::RustSyntax, message, place));
            }
            Some(start) if bytes[start] != opening => {
                let opened = char::from(bytes[start]);
                let message = format!("this `{bracket}` does not close the `{opened}` before it");
                let diagnostic = Diagnostic::new(Code::RustSyntax, message, place);
                return Some(diagnostic.related(Span::new(start, start + 1), "opened here"));
            }
            Some(_) => at += 1,
        }
    }
    let start = open.pop()?;
    let message = format!("this `{}` is never closed", char::from(bytes[start]));
    Some(Diagnostic::new(
        Code::RustSyntax,
        message,
        Span::new(start, start + 1),
    ))
}
