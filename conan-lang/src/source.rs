//! A script's text with its name, and lines and columns for its byte offsets.

use crate::span::Span;

/// The largest script that is read, in bytes: offsets are `u32`.
pub const MAX_BYTES: usize = u32::MAX as usize;

/// A script's text under the name that messages call it by.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: String,
    line_starts: Vec<u32>,
    /// How many characters begin before each step of `STEP` bytes, so that a
    /// column on a line of megabytes is not counted from its start.
    characters: Vec<u32>,
}

const STEP: usize = 4096;

/// A place as people count: both from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Source {
    /// Takes a text; a byte order mark at its start is left out.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let mut text: String = text.into();
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        let line_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at as u32 + 1))
            .collect();
        let steps = text.as_bytes().chunks(STEP);
        let characters = steps
            .scan(0, |count, chunk| {
                let before = *count;
                *count += characters_in(chunk);
                Some(before)
            })
            .collect();
        Self {
            name: name.into(),
            text,
            line_starts,
            characters,
        }
    }

    /// The name that messages call the script by, usually its path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of one place.
    pub fn slice(&self, span: Span) -> &str {
        &self.text[span.range()]
    }

    /// How many lines the text has; a last line feed does not begin another.
    pub fn line_count(&self) -> usize {
        let lines = self.line_starts.len();
        if self.text.is_empty() || self.text.ends_with('\n') {
            lines - 1
        } else {
            lines
        }
    }

    /// The line and column of a byte offset.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.line(offset);
        let start = self.characters_before(self.line_start(line));
        Position {
            line,
            column: (self.characters_before(offset) - start) as usize + 1,
        }
    }

    fn characters_before(&self, offset: u32) -> u32 {
        let offset = (offset as usize).min(self.text.len());
        let step = (offset / STEP).min(self.characters.len().saturating_sub(1));
        let before = self.characters.get(step).copied().unwrap_or(0);
        before + characters_in(&self.text.as_bytes()[step * STEP..offset])
    }

    /// The line of a byte offset, from 1.
    pub fn line(&self, offset: u32) -> usize {
        self.line_starts.partition_point(|&start| start <= offset)
    }

    /// The offset at which a line (from 1) begins.
    pub fn line_start(&self, line: usize) -> u32 {
        self.line_starts[line - 1]
    }

    /// The offset at which a line (from 1) ends, before its line feed.
    pub fn line_end(&self, line: usize) -> usize {
        match self.line_starts.get(line) {
            Some(&next) => next as usize - 1,
            None => self.text.len(),
        }
    }
}

/// How many characters begin in a stretch of UTF-8.
fn characters_in(bytes: &[u8]) -> u32 {
    let begins = |byte: &&u8| (**byte & 0xc0) != 0x80;
    bytes.iter().filter(begins).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_a_byte_order_mark_counts_nothing() {
        let source = Source::new("a", "\u{feff}ä#\r\nb\n");
        assert_eq!(source.position(2), Position { line: 1, column: 2 });
        assert_eq!(source.position(5), Position { line: 2, column: 1 });
        assert_eq!(source.line_count(), 2);
    }

    #[test]
    fn columns_of_a_long_line_are_counted_from_its_start() {
        let text = format!("\n{}", "ä".repeat(5 * STEP));
        let source = Source::new("a", text);
        for column in [1, 2, STEP / 2, STEP, 3 * STEP + 7, 5 * STEP + 1] {
            let offset = 1 + 2 * (column as u32 - 1);
            assert_eq!(source.position(offset), Position { line: 2, column });
        }
    }
}
