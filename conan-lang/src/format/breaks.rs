//! First pass: line breaks around blocks; single spaces between the words of a
//! directive, and inside templates that stand on one line.

use std::collections::BTreeMap;
use std::ops::Range;

use super::indent::width;
use super::structure::{Anchor, anchors};
use crate::mask::{Mask, Opaque};
use crate::pieces::Directive;
use crate::source::Source;
use crate::span::Span;

pub(super) fn apply(source: &Source, mask: &Mask) -> String {
    let mut breaker = Breaker {
        text: source.text(),
        mask,
        edits: BTreeMap::new(),
    };
    let (anchors, separators) = anchors(source, mask);
    let nexts = anchors.iter().skip(1).map(|next| next.span.start as usize);
    let ends = nexts.chain(std::iter::once(source.text().len()));
    for (anchor, end) in anchors.iter().zip(ends) {
        breaker.around(*anchor, end);
    }
    breaker.templates(&anchors, &separators);
    breaker.finish()
}

struct Breaker<'s> {
    text: &'s str,
    mask: &'s Mask,
    /// Gaps by where they begin: where they end, and what they become.
    edits: BTreeMap<usize, (usize, Gap)>,
}

/// What a gap becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    Space,
    /// A line break, and the indentation of the line that follows.
    Break(usize),
}

impl Breaker<'_> {
    /// Gives a directive its line; `end` is where the next one begins.
    fn around(&mut self, anchor: Anchor, end: usize) {
        let start = anchor.span.start as usize;
        if anchor.begins_line() {
            self.break_before(start);
        }
        match anchor.directive {
            Directive::End if anchor.begins_line() => self.break_after(anchor.span.end as usize, 0),
            Directive::End => {}
            Directive::Conditions | Directive::Tick => {
                self.break_after(anchor.span.end as usize, 0);
            }
            Directive::Top | Directive::Shared | Directive::Thread => {
                let head_end = match anchor.directive {
                    Directive::Shared => self.shared_head_end(anchor.span),
                    _ => anchor.span.end as usize,
                };
                self.single_spaces(start, head_end);
                self.break_after(head_end, self.indentation_below(head_end, end));
            }
            // The constructor is Rust.
            Directive::Cut => self.single_space(anchor.span.end as usize),
            _ if anchor.directive.is_template() => {}
            _ => self.single_spaces(start, end),
        }
    }

    /// The name of a shared block belongs to its head.
    fn shared_head_end(&self, span: Span) -> usize {
        let rest = &self.mask.text[span.end as usize..];
        let name = rest.trim_start_matches([' ', '\t']);
        let name_len = name.find(|c: char| c.is_whitespace() || c == '#');
        let gap = rest.len() - name.len();
        span.end as usize + gap + name_len.unwrap_or(name.len())
    }

    /// A template on one line gets one space around each of its parts.
    fn templates(&mut self, anchors: &[Anchor], separators: &[Span]) {
        let mut open: Vec<&Anchor> = Vec::new();
        for anchor in anchors {
            if anchor.directive.is_template() {
                open.push(anchor);
            } else if anchor.closes.is_some_and(Directive::is_template) {
                let Some(head) = open.pop() else { continue };
                let (start, end) = (head.span.start as usize, anchor.span.start as usize);
                if self.text[start..end].contains('\n') {
                    continue;
                }
                self.single_space(head.span.end as usize);
                let before = self.gap_before(end);
                self.edit(before, Gap::Space);
                let first = separators.partition_point(|s| (s.start as usize) < start);
                let inside = separators[first..].iter();
                for separator in inside.take_while(|s| (s.end as usize) <= end) {
                    let before = self.gap_before(separator.start as usize);
                    self.edit(before, Gap::Space);
                    self.single_space(separator.end as usize);
                }
            }
        }
    }

    /// The least indentation of the lines below `from`, so that code which is
    /// moved to a line of its own goes where the rest of it is.
    fn indentation_below(&self, from: usize, end: usize) -> usize {
        let end = end.max(from);
        let mut at = from;
        let mut least: Option<usize> = None;
        for line in self.text[from..end].split_inclusive('\n') {
            let is_first = at == from;
            let is_blank = line.trim().is_empty();
            if !is_first && !is_blank && self.mask.is_inside(at as u32).is_none() {
                let width = width(line);
                least = Some(least.map_or(width, |least| least.min(width)));
            }
            at += line.len();
        }
        least.unwrap_or(0)
    }

    fn break_before(&mut self, at: usize) {
        let gap = self.gap_before(at);
        let begins = gap.start == 0 || self.text.as_bytes()[gap.start - 1] == b'\n';
        if !begins {
            self.edit(gap, Gap::Break(0));
        }
    }

    /// Breaks the line after `at`, behind comments that end on it.
    fn break_after(&mut self, at: usize, indentation: usize) {
        let mut gap = self.gap_after(at);
        while let Some(end) = self.comment_at(gap.end) {
            if self.text[gap.end..end].contains('\n') {
                return;
            }
            gap = self.gap_after(end);
        }
        let next = self.text[gap.end..].chars().next();
        if !matches!(next, None | Some('\n' | '\r')) {
            self.edit(gap, Gap::Break(indentation));
        }
    }

    /// One space in every gap between words on the same line.
    fn single_spaces(&mut self, start: usize, end: usize) {
        let mut at = start;
        while at < end {
            let masked = &self.mask.text[at..end];
            let Some(len) = masked.find([' ', '\t']) else {
                return;
            };
            let gap = self.gap_after(at + len);
            let is_indentation = self.text[..gap.start].ends_with('\n');
            if gap.end < end && !is_indentation {
                self.single_space(gap.start);
            }
            // A comment is blank in the mask, and no gap.
            at = self
                .comment_at(gap.end)
                .unwrap_or(gap.end)
                .max(gap.start + 1);
        }
    }

    /// One space after `at`, unless the line ends or a comment follows.
    fn single_space(&mut self, at: usize) {
        let gap = self.gap_after(at);
        let next = self.text[gap.end..].chars().next();
        let ends = matches!(next, None | Some('\n' | '\r'));
        if !ends && self.comment_at(gap.end).is_none() {
            self.edit(gap, Gap::Space);
        }
    }

    fn comment_at(&self, at: usize) -> Option<usize> {
        let (kind, span) = self.mask.parts.get(self.mask.part_from(at as u32))?;
        let is_here = *kind == Opaque::Comment && span.start as usize == at;
        is_here.then_some(span.end as usize)
    }

    fn gap_before(&self, at: usize) -> Range<usize> {
        let before = self.text[..at].trim_end_matches([' ', '\t']);
        before.len()..at
    }

    fn gap_after(&self, at: usize) -> Range<usize> {
        let rest = &self.text[at..];
        let after = rest.trim_start_matches([' ', '\t']);
        at..at + (rest.len() - after.len())
    }

    fn edit(&mut self, gap: Range<usize>, becomes: Gap) {
        // A comment may end in white space; leave what is inside it.
        if self.mask.is_inside(gap.start as u32).is_some() {
            return;
        }
        // A break wanted by one neighbour wins over a space of the other.
        let edit = self.edits.entry(gap.start).or_insert((gap.end, becomes));
        if becomes != Gap::Space && edit.1 == Gap::Space {
            *edit = (gap.end, becomes);
        }
    }

    fn finish(self) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut at = 0;
        for (start, (end, becomes)) in self.edits {
            if start < at {
                continue;
            }
            out.push_str(&self.text[at..start]);
            match becomes {
                Gap::Space => out.push(' '),
                Gap::Break(indentation) => {
                    out.push('\n');
                    out.extend(std::iter::repeat_n(' ', indentation));
                }
            }
            at = end;
        }
        out.push_str(&self.text[at..]);
        out
    }
}
