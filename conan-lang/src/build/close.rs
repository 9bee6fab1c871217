//! A block is closed: what it has become goes into the tree.

use super::{Builder, Closed, Content, Frame};
use crate::diagnostic::{Code as Mistake, Diagnostic};
use crate::keywords::is_keyword;
use crate::mask::Opaque;
use crate::pieces::{Directive, ThreadHead};
use crate::shared;
use crate::span::{Span, Spanned};
use crate::template::Parts;
use crate::tree::{
    Code, Condition, Conditions, Fragment, Sequence, Shared, Template, ThreadBlock, Tick, TickItem,
    Top,
};
use crate::words::{number, trim, trim_items};

impl Builder<'_> {
    /// Closes a block with the `#end` at `end`, or without one.
    pub(super) fn close(&mut self, frame: Frame, end: Span, without: Option<Closed>) {
        let body = Span::new(frame.head.end as usize, end.start as usize);
        let body = trim(self.mask, body);
        let span = frame.head.to(if without.is_some() { body } else { end });
        let misplaced = frame.misplaced;
        if misplaced {
            self.broken.push(span);
        }
        match frame.content {
            Content::Plain => self.close_plain(&frame, body, end, span),
            Content::Sequence(sequence) if !misplaced => {
                self.script.sequences.push(Sequence { span, ..*sequence });
            }
            Content::Tick(items) if !misplaced => {
                if let Some(sequence) = self.sequence() {
                    sequence.ticks.push(Tick { span, items });
                }
            }
            Content::Thread(head, templates) => {
                let block = self.thread_block(*head, frame.head, body, span, templates);
                if !misplaced {
                    self.push_item(TickItem::Thread(block));
                }
            }
            Content::Template(separators) => {
                let parts = Parts {
                    directive: frame.directive,
                    head: frame.head,
                    body,
                    separators: &separators,
                    is_balanced: frame.depth == 0,
                    span,
                };
                self.close_template(&parts, without.is_some());
            }
            Content::Sequence(_) | Content::Tick(_) | Content::Unknown => {}
        }
    }

    /// A template without its `#end` may have swallowed code that follows it,
    /// a literal without its end the separator: then nothing is said about it.
    fn close_template(&mut self, parts: &Parts<'_>, without_end: bool) {
        let mut found = Vec::new();
        let kind = parts.kind(self.source, self.mask, &mut found);
        let span = parts.span;
        let is_clear = !without_end && self.mask.is_readable(span);
        if !is_clear || kind.is_none() {
            self.broken.push(span);
        }
        if is_clear {
            for diagnostic in found {
                self.report(diagnostic);
            }
        }
        if let Some(kind) = kind {
            self.push_template(Template { span, kind });
        }
    }

    fn close_plain(&mut self, frame: &Frame, body: Span, end: Span, span: Span) {
        let (head, misplaced) = (frame.head, frame.misplaced);
        match frame.directive {
            Directive::Conditions if !misplaced => self.conditions(head, end, span),
            Directive::Top if !misplaced => {
                let inside = Span::new(head.end as usize, body.end as usize);
                let items = trim_items(self.source, self.mask, inside);
                let items = Fragment { span: items };
                self.script.tops.push(Top { span, items });
            }
            Directive::Shared => {
                let mut found = Vec::new();
                let block = shared::parse(self.source, self.mask, head, body, span, &mut found);
                // Broken parts of the body have come last.
                let is_broken = self
                    .broken
                    .last()
                    .is_some_and(|part| part.start >= body.start);
                if !misplaced && !is_broken && self.mask.is_readable(body) {
                    for diagnostic in found {
                        self.report(diagnostic);
                    }
                }
                if let Some(block) = block.filter(|_| !misplaced) {
                    self.push_shared(block);
                }
            }
            _ => {}
        }
    }

    fn push_shared(&mut self, block: Shared) {
        let place = match self.stack.last_mut().map(|frame| &mut frame.content) {
            Some(Content::Sequence(sequence)) => &mut sequence.shared,
            _ => &mut self.script.shared,
        };
        let Some(first) = place else {
            *place = Some(block);
            return;
        };
        let first = first.id.span;
        self.report(
            Diagnostic::new(
                Mistake::DuplicateShared,
                "a second `#shared` block",
                block.id.span,
            )
            .label("there is one already")
            .related(first, "the first one")
            .help("put all fields and methods into one block"),
        );
    }

    fn thread_block(
        &mut self,
        head: ThreadHead,
        head_span: Span,
        body: Span,
        span: Span,
        templates: Vec<Template>,
    ) -> ThreadBlock {
        let replicas = head.replicas.and_then(|count| {
            let parsed = number(&count.value).filter(|&n| n > 0);
            if parsed.is_none() {
                self.report(
                    Diagnostic::new(
                        Mistake::BadHead,
                        format!("`{}` is not a number of threads", count.value),
                        count.span,
                    )
                    .label("expected a positive whole number, as in `x 10`"),
                );
            }
            Some(Spanned::new(parsed?, count.span))
        });
        self.rest_of_head(head.id.is_some(), head_span, body);
        ThreadBlock {
            span,
            head: head_span,
            id: head.id,
            replicas,
            takes: head.takes,
            clones: head.clones,
            code: Code {
                span: body,
                templates,
            },
        }
    }

    /// Finds what was meant to belong to a thread's head, but does not.
    fn rest_of_head(&mut self, has_id: bool, head: Span, body: Span) {
        let text = &self.mask.text[head.end as usize..body.end as usize];
        let line_len = text.find(['\n', '#']).unwrap_or(text.len());
        let ends_line = text[line_len..].starts_with('\n');
        let from = head.end as usize;
        let rest = trim(self.mask, Span::new(from, from + line_len));
        let text = &self.mask.text[rest.range()];
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = text.split(|c| !is_word(c)).next().unwrap_or_default();
        let is_one_word = word.len() == text.len();
        let start = rest.start as usize;
        if !has_id && text.starts_with('<') && !text.contains(">::") {
            let end = text
                .find('>')
                .map_or(rest.end as usize, |len| start + len + 1);
            let place = Span::new(start, end);
            self.broken.push(place);
            self.report(
                Diagnostic::new(
                    Mistake::BadHead,
                    "this thread's name is not finished or not a name",
                    place,
                )
                .label("expected `<name>`")
                .help("a name is made of letters, digits and `_`: `#thread <producer>`"),
            );
        } else if matches!(word, "takes" | "clones" | "take" | "clone")
            && !text[word.len()..]
                .trim_start()
                .starts_with(['(', '.', ':', '='])
        {
            self.broken.push(rest);
            self.report(
                Diagnostic::new(
                    Mistake::BadHead,
                    format!("`{word}` does not say which components"),
                    rest,
                )
                .label("expected names of components, as in `takes tx` or `clones tx, rx`"),
            );
        } else if is_one_word && ends_line && !word.is_empty() && !is_keyword(word) {
            let word = self.source.slice(rest);
            let diagnostic = if has_id {
                let message = format!("`{word}` is no part of a thread's head");
                Diagnostic::new(Mistake::BadHead, message, rest)
                    .label("expected `x 10`, `takes tx`, `clones tx` or the end of the line")
            } else {
                let message = "a thread's name stands in angle brackets";
                Diagnostic::new(Mistake::BadHead, message, rest)
                    .label("this would be Rust code")
                    .suggest(rest, format!("<{word}>"))
            };
            self.broken.push(rest);
            self.report(diagnostic);
        }
    }

    /// The lines of a `#conditions` block: the mask has found them.
    fn conditions(&mut self, head: Span, end: Span, span: Span) {
        let first = self.mask.part_from(head.start);
        let parts = self.mask.parts[first..].iter();
        let inside = parts.take_while(|(_, part)| part.start < end.start);
        let items = inside.filter(|(kind, _)| *kind == Opaque::Condition);
        let items: Vec<Condition> = items.map(|(_, part)| self.condition(*part)).collect();
        match &mut self.script.conditions {
            Some(conditions) => conditions.items.extend(items),
            none => *none = Some(Conditions { span, head, items }),
        }
    }

    fn condition(&self, part: Span) -> Condition {
        let text = self.source.slice(part);
        let id_len = text.find(char::is_whitespace).unwrap_or(text.len());
        let start = part.start as usize;
        let rest = text[id_len..].trim_start();
        let rest_start = part.end as usize - rest.len();
        Condition {
            id: Spanned::new(text[..id_len].to_owned(), Span::new(start, start + id_len)),
            text: Spanned::new(rest.to_owned(), Span::new(rest_start, part.end as usize)),
        }
    }

    pub(super) fn sequence(&mut self) -> Option<&mut Sequence> {
        match self.stack.last_mut().map(|frame| &mut frame.content) {
            Some(Content::Sequence(sequence)) => Some(sequence),
            _ => None,
        }
    }

    pub(super) fn push_item(&mut self, item: TickItem) {
        if let Some(Content::Tick(items)) = self.stack.last_mut().map(|frame| &mut frame.content) {
            items.push(item);
        }
    }

    fn push_template(&mut self, template: Template) {
        match self.stack.last_mut().map(|frame| &mut frame.content) {
            Some(Content::Thread(_, templates)) => templates.push(template),
            Some(Content::Tick(items)) => items.push(TickItem::Template(template)),
            _ => {}
        }
    }
}
