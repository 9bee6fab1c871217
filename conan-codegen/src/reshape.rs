//! A script as a Rust token stream, every fragment at its own line and column.

use conan_lang::mask::Opaque;
use conan_lang::tree::{Exception, Sequence, Template, TemplateKind, TickItem, Wake};
use conan_lang::{Parsed, Span};

/// A reshaped script.
#[derive(Debug)]
pub struct Reshaped {
    /// As many lines as the script, each fragment in its place: can be lexed
    /// as it is.
    pub body: String,
    /// The same inside an invocation of a macro called `c`, for `include!`.
    pub file: String,
}

/// Takes the place of a comment before the first directive; if there is none,
/// of the directive itself, which is longer.
const OPENING: &str = "c!{";

/// Reshapes a script. `trailer` is put behind it, inside the macro's braces.
pub fn reshape(parsed: &Parsed, trailer: &str) -> Reshaped {
    let text = parsed.source.text();
    let first_directive = parsed.mask.text.find('#').unwrap_or(text.len());
    let mut body = String::with_capacity(text.len());
    // Only comments come before the first directive. They would be outside
    // the macro's braces, where a doc comment is an error.
    push_blank(&mut body, &text[..first_directive]);
    let room = " ".repeat(OPENING.len());
    let opening = body.find(&room).unwrap_or(body.len());
    let mut at = first_directive;
    for fragment in fragments(parsed) {
        let range = fragment.range();
        if range.start < at {
            continue;
        }
        push_glue(&mut body, parsed, at, range.start);
        body.push_str(&text[range.clone()]);
        at = range.end;
    }
    push_glue(&mut body, parsed, at, text.len());

    let mut file = String::with_capacity(body.len() + trailer.len() + 8);
    file.push_str(&body[..opening]);
    file.push_str(OPENING);
    file.push_str(body.get(opening + OPENING.len()..).unwrap_or_default());
    file.push('\n');
    file.push_str(trailer);
    file.push_str("\n}\n");
    Reshaped { body, file }
}

/// Every piece of Rust in the script, in order.
fn fragments(parsed: &Parsed) -> Vec<Span> {
    let script = &parsed.script;
    let mut spans = Vec::new();
    for cut in &script.cuts {
        spans.extend([cut.pattern.span, cut.constructor.span]);
    }
    spans.extend(script.tops.iter().map(|top| top.items.span));
    let locals = script.sequences.iter().filter_map(|s| s.shared.as_ref());
    spans.extend(
        script
            .shared
            .iter()
            .chain(locals)
            .map(|block| block.body.span),
    );
    for (_, item) in script.sequences.iter().flat_map(Sequence::items) {
        match item {
            TickItem::Template(template) => spans.extend(template_fragments(template)),
            TickItem::Suspended(..) | TickItem::Finished(..) => {}
            TickItem::Thread(block) => {
                let mut at = block.code.span.start as usize;
                for template in &block.code.templates {
                    spans.push(Span::new(at, template.span.start as usize));
                    spans.extend(template_fragments(template));
                    at = template.span.end as usize;
                }
                spans.push(Span::new(at, block.code.span.end as usize));
            }
        }
    }
    spans.sort_unstable();
    spans
}

fn template_fragments(template: &Template) -> Vec<Span> {
    match &template.kind {
        TemplateKind::ExcMonitor { code, expected } => {
            let expected = match expected {
                Some(Exception::Pattern(fragment)) => Some(fragment.span),
                Some(Exception::Panic { part }) => part.map(|part| part.span),
                None => None,
            };
            std::iter::once(code.span).chain(expected).collect()
        }
        TemplateKind::ValueCheck { actual, expected } => vec![actual.span, expected.span],
        TemplateKind::MatchCheck { actual, pattern } => vec![actual.span, pattern.span],
        TemplateKind::WakeCheck(Wake::At(time) | Wake::Within(time)) => vec![time.span],
        TemplateKind::WakeCheck(Wake::OneOf(times)) => times.iter().map(|t| t.span).collect(),
        TemplateKind::WakeCheck(Wake::Take(_)) => Vec::new(),
    }
}

/// What is between fragments. It means nothing to the driver, but rustc quotes
/// whole lines: comments and words that lex without harm stay readable.
fn push_glue(out: &mut String, parsed: &Parsed, start: usize, end: usize) {
    let first = parsed.mask.part_from(start as u32);
    let parts = parsed.mask.parts[first..].iter();
    let mut at = start;
    for (kind, span) in parts.take_while(|(_, span)| (span.end as usize) <= end) {
        push_words(out, parsed, at, span.start as usize);
        let part = parsed.source.slice(*span);
        match kind {
            Opaque::Comment => out.push_str(part),
            Opaque::Literal | Opaque::Condition => push_blank(out, part),
        }
        at = span.end as usize;
    }
    push_words(out, parsed, at, end);
}

fn push_words(out: &mut String, parsed: &Parsed, start: usize, end: usize) {
    let text = parsed.source.text();
    let mut at = start;
    for word in text[start..end].split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let before = text[..at].chars().next_back();
        let after = text[at + bare.len()..].chars().next();
        let is_apart =
            before.is_none_or(char::is_whitespace) && after.is_none_or(char::is_whitespace);
        if is_apart && is_harmless(bare) {
            out.push_str(word);
        } else if bare.len() > 1 && bare.starts_with('#') {
            // A directive squeezed in: a token must show that it is there.
            out.push_str(" ;");
            push_blank(out, &word[2..]);
        } else {
            push_blank(out, word);
        }
        at += word.len();
    }
}

/// A lone `#`, or a plain word that may begin with `#`.
fn is_harmless(word: &str) -> bool {
    let name = word.strip_prefix('#').unwrap_or(word);
    let plain = name.bytes().all(|byte| byte.is_ascii_alphabetic());
    plain && (!name.is_empty() || word == "#")
}

/// A space for every character, so that columns stay what they are.
fn push_blank(out: &mut String, text: &str) {
    let blank = |c: char| {
        if matches!(c, '\n' | '\r' | '\t') {
            c
        } else {
            ' '
        }
    };
    out.extend(text.chars().map(blank));
}
