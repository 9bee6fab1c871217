//! The lexical layer: which parts of a script are opaque to its grammar.
//!
//! A fragment is Rust, so `#end` in a string or a comment ends nothing. This
//! pass finds comments, literals, attributes and the free text of conditions
//! as Rust's own lexer would, and writes a *mask*: a text of the same length
//! in which all of that is filler. The grammar (`grammar.pest`) reads the
//! mask, so it only ever meets `#` where it means a directive or a separator.
//!
//! One loop without recursion, so nesting costs nothing and the time is linear.

use crate::diagnostic::{Code, Diagnostic};
use crate::nearest::nearest_directive;
use crate::pieces::Directive;
use crate::span::Span;

/// What an opaque part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opaque {
    /// A line or block comment.
    Comment,
    /// A string, byte string, C string, raw string or character.
    Literal,
    /// One line of a `#conditions` block, comments left out.
    Condition,
}

/// A script's mask, and what it hides.
#[derive(Debug)]
pub struct Mask {
    /// As long as the script, byte for byte.
    pub text: String,
    /// Every opaque part, in order.
    pub parts: Vec<(Opaque, Span)>,
    /// What follows the beginning of a literal without an end, in order.
    unterminated: Vec<Span>,
    /// True if the script could be read to its end.
    pub(crate) is_whole: bool,
}

impl Mask {
    /// The first part that ends after `offset`, as an index into `parts`.
    pub fn part_from(&self, offset: u32) -> usize {
        self.parts.partition_point(|(_, span)| span.end <= offset)
    }

    /// True if `offset` lies inside an opaque part, past its first byte.
    pub fn is_inside(&self, offset: u32) -> Option<Opaque> {
        let (kind, span) = self.parts.get(self.part_from(offset))?;
        (span.start < offset).then_some(*kind)
    }

    /// True if no literal in the place lacks its end.
    pub(crate) fn is_readable(&self, place: Span) -> bool {
        let first = self
            .unterminated
            .partition_point(|span| span.end <= place.start);
        let next = self.unterminated.get(first);
        next.is_none_or(|span| place.end <= span.start)
    }
}

/// Filler for literals: a letter, so that a literal looks like one word.
const FILLER: u8 = b'_';

/// After so many literals without an end the rest of the file is not looked
/// into: each of them has been searched for up to the end of the file.
const MAX_UNTERMINATED: usize = 16;

/// Masks a script.
pub fn mask(text: &str) -> (Mask, Vec<Diagnostic>) {
    let mut masker = Masker {
        text,
        bytes: text.as_bytes(),
        out: text.as_bytes().to_vec(),
        parts: Vec::new(),
        unterminated: Vec::new(),
        diagnostics: Vec::new(),
        suspect: None,
        at: 0,
    };
    let is_whole = masker.run();
    // Parts are replaced whole and by ASCII, so what is left is UTF-8 still.
    let text = String::from_utf8_lossy(&masker.out).into_owned();
    let mask = Mask {
        text,
        parts: masker.parts,
        unterminated: masker.unterminated,
        is_whole,
    };
    (mask, masker.diagnostics)
}

struct Masker<'t> {
    text: &'t str,
    bytes: &'t [u8],
    out: Vec<u8>,
    parts: Vec<(Opaque, Span)>,
    unterminated: Vec<Span>,
    diagnostics: Vec<Diagnostic>,
    /// The first string that has swallowed a line with a directive: if the
    /// quotes do not come out even, this is the one that has no end. Where it
    /// starts, and its quote.
    suspect: Option<(usize, usize)>,
    at: usize,
}

impl Masker<'_> {
    /// Returns false if the rest of the script is not worth looking at.
    fn run(&mut self) -> bool {
        while self.at < self.bytes.len() {
            let is_hopeless = self.diagnostics.len() >= MAX_UNTERMINATED;
            if is_hopeless || !self.step() {
                self.fill(self.at, self.bytes.len(), b' ');
                return false;
            }
        }
        true
    }

    fn step(&mut self) -> bool {
        let start = self.at;
        match self.bytes[start] {
            b'/' if self.looking_at("//") => {
                let end = self.line_end(start);
                self.hide(Opaque::Comment, end);
            }
            b'/' if self.looking_at("/*") => match self.block_comment_end(start) {
                Some(end) => self.hide(Opaque::Comment, end),
                None => {
                    self.unterminated("block comment", start, start + 2);
                    return false;
                }
            },
            b'"' => self.string(start),
            b'\'' => self.quote(),
            b'#' => return self.hash(),
            byte if is_word_byte(byte) => self.word(),
            _ => self.at += 1,
        }
        true
    }

    fn looking_at(&self, what: &str) -> bool {
        self.bytes[self.at..].starts_with(what.as_bytes())
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    fn line_end(&self, from: usize) -> usize {
        let end = self.bytes[from..].iter().position(|&b| b == b'\n');
        end.map_or(self.bytes.len(), |len| {
            let end = from + len;
            end - usize::from(end > from && self.bytes[end - 1] == b'\r')
        })
    }

    fn block_comment_end(&self, start: usize) -> Option<usize> {
        let mut depth = 1;
        let mut at = start + 2;
        while at + 1 < self.bytes.len() {
            match &self.bytes[at..at + 2] {
                b"/*" => {
                    depth += 1;
                    at += 2;
                }
                b"*/" => {
                    depth -= 1;
                    at += 2;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => at += 1,
            }
        }
        None
    }

    /// A string whose opening quote is at `quote`; a prefix may come before.
    fn string(&mut self, quote: usize) {
        let mut at = quote + 1;
        while at < self.bytes.len() {
            match self.bytes[at] {
                b'\\' => at += 2,
                b'"' => {
                    if self.suspect.is_none() && self.swallows_directive(quote, at) {
                        self.suspect = Some((self.at, quote));
                    }
                    return self.hide(Opaque::Literal, at + 1);
                }
                _ => at += 1,
            }
        }
        let (start, quote) = self.suspect.take().unwrap_or((self.at, quote));
        self.rewind(start);
        self.unterminated("string", start, quote + 1);
    }

    /// True if a stretch of several lines has a directive in it that a script
    /// hardly has in a string.
    fn swallows_directive(&self, start: usize, end: usize) -> bool {
        let text = &self.text[start..end];
        let mut directives = text.match_indices("#end").filter(|(at, _)| {
            text[..*at].ends_with(char::is_whitespace) && is_end_directive(&text[*at..])
        });
        text.contains('\n') && directives.next().is_some()
    }

    /// Forgets what has been read from `start` on.
    fn rewind(&mut self, start: usize) {
        let from = start as u32;
        self.parts
            .truncate(self.parts.partition_point(|(_, span)| span.start < from));
        let read = self.unterminated.partition_point(|span| span.start < from);
        self.unterminated.truncate(read);
        self.diagnostics.truncate(read);
        self.out[start..].copy_from_slice(&self.bytes[start..]);
        self.at = start;
    }

    /// `'a'`, `'\n'` or the lifetime `'a`.
    fn quote(&mut self) {
        let start = self.at;
        let mut rest = self.text[start + 1..].chars();
        match rest.next() {
            Some('\\') => {
                let line_end = self.line_end(start);
                let mut at = start + 3;
                while at < line_end && self.bytes[at] != b'\'' {
                    at += 1;
                }
                if at < line_end {
                    self.hide(Opaque::Literal, at + 1);
                } else {
                    self.unterminated("character", start, start + 2);
                }
            }
            Some(c) if c != '\'' && rest.next() == Some('\'') => {
                self.hide(Opaque::Literal, start + 2 + c.len_utf8());
            }
            // A lifetime, or a lone quote that syn will complain about.
            _ => {
                self.out[start] = FILLER;
                self.at = start + 1;
            }
        }
    }

    /// An attribute's `#` is code; `#conditions` is followed by free text.
    fn hash(&mut self) -> bool {
        let next = self.byte(self.at + 1);
        if next == b'[' || (next == b'!' && self.byte(self.at + 2) == b'[') {
            self.out[self.at] = FILLER;
            self.at += 1;
            return true;
        }
        let end = self.word_end(self.at + 1);
        let is_conditions = is_conditions(&self.text[self.at..end]);
        self.at = end;
        !is_conditions || self.conditions()
    }

    fn word_end(&self, from: usize) -> usize {
        let len = self.bytes[from..].iter().position(|&b| !is_word_byte(b));
        len.map_or(self.bytes.len(), |len| from + len)
    }

    /// A word, or the prefix of a string, a raw string or a raw identifier.
    fn word(&mut self) {
        let start = self.at;
        let end = self.word_end(start);
        let word = &self.bytes[start..end];
        match (word, self.byte(end)) {
            (b"b" | b"c", b'"') => self.string(end),
            (b"b", b'\'') => {
                // Step over the prefix; the character is hidden by itself.
                self.out[start] = FILLER;
                self.at = end;
            }
            (b"r" | b"br" | b"cr", b'"' | b'#') => self.raw(end),
            _ => self.at = end,
        }
    }

    /// `r"…"`, `r##"…"##` or `r#name`; `hashes` is where the prefix ends.
    fn raw(&mut self, hashes: usize) {
        let mut quote = hashes;
        while self.byte(quote) == b'#' {
            quote += 1;
        }
        let count = quote - hashes;
        if self.byte(quote) == b'"' {
            let mut at = quote + 1;
            while let Some(len) = self.bytes[at..].iter().position(|&b| b == b'"') {
                at += len + 1;
                let closing = self.bytes[at..].iter().take_while(|&&b| b == b'#');
                if closing.take(count).count() == count {
                    return self.hide(Opaque::Literal, at + count);
                }
            }
            self.unterminated("raw string", self.at, quote + 1);
        } else if count == 1 && is_word_byte(self.byte(quote)) && hashes == self.at + 1 {
            self.out[hashes] = FILLER;
            self.at = self.word_end(quote);
        } else {
            self.at = hashes;
        }
    }

    /// The lines after `#conditions` up to the next directive: free text, in
    /// which a quote is an apostrophe.
    fn conditions(&mut self) -> bool {
        loop {
            self.at = self.bytes.len() - self.text[self.at..].trim_start().len();
            if self.at >= self.bytes.len() || self.byte(self.at) == b'#' {
                return true;
            }
            if self.looking_at("//") || self.looking_at("/*") {
                if !self.step() {
                    return false;
                }
            } else {
                let end = self.condition_end(self.at);
                self.hide(Opaque::Condition, end);
            }
        }
    }

    /// Where a condition's text ends: with its line, or before a comment or an
    /// `#end` with white space before it and nothing more of a text behind it.
    fn condition_end(&self, start: usize) -> usize {
        let line = &self.text[start..self.line_end(start)];
        let stops = line.char_indices().filter(|(_, c)| c.is_whitespace());
        let stop = stops.map(|(at, c)| at + c.len_utf8()).find(|&at| {
            let rest = &line[at..];
            rest.starts_with("//") || rest.starts_with("/*") || ends_conditions(rest)
        });
        start + line[..stop.unwrap_or(line.len())].trim_end().len()
    }

    fn hide(&mut self, kind: Opaque, end: usize) {
        let start = self.at;
        self.parts.push((kind, Span::new(start, end)));
        let filler = if kind == Opaque::Literal {
            FILLER
        } else {
            b' '
        };
        self.fill(start, end, filler);
        self.at = end;
    }

    fn fill(&mut self, start: usize, end: usize, filler: u8) {
        for byte in &mut self.out[start..end] {
            if *byte != b'\n' {
                *byte = filler;
            }
        }
    }

    /// Reports what has no end, hides the rest of its line up to an `#end`,
    /// and goes on behind that.
    fn unterminated(&mut self, what: &str, start: usize, opened: usize) {
        let opened = opened.min(self.bytes.len());
        self.diagnostics.push(
            Diagnostic::new(
                Code::Unterminated,
                format!("this {what} has no end"),
                Span::new(start, opened),
            )
            .label(format!("the {what} begins here")),
        );
        let line = &self.text[opened..self.line_end(opened).max(opened)];
        let ends = line.match_indices("#end").map(|(at, _)| at);
        let end = ends
            .into_iter()
            .find(|&at| line[..at].ends_with(char::is_whitespace) && is_end_directive(&line[at..]));
        let end = opened + end.unwrap_or(line.len());
        self.unterminated.push(Span::new(start, end));
        self.fill(start, end, FILLER);
        self.at = end;
    }
}

/// `#conditions`, or what is near enough to be taken for it.
fn is_conditions(word: &str) -> bool {
    if word.len().abs_diff("#conditions".len()) > 2 {
        return false;
    }
    let directive = Directive::from_word(word).or_else(|| nearest_directive(word));
    directive == Some(Directive::Conditions)
}

fn ends_conditions(text: &str) -> bool {
    let rest = text.strip_prefix("#end").map(str::trim_start);
    is_end_directive(text)
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['#', '/']))
}

fn is_end_directive(text: &str) -> bool {
    let rest = text.strip_prefix("#end");
    rest.is_some_and(|rest| !rest.bytes().next().is_some_and(is_word_byte))
}

/// Letters, digits, `_`, and every byte of a character beyond ASCII.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
