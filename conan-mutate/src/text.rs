//! The source's text, and where syntax stands in it.

use std::ops::Range;

use syn::spanned::Spanned;

/// A source with the places of what was parsed from it.
#[derive(Clone, Copy)]
pub(crate) struct Text<'s> {
    pub(crate) source: &'s str,
    /// What stands before the part that is Rust: a BOM, a shebang.
    pub(crate) skipped: usize,
}

impl<'s> Text<'s> {
    /// The source, of which only the Rust is to be parsed.
    pub(crate) fn new(source: &'s str) -> Self {
        let rust = source.strip_prefix('\u{feff}').unwrap_or(source);
        let rust = match rust.strip_prefix("#!") {
            Some(rest) if !rest.trim_start().starts_with('[') => {
                rust.find('\n').map_or("", |end| &rust[end..])
            }
            _ => rust,
        };
        let skipped = source.len() - rust.len();
        Self { source, skipped }
    }

    /// The part that is Rust.
    pub(crate) fn rust(self) -> &'s str {
        &self.source[self.skipped..]
    }

    /// The bytes of a node.
    pub(crate) fn range(self, node: &impl Spanned) -> Range<usize> {
        let Range { start, end } = node.span().byte_range();
        self.skipped + start..self.skipped + end
    }

    /// A node as it is written.
    pub(crate) fn of(self, node: &impl Spanned) -> &'s str {
        &self.source[self.range(node)]
    }

    /// Line and column of a byte, both from 1; columns count characters.
    pub(crate) fn position(self, at: usize) -> (usize, usize) {
        let before = &self.source[..at];
        let start = self.line_start(at);
        let line = before.matches('\n').count() + 1;
        (line, self.source[start..at].chars().count() + 1)
    }

    /// Where the line of a byte begins.
    pub(crate) fn line_start(self, at: usize) -> usize {
        self.source[..at]
            .rfind('\n')
            .map_or(0, |newline| newline + 1)
    }
}
