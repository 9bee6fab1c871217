//! First pass: line breaks around blocks, single spaces inside templates that
//! stand on one line.

use std::collections::BTreeMap;
use std::ops::Range;

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
    for anchor in &anchors {
        breaker.around(*anchor);
    }
    breaker.templates(&anchors, &separators);
    breaker.finish()
}

struct Breaker<'s> {
    text: &'s str,
    mask: &'s Mask,
    /// Gaps by where they begin: where they end, and what they become.
    edits: BTreeMap<usize, (usize, &'static str)>,
}

impl Breaker<'_> {
    fn around(&mut self, anchor: Anchor) {
        let start = anchor.span.start as usize;
        if anchor.begins_line() {
            self.break_before(start);
        }
        let head_end = match anchor.directive {
            Directive::Shared => self.shared_head_end(anchor.span),
            _ => anchor.span.end as usize,
        };
        let has_own_line = match anchor.directive {
            Directive::End => anchor.begins_line(),
            Directive::Conditions | Directive::Top | Directive::Shared | Directive::Tick => true,
            Directive::Thread => true,
            _ => false,
        };
        if has_own_line {
            self.break_after(head_end);
        } else if !anchor.directive.is_template() && anchor.directive != Directive::End {
            self.single_space(head_end);
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
                self.edit(before, " ");
                let first = separators.partition_point(|s| (s.start as usize) < start);
                let inside = separators[first..].iter();
                for separator in inside.take_while(|s| (s.end as usize) <= end) {
                    let before = self.gap_before(separator.start as usize);
                    self.edit(before, " ");
                    self.single_space(separator.end as usize);
                }
            }
        }
    }

    fn break_before(&mut self, at: usize) {
        let gap = self.gap_before(at);
        let begins = gap.start == 0 || self.text.as_bytes()[gap.start - 1] == b'\n';
        if !begins {
            self.edit(gap, "\n");
        }
    }

    /// Breaks the line after `at`, behind comments that end on it.
    fn break_after(&mut self, at: usize) {
        let mut gap = self.gap_after(at);
        while let Some(end) = self.comment_at(gap.end) {
            if self.text[gap.end..end].contains('\n') {
                return;
            }
            gap = self.gap_after(end);
        }
        let next = self.text[gap.end..].chars().next();
        if !matches!(next, None | Some('\n' | '\r')) {
            self.edit(gap, "\n");
        }
    }

    /// One space after `at`, unless the line ends or a comment follows.
    fn single_space(&mut self, at: usize) {
        let gap = self.gap_after(at);
        let next = self.text[gap.end..].chars().next();
        let ends = matches!(next, None | Some('\n' | '\r'));
        if !ends && self.comment_at(gap.end).is_none() {
            self.edit(gap, " ");
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

    fn edit(&mut self, gap: Range<usize>, replacement: &'static str) {
        // A comment may end in white space; leave what is inside it.
        if self.mask.is_inside(gap.start as u32).is_some() {
            return;
        }
        // A break wanted by one neighbour wins over a space of the other.
        let edit = self
            .edits
            .entry(gap.start)
            .or_insert((gap.end, replacement));
        if replacement == "\n" {
            *edit = (gap.end, replacement);
        }
    }

    fn finish(self) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut at = 0;
        for (start, (end, replacement)) in self.edits {
            if start < at {
                continue;
            }
            out.push_str(&self.text[at..start]);
            out.push_str(replacement);
            at = end;
        }
        out.push_str(&self.text[at..]);
        out
    }
}
