//! Second pass: every line gets its indentation.

use super::comments;
use super::structure::{Anchor, anchors};
use crate::mask::{Mask, Opaque};
use crate::pieces::Directive;
use crate::source::Source;

const STEP: usize = 4;

pub(super) fn apply(source: &Source, mask: &Mask, eol: &str) -> String {
    let text = source.text();
    let lines = lines(source, mask);
    let indentations = indentations(&lines);
    let columns = comments::columns(&lines, &indentations);
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut blank = true;
    for ((line, indentation), column) in lines.iter().zip(indentations).zip(columns) {
        if line.is_blank() {
            // One blank line at most, none at the start of the file.
            if !blank {
                out.push_str(eol);
            }
            blank = true;
            continue;
        }
        blank = false;
        out.extend(std::iter::repeat_n(' ', indentation.unwrap_or(0)));
        let (code, comment) = line.parts();
        out.push_str(if indentation.is_some() {
            code.trim_start()
        } else {
            code
        });
        out.extend(std::iter::repeat_n(' ', column));
        out.push_str(comment);
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

/// The new indentation of every line; none for what stays as it is.
fn indentations(lines: &[Line<'_>]) -> Vec<Option<usize>> {
    let mut shift = 0;
    let mut indentations = Vec::with_capacity(lines.len());
    for (line, base) in lines.iter().zip(bases(lines)) {
        let width = width(line.text);
        let indentation = match line.role {
            Role::Literal => None,
            Role::Structure(depth) => Some(depth * STEP),
            Role::Code(depth) => Some((width + depth * STEP).saturating_sub(base)),
            Role::Continuation => Some(width.saturating_add_signed(shift)),
        };
        if let Some(indentation) = indentation
            && line.role != Role::Continuation
            && !line.is_blank()
        {
            shift = indentation.cast_signed() - width.cast_signed();
        }
        indentations.push(indentation);
    }
    indentations
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

pub(super) struct Line<'s> {
    pub(super) text: &'s str,
    role: Role,
    /// The `#top`, `#shared` or `#thread` block that its code is in.
    block: usize,
    ends_in_literal: bool,
    /// Where a comment begins that ends the line, behind something else.
    pub(super) comment: Option<usize>,
}

impl<'s> Line<'s> {
    fn is_blank(&self) -> bool {
        self.role != Role::Literal && self.text.trim().is_empty()
    }

    /// What stands before the comment at the end, without the gap, and the
    /// comment.
    pub(super) fn parts(&self) -> (&'s str, &'s str) {
        match self.comment {
            Some(at) => {
                let (code, comment) = self.text.split_at(at);
                (code.trim_end_matches([' ', '\t']), comment)
            }
            None => (self.text, ""),
        }
    }
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
            comment: trailing_comment(mask, first, content.trim_end().len() + start)
                .map(|at| at - start),
        });
        start = end;
    }
    lines
}

/// The line comment at the end of a line whose text begins at `first`.
fn trailing_comment(mask: &Mask, first: usize, end: usize) -> Option<usize> {
    let last = mask
        .parts
        .partition_point(|(_, span)| (span.start as usize) < end);
    let (kind, span) = mask.parts.get(last.checked_sub(1)?)?;
    let start = span.start as usize;
    let is_trailing = *kind == Opaque::Comment && start > first && span.end as usize >= end;
    is_trailing.then_some(start)
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
pub(super) fn width(line: &str) -> usize {
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
