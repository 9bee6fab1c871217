//! What the two passes of the formatter need to know: which directive stands
//! where, how deep, and what an `#end` closes.

use crate::brackets;
use crate::mask::Mask;
use crate::pieces::{Directive, Piece, pieces};
use crate::source::Source;
use crate::span::Span;

/// A directive in its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Anchor {
    pub(super) directive: Directive,
    /// The directive; for a thread, its whole head.
    pub(super) span: Span,
    /// How many blocks it is inside of.
    pub(super) depth: usize,
    /// The block that it is directly in.
    pub(super) parent: Option<Directive>,
    /// For an `#end`: the block that it closes.
    pub(super) closes: Option<Directive>,
}

impl Anchor {
    /// True for templates and their `#end`s inside a thread: part of its code.
    pub(super) fn is_in_code(self) -> bool {
        self.parent == Some(Directive::Thread) || self.parent.is_some_and(Directive::is_template)
    }

    /// True for what begins a line of its own.
    pub(super) fn begins_line(self) -> bool {
        match self.closes {
            Some(block) => !block.is_template(),
            None => !self.is_in_code(),
        }
    }
}

/// The directives and separators of a script, in order.
pub(super) fn anchors(source: &Source, mask: &Mask) -> (Vec<Anchor>, Vec<Span>) {
    let mut anchors = Vec::new();
    let mut separators = Vec::new();
    let mut stack: Vec<(Directive, i64)> = Vec::new();
    for piece in pieces(source, mask) {
        let (directive, span) = match piece {
            Piece::Directive(directive, span) => (directive, span),
            Piece::Thread(_, span) => (Directive::Thread, span),
            Piece::Separator(span) => {
                if stack
                    .last()
                    .is_some_and(|(d, depth)| d.is_template() && *depth <= 0)
                {
                    separators.push(span);
                }
                continue;
            }
            Piece::Code(span) => {
                if let Some((_, depth)) = stack.last_mut() {
                    *depth += brackets::depth(&mask.text[span.range()]);
                }
                continue;
            }
            Piece::Unknown(..) | Piece::Hashes(_) => continue,
        };
        let closes = match directive {
            Directive::End => stack.pop().map(|(directive, _)| directive),
            _ => None,
        };
        anchors.push(Anchor {
            directive,
            span,
            depth: stack.len(),
            parent: stack.last().map(|(directive, _)| *directive),
            closes,
        });
        if directive.is_block() {
            stack.push((directive, 0));
        }
    }
    (anchors, separators)
}
