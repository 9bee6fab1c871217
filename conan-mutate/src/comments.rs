//! The comments of a source. The parser drops them, so they are found in what
//! it leaves between the tokens.

use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};

use crate::text::Text;

/// A `//` comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Comment<'s> {
    /// Where it begins, in bytes.
    pub(crate) start: usize,
    /// Its text, without the slashes.
    pub(crate) text: &'s str,
}

/// All `//` comments that are not documentation.
pub(crate) fn comments(text: Text<'_>, tokens: TokenStream) -> Vec<Comment<'_>> {
    let mut covered = Vec::new();
    cover(tokens, &mut covered);
    covered.sort_unstable_by_key(|range| range.start);
    let mut found = Vec::new();
    let mut at = text.skipped;
    for range in covered {
        let start = text.skipped + range.start;
        // Tokens of one documentation comment share a range.
        if start >= at {
            between(text.source, at..start, &mut found);
        }
        at = at.max(text.skipped + range.end);
    }
    between(text.source, at..text.source.len(), &mut found);
    found
}

fn cover(tokens: TokenStream, covered: &mut Vec<Range<usize>>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                covered.push(group.span_open().byte_range());
                cover(group.stream(), covered);
                covered.push(group.span_close().byte_range());
            }
            other => covered.push(other.span().byte_range()),
        }
    }
}

/// Comments in a stretch of white space and comments.
fn between<'s>(source: &'s str, gap: Range<usize>, found: &mut Vec<Comment<'s>>) {
    let mut at = gap.start;
    while at < gap.end {
        let rest = &source[at..gap.end];
        if rest.starts_with("//") {
            let end = rest.find('\n').map_or(gap.end, |newline| at + newline);
            let text = source[at + 2..end].trim_end_matches('\r');
            found.push(Comment { start: at, text });
            at = end;
        } else if rest.starts_with("/*") {
            at += block_comment(rest);
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
}

/// The length of a block comment; they nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let (step, deeper) = match &bytes[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        at += step;
        depth += deeper;
        if depth == 0 {
            break;
        }
    }
    at
}
