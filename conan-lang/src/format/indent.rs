//! Second pass: every line gets its indentation.

use super::structure::{Anchor, anchors};
use crate::mask::{Mask, Opaque};
use crate::pieces::Directive;
use crate::source::Source;

const STEP: usize = 4;

pub(super) fn apply(source: &Source, mask: &Mask) -> String {
    let text = source.text();
    let eol = match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    };
    let lines = lines(source, mask);
    let bases = bases(&lines);
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut shift = 0;
    let mut blank = true;
    for (line, base) in lines.iter().zip(bases) {
        if line.text.trim().is_empty() && line.role != Role::Literal {
            // One blank line at most, none at the start of the file.
            if !blank {
                out.push_str(eol);
            }
            blank = true;
            continue;
        }
        blank = false;
        let width = width(line.text);
        let indentation = match line.role {
            Role::Literal => None,
            Role::Structure(depth) => Some(depth * STEP),
            Role::Code(depth) => Some((width + depth * STEP).saturating_sub(base)),
            Role::Continuation => Some(width.saturating_add_signed(shift)),
        };
        if let Some(indentation) = indentation {
            if line.role != Role::Continuation {
                shift = indentation.cast_signed() - width.cast_signed();
            }
            out.extend(std::iter::repeat_n(' ', indentation));
            out.push_str(line.text.trim_start());
        } else {
            out.push_str(line.text);
        }
        if line.ends_in_literal {
            out.push('\n');
            continue;
        }
        let kept = out.trim_end_matches([' ', '\t', '\r']).len();
        out.truncate(kept);
        out.push_str(eol);
    }
    let kept = out.trim_end().len();
    out.truncate(kept);
    if !out.is_empty() {
        out.push_str(eol);
    }
    out
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Begins inside a string: not touched.
    Literal,
    /// A directive, a condition or a comment between them.
    Structure(usize),
    /// Rust in a block of this depth: moves with the rest of its block.
    Code(usize),
    /// Goes on with what the line before began.
    Continuation,
}

struct Line<'s> {
    text: &'s str,
    role: Role,
    /// The `#top`, `#shared` or `#thread` block that its code is in.
    block: usize,
    ends_in_literal: bool,
}

fn lines<'s>(source: &'s Source, mask: &Mask) -> Vec<Line<'s>> {
    let text = source.text();
    let (anchors, _) = anchors(source, mask);
    let mut lines = Vec::new();
    let mut next = 0;
    let mut state = State::default();
    let mut start = 0;
    for raw in text.split_inclusive('\n') {
        let end = start + raw.len();
        let content = raw.strip_suffix('\n').unwrap_or(raw);
        let first = start + (content.len() - content.trim_start().len());
        while anchors
            .get(next)
            .is_some_and(|a| (a.span.start as usize) < first)
        {
            state.pass(anchors[next]);
            next += 1;
        }
        let here = anchors.get(next).filter(|a| a.span.start as usize == first);
        let role = match mask.is_inside(start as u32) {
            Some(Opaque::Literal) => Role::Literal,
            Some(Opaque::Comment | Opaque::Condition) => Role::Continuation,
            None => state.role(
                here.copied(),
                &mask.text[start..end - (raw.len() - content.len())],
            ),
        };
        let line_end = (start + content.len()) as u32;
        lines.push(Line {
            text: content,
            role,
            block: state.block,
            ends_in_literal: raw.len() > content.len()
                && mask.is_inside(line_end) == Some(Opaque::Literal),
        });
        start = end;
    }
    lines
}

/// What is open at a place.
#[derive(Default)]
struct State {
    stack: Vec<Directive>,
    /// Counts blocks of Rust, so that each has a number.
    block: usize,
    /// True from a directive without `#end` up to the next one.
    in_argument: bool,
}

impl State {
    fn pass(&mut self, anchor: Anchor) {
        self.in_argument = false;
        if anchor.directive == Directive::End {
            self.stack.pop();
        } else if anchor.directive.is_block() {
            self.stack.push(anchor.directive);
            if !anchor.directive.is_template() {
                self.block += 1;
            }
            self.in_argument = anchor.directive == Directive::Begin;
        } else {
            self.in_argument = true;
        }
    }

    fn role(&self, here: Option<Anchor>, masked: &str) -> Role {
        if let Some(anchor) = here
            && anchor.begins_line()
        {
            return Role::Structure(anchor.depth);
        }
        let blank = masked.trim().is_empty();
        let outer = self
            .stack
            .iter()
            .rposition(|directive| !directive.is_template());
        let depth = outer.map_or(0, |at| at + 1);
        let innermost = outer.map(|at| self.stack[at]);
        let in_template = self.stack.last().is_some_and(|d| d.is_template());
        match innermost {
            Some(Directive::Top | Directive::Shared | Directive::Thread) => Role::Code(depth),
            _ if in_template => Role::Continuation,
            // Not a directive and not a comment: the argument of one goes on.
            _ if self.in_argument && !blank => Role::Continuation,
            _ => Role::Structure(depth),
        }
    }
}

/// For every line of Rust, the least indentation in its block.
fn bases(lines: &[Line<'_>]) -> Vec<usize> {
    let mut least = std::collections::HashMap::new();
    for line in lines {
        if matches!(line.role, Role::Code(_)) && !line.text.trim().is_empty() {
            let base = least.entry(line.block).or_insert(usize::MAX);
            *base = (*base).min(width(line.text));
        }
    }
    let base = |line: &Line<'_>| least.get(&line.block).copied().unwrap_or(0);
    lines.iter().map(base).collect()
}

/// The width of a line's indentation; a tab goes to the next step.
fn width(line: &str) -> usize {
    let mut width = 0;
    for c in line.chars() {
        match c {
            '\t' => width = (width / STEP + 1) * STEP,
            c if c.is_whitespace() && c != '\r' => width += 1,
            _ => break,
        }
    }
    width
}
