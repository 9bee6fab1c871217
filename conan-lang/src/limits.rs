//! What a fragment may ask of the parsers behind us.
//!
//! syn, and rustc after it, parse by recursion: brackets nested thousands
//! deep, or an expression of thousands of operators, would end the process.
//! This looks at the mask first, in one loop, and refuses such fragments.

use crate::diagnostic::{Code, Diagnostic};
use crate::mask::Mask;
use crate::source::Source;
use crate::span::Span;

/// Brackets inside brackets.
const MAX_DEPTH: usize = 100;

/// Tokens on one level of brackets without a `;` or `,` between them.
const MAX_RUN: usize = 1000;

/// Refuses a fragment that is nested too deeply to be parsed safely. What is
/// in the `holes` is not looked at.
pub(crate) fn check(
    source: &Source,
    mask: &Mask,
    span: Span,
    holes: &[Span],
) -> Result<(), Diagnostic> {
    let bytes = &mask.text.as_bytes()[..span.end as usize];
    let mut holes = holes.iter().copied().peekable();
    let mut runs = vec![0_usize];
    let mut in_word = false;
    let mut at = span.start as usize;
    while at < bytes.len() {
        if let Some(hole) = holes.next_if(|hole| hole.start as usize <= at) {
            // A statement of its own.
            *runs.last_mut().expect("the outermost level stays") = 0;
            at = at.max(hole.end as usize);
            continue;
        }
        let byte = bytes[at];
        let here = at;
        at += 1;
        let is_word = byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
        let begins_token = (!is_word || !in_word) && !byte.is_ascii_whitespace();
        in_word = is_word;
        match byte {
            b'(' | b'[' | b'{' => runs.push(0),
            b')' | b']' | b'}' if runs.len() > 1 => {
                runs.pop();
            }
            b';' | b',' => {
                if let Some(run) = runs.last_mut() {
                    *run = 0;
                }
                continue;
            }
            _ => {}
        }
        let Some(run) = runs.last_mut() else { continue };
        // A statement that ends in a block has no `;`; what follows is new
        // unless it goes on with `else` or an operator.
        if byte == b'}' && !goes_on(&bytes[at..]) {
            *run = 0;
        }
        *run += usize::from(begins_token);
        let message = if *run > MAX_RUN {
            format!("this expression has more than {MAX_RUN} tokens without a `;` or `,`")
        } else if runs.len() > MAX_DEPTH {
            format!("brackets are nested more than {MAX_DEPTH} deep here")
        } else {
            continue;
        };
        let len = source.text()[here..]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
        return Err(
            Diagnostic::new(Code::TooDeep, message, Span::new(here, here + len))
                .label("too deep for a Rust parser")
                .help("move part of it into a function in `#top`"),
        );
    }
    Ok(())
}

/// True if an expression that ends in a block goes on behind it.
fn goes_on(rest: &[u8]) -> bool {
    let rest = rest.trim_ascii_start();
    rest.starts_with(b"else") || rest.first().is_some_and(|b| b".?+-*/%&|^<>=".contains(b))
}
