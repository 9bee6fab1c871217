//! What is no directive, or none that may stand where it does.

use super::places::{holds_rust, is_declaration, proper_place};
use super::{Builder, Content};
use crate::brackets;
use crate::diagnostic::{Code as Mistake, Diagnostic};
use crate::pieces::{Directive, Piece, thread_head_behind};
use crate::span::Span;
use crate::words::{first_line, first_word, shorten, trim};

impl Builder<'_> {
    /// A misspelled directive is read as the one that was meant, so that its
    /// `#end` finds it; one that cannot be guessed may be a block of its own.
    pub(super) fn unknown(
        &mut self,
        meant: Option<Directive>,
        span: Span,
        pieces: &[Piece],
        next: usize,
    ) -> usize {
        let word = self.source.slice(span);
        let diagnostic = Diagnostic::new(
            Mistake::UnknownDirective,
            format!("unknown directive `{}`", shorten(word)),
            span,
        );
        let Some(meant) = meant else {
            self.stranger(diagnostic.label("no directive is called so"));
            return next;
        };
        let right = meant.word();
        self.report(
            diagnostic
                .label(format!("did you mean `{right}`?"))
                .suggest(span, right),
        );
        match meant {
            Directive::End => self.end(span),
            Directive::Thread => {
                let head = thread_head_behind(self.source, self.mask, span);
                self.open_thread(&head, head.span);
            }
            _ => return self.directive(meant, span, pieces, next),
        }
        next
    }

    /// A directive that nobody knows, and that cannot be guessed.
    fn stranger(&mut self, diagnostic: Diagnostic) {
        let span = diagnostic.span;
        if self.reading.unknown_opens {
            // A stand-in; what is inside is not looked at.
            self.push(Directive::ExcMonitor, span, true, Content::Unknown);
            return self.report(diagnostic);
        }
        if let Some(frame) = self.stack.last_mut()
            && let Content::Template(separators) = &mut frame.content
            && frame.depth <= 0
        {
            // More likely than not, it was meant to part the template.
            let hash = Span::new(span.start as usize, span.start as usize + 1);
            separators.push(hash);
            let diagnostic = diagnostic.suggest(hash, "# ");
            return self.report(diagnostic.help("a separator is a `#` with a space behind it"));
        }
        // With what it seems to say.
        let rest = &self.mask.text[span.end as usize..];
        let line = &rest[..rest.find(['\n', '#']).unwrap_or(rest.len())];
        let is_whole = brackets::depth(line) == 0;
        let len = if is_whole { line.trim_end().len() } else { 0 };
        self.broken.push(span.to(Span::at(span.end as usize + len)));
        self.report(diagnostic);
    }

    /// A lone `#`. Inside brackets it is a token of Rust, as macros have them.
    pub(super) fn separator(&mut self, span: Span) {
        match self.stack.last_mut() {
            Some(frame) if matches!(frame.content, Content::Unknown) => {}
            Some(frame) if holds_rust(frame.directive) && frame.depth > 0 => {}
            Some(frame) => match &mut frame.content {
                Content::Template(separators) => separators.push(span),
                _ if holds_rust(frame.directive) => {
                    self.broken.push(span);
                    self.report(
                        Diagnostic::new(
                            Mistake::ExtraSeparator,
                            "a `#` outside any template",
                            span,
                        )
                        .label("a lone `#` parts `actual` from `expected` in a template"),
                    );
                }
                _ => self.stray(span, "expected a directive"),
            },
            None => self.stray(span, "expected a directive"),
        }
    }

    /// `##`, or more: all but the last of them.
    pub(super) fn hashes(&mut self, span: Span) {
        match self.stack.last() {
            Some(frame) if matches!(frame.content, Content::Unknown) => {}
            Some(frame) if holds_rust(frame.directive) && frame.depth > 0 => {}
            Some(frame) if holds_rust(frame.directive) => {
                self.broken.push(span);
                self.report(
                    Diagnostic::new(Mistake::ExtraSeparator, "a `#` too many", span)
                        .label("one `#` is enough"),
                );
            }
            _ => self.stray(span, "expected a directive"),
        }
    }

    pub(super) fn code(&mut self, span: Span) {
        match self.stack.last_mut() {
            Some(frame) if holds_rust(frame.directive) => {
                frame.depth += brackets::depth(&self.mask.text[span.range()]);
            }
            _ => {
                let place = first_line(self.mask, trim(self.mask, span));
                self.stray(place, "expected a directive");
            }
        }
    }

    /// Text that belongs to nothing; a run of it is one mistake.
    pub(super) fn stray(&mut self, span: Span, expected: &str) {
        let inside_misplaced = self.stack.last().is_some_and(|frame| frame.misplaced);
        if self.in_stray || inside_misplaced {
            return;
        }
        self.in_stray = true;
        let place = first_line(self.mask, span);
        self.report(
            Diagnostic::new(
                Mistake::StrayText,
                format!("`{}` belongs to nothing", shorten(self.source.slice(place))),
                place,
            )
            .label(expected)
            .help("Rust code stands in `#top`, `#shared`, `#thread` and templates only"),
        );
    }

    pub(super) fn wrong_place(&mut self, directive: Directive, span: Span, late: Option<Span>) {
        let word = directive.word();
        let diagnostic = Diagnostic::new(
            Mistake::WrongPlace,
            format!("`{word}` cannot stand here"),
            span,
        )
        .label(proper_place(directive));
        self.report(match (self.stack.last(), late) {
            (_, Some(first)) => diagnostic.related(first, "it had to come before this"),
            (Some(frame), None) => {
                let outer = frame.directive.word();
                diagnostic.related(frame.head, format!("inside this `{outer}`"))
            }
            (None, None) => diagnostic,
        });
    }

    /// Declarations come before the first sequence, and a sequence's `#shared`
    /// before its first tick; returns that if it has been there already.
    pub(super) fn comes_too_late(&self, directive: Directive) -> Option<Span> {
        match self.stack.last().map(|frame| &frame.content) {
            None if is_declaration(directive) => {
                self.script.sequences.first().map(|first| first.begin)
            }
            Some(Content::Sequence(sequence)) if directive == Directive::Shared => {
                let tick = sequence.ticks.first()?;
                Some(first_word(self.mask, tick.span))
            }
            _ => None,
        }
    }
}
