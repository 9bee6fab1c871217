//! What a fragment may ask of the parsers behind us.
//!
//! syn, and all that looks at its trees, work by recursion: brackets nested
//! thousands deep, or an expression of thousands of operators, would end the
//! process. This looks at the mask first, in one loop, and refuses such
//! fragments; what is left fits on the stack of [`on_large_stack`].

use crate::diagnostic::{Code, Diagnostic};
use crate::keywords::is_keyword;
use crate::mask::Mask;
use crate::source::Source;
use crate::span::Span;

/// Brackets inside brackets.
const MAX_DEPTH: usize = 100;

/// Tokens that a parser may have to hold on to at one time: those on every
/// open level of brackets since the last `;` or `,` there.
const MAX_RUN: usize = 1000;

/// What the worst of such fragments takes in a debug build is 37 MB: a
/// thousand `&` before a type. Pages that are not used cost nothing.
const STACK_BYTES: usize = 96 << 20;

/// Runs `f` with as much stack as a fragment can take that
/// [`parse`](crate::parse) has no [`Code::TooDeep`] for. Whoever parses
/// fragments again, or walks their trees, does it in here.
pub fn on_large_stack<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(STACK_BYTES / 2, STACK_BYTES, f)
}

/// Refuses a fragment that is nested too deeply to be parsed safely. What is
/// in the `holes`, which are in order, is not looked at.
pub(crate) fn check(
    source: &Source,
    mask: &Mask,
    span: Span,
    holes: &[Span],
) -> Result<(), Diagnostic> {
    let mut scan = Scan::default();
    let mut holes = holes.iter().copied().peekable();
    let text = &mask.text.as_bytes()[..span.end as usize];
    let mut at = span.start as usize;
    while at < text.len() {
        if let Some(hole) = holes.next_if(|hole| hole.start as usize <= at) {
            // A statement of its own.
            scan.end_run();
            at = at.max(hole.end as usize);
            continue;
        }
        let len = token_len(&text[at..]);
        scan.token(&text[at..at + len], &text[at + len..]);
        let message = if scan.total > MAX_RUN {
            format!("this code has more than {MAX_RUN} tokens without a `;` or `,`")
        } else if scan.outer.len() > MAX_DEPTH {
            format!("brackets are nested more than {MAX_DEPTH} deep here")
        } else {
            at += len;
            continue;
        };
        let rest = &source.text()[at..];
        let place = Span::new(at, at + rest.chars().next().map_or(0, char::len_utf8));
        return Err(Diagnostic::new(Code::TooDeep, message, place)
            .label("too deep for a Rust parser")
            .help("move part of it into a function of its own"));
    }
    Ok(())
}

/// A word, a run of white space, `||`, `->`, `=>`, or one byte.
fn token_len(text: &[u8]) -> usize {
    let len_while = |test: fn(u8) -> bool| text.iter().take_while(|byte| test(**byte)).count();
    match *text {
        [b'|', b'|', ..] | [b'-' | b'=', b'>', ..] => 2,
        [byte, ..] if byte.is_ascii_whitespace() => len_while(|byte| byte.is_ascii_whitespace()),
        [byte, ..] if is_word(byte) => len_while(is_word),
        _ => 1,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// One level of brackets.
#[derive(Default)]
struct Level {
    /// Tokens since the last place where an expression or a type ended.
    run: usize,
    /// Angle brackets, or comparisons, that are open.
    angles: usize,
    /// True between the bars of a closure's parameters.
    in_parameters: bool,
}

#[derive(Default)]
struct Scan {
    outer: Vec<Level>,
    level: Level,
    /// The runs of all levels.
    total: usize,
    /// True behind what can be the left side of an operator.
    after_operand: bool,
}

impl Scan {
    fn token(&mut self, token: &[u8], rest: &[u8]) {
        match token {
            [byte, ..] if byte.is_ascii_whitespace() => return,
            b"(" | b"[" | b"{" => self.outer.push(std::mem::take(&mut self.level)),
            b")" | b"]" | b"}" => {
                self.total -= self.level.run;
                self.level = self.outer.pop().unwrap_or_default();
                // A statement that ends in a block has no `;`.
                if token == b"}" && !goes_on(rest) {
                    self.end_run();
                }
            }
            b"<" => self.level.angles += 1,
            b">" => self.level.angles = self.level.angles.saturating_sub(1),
            b"|" => {
                let opens = !self.after_operand && !self.level.in_parameters;
                self.level.in_parameters = opens;
            }
            // Inside of these a comma ends nothing that is around them.
            b"," if self.level.angles > 0 || self.level.in_parameters => {}
            b";" | b"," | b"=>" => return self.end_run(),
            _ => {}
        }
        self.level.run += 1;
        self.total += 1;
        self.after_operand = match token {
            [byte, ..] if is_word(*byte) => {
                let word = std::str::from_utf8(token).unwrap_or_default();
                !is_keyword(word) || matches!(word, "_" | "self" | "Self" | "true" | "false")
            }
            _ => matches!(token, b")" | b"]" | b"}" | b"?"),
        };
    }

    fn end_run(&mut self) {
        self.total -= self.level.run;
        self.level = Level::default();
        self.after_operand = false;
    }
}

/// True if an expression that ends in a block goes on behind it.
fn goes_on(rest: &[u8]) -> bool {
    let rest = rest.trim_ascii_start();
    rest.starts_with(b"else") || rest.first().is_some_and(|b| b".?+-*/%&|^<>=".contains(b))
}
