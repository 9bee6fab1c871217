//! Words of a directive's argument, with their places.

use crate::span::{Name, Span, Spanned};

/// The words in a place of a mask, split at white space (and, where
/// `at_commas`, at commas).
pub(crate) fn words(mask: &str, span: Span, at_commas: bool) -> Vec<Name> {
    let base = span.start as usize;
    let text = &mask[span.range()];
    let is_gap = |c: char| c.is_whitespace() || (at_commas && c == ',');
    let mut words = Vec::new();
    let mut start = None;
    let ends = std::iter::once((text.len(), ' '));
    for (at, c) in text.char_indices().chain(ends) {
        match start {
            None if !is_gap(c) => start = Some(at),
            Some(from) if is_gap(c) => {
                let span = Span::new(base + from, base + at);
                words.push(Spanned::new(text[from..at].to_owned(), span));
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// The place without the white space (in the mask: also comments) around it.
pub(crate) fn trim(mask: &str, span: Span) -> Span {
    let text = &mask[span.range()];
    let start = span.start as usize + (text.len() - text.trim_start().len());
    if text.trim().is_empty() {
        return Span::at(span.start as usize);
    }
    Span::new(start, start + text.trim().len())
}

/// The place of the first word, or the whole place if it has none.
pub(crate) fn first_line(mask: &str, span: Span) -> Span {
    let text = &mask[span.range()];
    let len = text.find('\n').unwrap_or(text.len());
    let line = text[..len].trim_end();
    Span::new(span.start as usize, span.start as usize + line.len())
}
