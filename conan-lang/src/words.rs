//! Words of a directive's argument, with their places.

use crate::mask::Mask;
use crate::source::Source;
use crate::span::{Name, Span, Spanned};

/// The words in a place of a script, split at white space (and, where
/// `at_commas`, at commas). Comments are white space, literals are words.
pub(crate) fn words(source: &Source, mask: &Mask, span: Span, at_commas: bool) -> Vec<Name> {
    let base = span.start as usize;
    let text = &mask.text[span.range()];
    let is_gap = |c: char| c.is_whitespace() || (at_commas && c == ',');
    let mut words = Vec::new();
    let mut start = None;
    let ends = std::iter::once((text.len(), ' '));
    for (at, c) in text.char_indices().chain(ends) {
        match start {
            None if !is_gap(c) => start = Some(at),
            Some(from) if is_gap(c) => {
                let span = Span::new(base + from, base + at);
                words.push(Spanned::new(source.slice(span).to_owned(), span));
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// `<name>` is a way to write `name`.
pub(crate) fn bare(name: Name) -> Name {
    let inner = name
        .value
        .strip_prefix('<')
        .and_then(|n| n.strip_suffix('>'));
    match inner {
        Some(inner) => {
            let start = name.span.start as usize + 1;
            Spanned::new(inner.to_owned(), Span::new(start, start + inner.len()))
        }
        None => name,
    }
}

/// A whole number as Rust writes it, `1_000` too.
pub(crate) fn number(text: &str) -> Option<u64> {
    is_number(text).then(|| text.replace('_', "").parse().ok())?
}

/// True if the text is a whole number as Rust writes it, however large.
pub(crate) fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
}

/// The place without the white space (in the mask: also comments) around it.
pub(crate) fn trim(mask: &Mask, span: Span) -> Span {
    let text = &mask.text[span.range()];
    let front = text.trim_start();
    if front.is_empty() {
        return Span::at(span.start as usize);
    }
    let start = span.end as usize - front.len();
    Span::new(start, start + front.trim_end().len())
}

/// As [`trim`], but doc comments before the first token stay: they belong to
/// the item that it begins.
pub(crate) fn trim_items(source: &Source, mask: &Mask, span: Span) -> Span {
    let trimmed = trim(mask, span);
    if trimmed.is_empty() {
        return trimmed;
    }
    let comments = mask.parts[mask.part_from(span.start)..].iter();
    let mut leading = comments.take_while(|(_, comment)| comment.start < trimmed.start);
    let doc = leading.find(|(_, comment)| is_doc(source.slice(*comment)));
    let start = doc.map_or(trimmed.start, |(_, comment)| comment.start);
    Span { start, ..trimmed }
}

fn is_doc(comment: &str) -> bool {
    let is_line = comment.starts_with("///") && !comment.starts_with("////");
    let is_block = comment.starts_with("/**") && !comment.starts_with("/***");
    let is_inner = comment.starts_with("//!") || comment.starts_with("/*!");
    is_line || (is_block && comment != "/**/") || is_inner
}

/// The first line of a place.
pub(crate) fn first_line(mask: &Mask, span: Span) -> Span {
    let text = &mask.text[span.range()];
    let len = text.find('\n').unwrap_or(text.len());
    let line = text[..len].trim_end();
    Span::new(span.start as usize, span.start as usize + line.len())
}

/// The first word of a place.
pub(crate) fn first_word(mask: &Mask, span: Span) -> Span {
    let text = &mask.text[span.range()];
    let len = text.find(char::is_whitespace).unwrap_or(text.len());
    Span::new(span.start as usize, span.start as usize + len)
}

/// At most the first line and 40 characters of a text, for a message.
pub(crate) fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim_end();
    let cut = line.char_indices().nth(40).map(|(at, _)| at);
    match cut {
        Some(at) => format!("{}…", &line[..at]),
        None if line.len() < text.trim_end().len() => format!("{line}…"),
        None => line.to_owned(),
    }
}
