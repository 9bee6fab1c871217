//! From pieces to the tree, with recovery: one pass over the pieces with a
//! stack of open blocks. A block that is not closed is closed where something
//! begins that cannot be inside it, so that one slip is one error.

use crate::cut;
use crate::diagnostic::{Code as Mistake, Diagnostic};
use crate::mask::{Mask, Opaque};
use crate::nearest::nearest_directive;
use crate::pieces::{Directive, Piece, ThreadHead, pieces, thread_head_at};
use crate::shared;
use crate::source::Source;
use crate::span::{Name, Span, Spanned};
use crate::template::Parts;
use crate::tree::{
    Code, Condition, Conditions, Fragment, Script, Sequence, Template, ThreadBlock, Tick, TickItem,
    Top, WakeTimes,
};
use crate::words::{first_line, trim, words};

/// Builds the tree, as much of it as there is.
pub(crate) fn build(source: &Source, mask: &Mask) -> (Script, Vec<Diagnostic>) {
    let pieces = pieces(&mask.text);
    let plain = Builder::new(source, mask, false).run(&pieces);
    let lost_count = |diagnostics: &[Diagnostic]| {
        let is_end = |d: &&Diagnostic| matches!(d.code, Mistake::MissingEnd | Mistake::ExtraEnd);
        diagnostics.iter().filter(is_end).count()
    };
    if lost_count(&plain.1) == 0 {
        return plain;
    }
    // Some `#end` is missing or too many. Which one, the indentation tells
    // better than the order alone; believe it if that explains no less.
    let indented = Builder::new(source, mask, true).run(&pieces);
    let hinted = lost_count(&indented.1);
    if 0 < hinted && hinted <= lost_count(&plain.1) {
        indented
    } else {
        plain
    }
}

/// A block whose `#end` has not come yet.
struct Frame {
    directive: Directive,
    /// The directive itself; for a thread, its whole head.
    head: Span,
    /// True if it stands where it may not: it is read, and left out.
    misplaced: bool,
    content: Content,
}

enum Content {
    Plain,
    Sequence(Sequence),
    Tick(Vec<TickItem>),
    Thread(ThreadHead, Vec<Template>),
    Template { depth: i64, separators: Vec<Span> },
}

struct Builder<'s> {
    source: &'s Source,
    mask: &'s Mask,
    by_indentation: bool,
    script: Script,
    stack: Vec<Frame>,
    diagnostics: Vec<Diagnostic>,
}

impl<'s> Builder<'s> {
    fn new(source: &'s Source, mask: &'s Mask, by_indentation: bool) -> Self {
        Self {
            source,
            mask,
            by_indentation,
            script: Script::default(),
            stack: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    fn run(mut self, pieces: &[Piece]) -> (Script, Vec<Diagnostic>) {
        let mut next = 0;
        while let Some(piece) = pieces.get(next) {
            next += 1;
            match piece {
                Piece::Directive(Directive::End, span) => self.end(*span),
                Piece::Directive(directive, span) => {
                    next = self.directive(*directive, *span, pieces, next);
                }
                Piece::Thread(head, span) => self.open_thread(head.clone(), *span),
                Piece::Unknown(span) => next = self.unknown(*span, pieces, next),
                Piece::Separator(span) => self.separator(*span),
                Piece::Open(span) => self.bracket(*span, 1),
                Piece::Close(span) => self.bracket(*span, -1),
                Piece::Code(span) => self.code(*span),
            }
        }
        let file_end = Span::at(self.source.text().len());
        self.close_down_to(0, file_end);
        (self.script, self.diagnostics)
    }

    fn directive(
        &mut self,
        directive: Directive,
        span: Span,
        pieces: &[Piece],
        next: usize,
    ) -> usize {
        let content = match directive {
            Directive::Top | Directive::Conditions | Directive::Shared => Content::Plain,
            Directive::Tick => Content::Tick(Vec::new()),
            _ if directive.is_template() => Content::Template {
                depth: 0,
                separators: Vec::new(),
            },
            _ => {
                let (argument, after) = self.argument(span, pieces, next);
                match directive {
                    Directive::Begin => self.begin(span, argument),
                    _ => self.line(directive, span, argument),
                }
                return after;
            }
        };
        self.open(directive, span, content);
        next
    }

    /// What a directive says: everything up to the next one.
    fn argument(&self, span: Span, pieces: &[Piece], next: usize) -> (Span, usize) {
        let rest = &pieces[next..];
        let len = rest.iter().position(Piece::is_directive);
        let after = len.map_or(pieces.len(), |len| next + len);
        let end = pieces.get(after).map(|piece| piece.span().start as usize);
        let end = end.unwrap_or(self.mask.text.len());
        let argument = Span::new(span.end as usize, end);
        (trim(&self.mask.text, argument), after)
    }

    // ---- blocks -------------------------------------------------------------

    /// Opens a block; first closes those that it cannot be inside of.
    fn open(&mut self, directive: Directive, head: Span, content: Content) {
        let allowing = (0..=self.stack.len())
            .rev()
            .find(|&depth| may_stand(directive, self.parent_at(depth)));
        let mut misplaced = match allowing {
            Some(depth) => {
                self.close_down_to(depth, head);
                false
            }
            None => true,
        };
        misplaced |= self.comes_too_late(directive);
        if misplaced {
            self.wrong_place(directive, head);
        }
        // What is inside a misplaced block is misplaced with it, silently.
        misplaced |= self.stack.last().is_some_and(|frame| frame.misplaced);
        self.stack.push(Frame {
            directive,
            head,
            misplaced,
            content,
        });
    }

    fn open_thread(&mut self, head: ThreadHead, span: Span) {
        let content = Content::Thread(head, Vec::new());
        self.open(Directive::Thread, span, content);
    }

    fn begin(&mut self, span: Span, argument: Span) {
        let mut names = words(&self.mask.text, argument, false).into_iter();
        let name = names.next();
        if let Some(second) = names.next() {
            let rest = Span::new(second.span.start as usize, argument.end as usize);
            self.stray(rest, "a sequence's name is one word");
        }
        let sequence = Sequence {
            span,
            begin: span,
            name,
            test: Vec::new(),
            shared: None,
            wake_times: Vec::new(),
            stays: Vec::new(),
            ticks: Vec::new(),
        };
        self.open(Directive::Begin, span, Content::Sequence(sequence));
    }

    fn end(&mut self, span: Span) {
        if self.by_indentation {
            self.close_by_indentation(span);
        }
        match self.stack.pop() {
            Some(frame) => self.close(frame, span),
            None => self.diagnostics.push(
                Diagnostic::new(Mistake::ExtraEnd, "this `#end` closes nothing", span)
                    .label("no block is open here"),
            ),
        }
    }

    /// An `#end` that stands exactly below an outer block's head closes that
    /// one: the blocks inside have lost theirs.
    fn close_by_indentation(&mut self, end: Span) {
        let Some(column) = self.line_column(end) else {
            return;
        };
        let below = |frame: &Frame| self.line_column(frame.head) == Some(column);
        let Some(depth) = self.stack.iter().rposition(below) else {
            return;
        };
        self.close_down_to(depth + 1, end);
    }

    /// The column of what begins its line; nothing for what does not.
    fn line_column(&self, span: Span) -> Option<usize> {
        let position = self.source.position(span.start);
        let line = self.source.line_start(position.line) as usize;
        let before = &self.source.text()[line..span.start as usize];
        before.trim().is_empty().then_some(position.column)
    }

    /// Closes every block beyond `depth` as one without its `#end`.
    fn close_down_to(&mut self, depth: usize, at: Span) {
        while self.stack.len() > depth {
            let Some(frame) = self.stack.pop() else {
                return;
            };
            let word = frame.directive.word();
            let found = if at.is_empty() {
                "the file ends here".to_owned()
            } else {
                format!("`{}` begins here", self.source.slice(first_line(&self.mask.text, at)))
            };
            self.diagnostics.push(
                Diagnostic::new(
                    Mistake::MissingEnd,
                    format!("this `{word}` has no `#end`"),
                    frame.head,
                )
                .label("this block is not closed")
                .related(at, format!("{found}, and the block is still open")),
            );
            self.close(frame, Span::at(at.start as usize));
        }
    }

    fn close(&mut self, frame: Frame, end: Span) {
        let span = frame.head.to(end);
        let body = Span::new(frame.head.end as usize, end.start as usize);
        let body = trim(&self.mask.text, body);
        let misplaced = frame.misplaced;
        match frame.content {
            Content::Plain => self.close_plain(frame.directive, frame.head, body, span, misplaced),
            Content::Sequence(sequence) if !misplaced => {
                self.script.sequences.push(Sequence { span, ..sequence });
            }
            Content::Tick(items) if !misplaced => {
                if let Some(sequence) = self.sequence() {
                    sequence.ticks.push(Tick { span, items });
                }
            }
            Content::Thread(head, templates) => {
                let block = self.thread_block(head, frame.head, body, span, templates);
                if !misplaced {
                    self.push_item(TickItem::Thread(block));
                }
            }
            Content::Template { separators, .. } => {
                let parts = Parts {
                    directive: frame.directive,
                    head: frame.head,
                    body,
                    separators: &separators,
                    span,
                };
                let kind = parts.kind(self.source, self.mask, &mut self.diagnostics);
                if let Some(kind) = kind {
                    self.push_template(Template { span, kind });
                }
            }
            Content::Sequence(_) | Content::Tick(_) => {}
        }
    }

    fn close_plain(
        &mut self,
        directive: Directive,
        head: Span,
        body: Span,
        span: Span,
        misplaced: bool,
    ) {
        match directive {
            Directive::Conditions => self.conditions(head, span, misplaced),
            Directive::Top if !misplaced => self.script.tops.push(Top {
                span,
                items: Fragment { span: body },
            }),
            Directive::Shared => {
                let Some(block) =
                    shared::parse(self.source, self.mask, head, body, span, &mut self.diagnostics)
                else {
                    return;
                };
                if misplaced {
                    return;
                }
                let place = match self.stack.last_mut().map(|frame| &mut frame.content) {
                    Some(Content::Sequence(sequence)) => &mut sequence.shared,
                    _ => &mut self.script.shared,
                };
                if let Some(first) = place {
                    let first = first.id.span;
                    self.diagnostics.push(
                        Diagnostic::new(
                            Mistake::DuplicateShared,
                            "a second `#shared` block",
                            block.id.span,
                        )
                        .label("there is one already")
                        .related(first, "the first one")
                        .help("put all fields and methods into one block"),
                    );
                } else {
                    *place = Some(block);
                }
            }
            _ => {}
        }
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
                self.diagnostics.push(
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
        let text = &self.mask.text[body.range()];
        if head.id.is_none() && text.starts_with('<') && !text.contains(">::") {
            self.diagnostics.push(
                Diagnostic::new(
                    Mistake::BadHead,
                    "this thread's name is not finished or not a name",
                    first_line(&self.mask.text, body),
                )
                .label("expected `<name>`")
                .help("a name is made of letters, digits and `_`: `#thread <producer>`"),
            );
        }
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

    /// The lines of a `#conditions` block: the mask has found them.
    fn conditions(&mut self, head: Span, span: Span, misplaced: bool) {
        let first = self.mask.part_from(span.start);
        let parts = self.mask.parts[first..].iter();
        let inside = parts.take_while(|(_, part)| part.start < span.end);
        let items = inside.filter(|(kind, _)| *kind == Opaque::Condition);
        let items: Vec<Condition> = items.map(|(_, part)| self.condition(*part)).collect();
        if misplaced {
            return;
        }
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

    // ---- directives without an `#end` ----------------------------------------

    fn line(&mut self, directive: Directive, span: Span, argument: Span) {
        let parent = self.parent_at(self.stack.len());
        if !may_stand(directive, parent) || self.comes_too_late(directive) {
            return self.wrong_place(directive, span);
        }
        if self.stack.last().is_some_and(|frame| frame.misplaced) {
            return;
        }
        if argument.is_empty() {
            let needs = match directive {
                Directive::Ticktime => "a length in milliseconds",
                Directive::Cut => "a name and a constructor: `#cut m Component::new()`",
                Directive::Test => "the conditions that the sequence exercises",
                Directive::WakeTimes => "a name and times: `#wakeTimes w 3 4 4`",
                _ => "the names of threads",
            };
            let message = format!("`{}` says nothing", directive.word());
            let diagnostic = Diagnostic::new(Mistake::BadHead, message, span);
            self.diagnostics.push(diagnostic.label(format!("expected {needs}")));
            return;
        }
        let names = || words(&self.mask.text, argument, true).into_iter().map(bare);
        match directive {
            Directive::Ticktime => self.ticktime(span, argument),
            Directive::Cut => {
                let cut = cut::parse(self.source, self.mask, span, argument);
                match cut {
                    Ok(cut) => self.script.cuts.push(cut),
                    Err(diagnostic) => self.diagnostics.push(diagnostic),
                }
            }
            Directive::WakeTimes => self.wake_times(span, argument),
            Directive::Suspended => {
                let item = TickItem::Suspended(names().collect(), span.to(argument));
                self.push_item(item);
            }
            Directive::Finished => {
                let item = TickItem::Finished(names().collect(), span.to(argument));
                self.push_item(item);
            }
            Directive::Test => {
                let names: Vec<Name> = names().collect();
                if let Some(sequence) = self.sequence() {
                    sequence.test.extend(names);
                }
            }
            Directive::Stays => {
                let names: Vec<Name> = names().collect();
                if let Some(sequence) = self.sequence() {
                    sequence.stays.extend(names);
                }
            }
            _ => {}
        }
    }

    fn ticktime(&mut self, span: Span, argument: Span) {
        let text = self.source.slice(argument);
        let Some(value) = number(text).filter(|&n| n > 0) else {
            self.diagnostics.push(
                Diagnostic::new(
                    Mistake::BadTicktime,
                    format!("`{}` is not the length of a tick", shorten(text)),
                    argument,
                )
                .label("expected a positive whole number of milliseconds"),
            );
            return;
        };
        let whole = span.to(argument);
        if let Some(first) = &self.script.ticktime {
            self.diagnostics.push(
                Diagnostic::new(Mistake::DuplicateTicktime, "a second `#ticktime`", whole)
                    .label("all ticks of a script have one length")
                    .related(first.span, "the first one"),
            );
            return;
        }
        self.script.ticktime = Some(Spanned::new(value, whole));
    }

    fn wake_times(&mut self, span: Span, argument: Span) {
        let mut names = words(&self.mask.text, argument, true).into_iter();
        let Some(name) = names.next() else { return };
        let mut times = Vec::new();
        for word in names {
            match number(&word.value) {
                Some(time) => times.push(Spanned::new(time, word.span)),
                None => self.diagnostics.push(
                    Diagnostic::new(
                        Mistake::BadWakeTimes,
                        format!("`{}` is not a time", word.value),
                        word.span,
                    )
                    .label("expected the number of a tick"),
                ),
            }
        }
        if times.is_empty() {
            self.diagnostics.push(
                Diagnostic::new(
                    Mistake::BadWakeTimes,
                    format!("the list `{}` has no times", name.value),
                    span.to(argument),
                )
                .label("expected times after the name, as in `#wakeTimes w 3 4 4`"),
            );
        }
        let span = span.to(argument);
        if let Some(sequence) = self.sequence() {
            sequence.wake_times.push(WakeTimes { span, name, times });
        }
    }

    // ---- the rest -----------------------------------------------------------

    fn unknown(&mut self, span: Span, pieces: &[Piece], next: usize) -> usize {
        let word = self.source.slice(span);
        let diagnostic = Diagnostic::new(
            Mistake::UnknownDirective,
            format!("unknown directive `{word}`"),
            span,
        );
        let Some(meant) = nearest_directive(word) else {
            self.diagnostics.push(diagnostic.label("no directive is called so"));
            return next;
        };
        let right = meant.word();
        self.diagnostics.push(
            diagnostic
                .label(format!("did you mean `{right}`?"))
                .suggest(span, right),
        );
        // Go on as if it were spelled right, so that its `#end` finds it.
        match meant {
            Directive::End => self.end(span),
            Directive::Thread => {
                let (head, end) = thread_head_at(&self.mask.text, span.end as usize);
                self.open_thread(head, Span::new(span.start as usize, end));
            }
            _ => return self.directive(meant, span, pieces, next),
        }
        next
    }

    fn separator(&mut self, span: Span) {
        match self.stack.last_mut() {
            Some(Frame {
                content: Content::Template { depth, separators },
                ..
            }) => {
                if *depth == 0 {
                    separators.push(span);
                }
            }
            Some(frame) if holds_rust(frame.directive) => self.diagnostics.push(
                Diagnostic::new(Mistake::ExtraSeparator, "a `#` outside any template", span)
                    .label("a lone `#` parts `actual` from `expected` in a template"),
            ),
            _ => self.stray(span, "expected a directive"),
        }
    }

    fn bracket(&mut self, span: Span, step: i64) {
        match self.stack.last_mut() {
            Some(Frame {
                content: Content::Template { depth, .. },
                ..
            }) => *depth += step,
            Some(frame) if holds_rust(frame.directive) => {}
            _ => self.stray(span, "expected a directive"),
        }
    }

    fn code(&mut self, span: Span) {
        match self.stack.last() {
            Some(frame) if holds_rust(frame.directive) => {}
            _ => {
                let place = first_line(&self.mask.text, trim(&self.mask.text, span));
                self.stray(place, "expected a directive");
            }
        }
    }

    /// Text that belongs to nothing; a run of it is one mistake.
    fn stray(&mut self, span: Span, expected: &str) {
        if let Some(last) = self.diagnostics.last_mut() {
            let between = Span::new(last.span.end as usize, span.start as usize);
            if last.code == Mistake::StrayText
                && last.span.end <= span.start
                && !self.mask.text[between.range()].contains('#')
            {
                return;
            }
        }
        self.diagnostics.push(
            Diagnostic::new(
                Mistake::StrayText,
                format!("`{}` belongs to nothing", shorten(self.source.slice(span))),
                span,
            )
            .label(expected)
            .help("Rust code stands in `#top`, `#shared`, `#thread` and templates only"),
        );
    }

    fn wrong_place(&mut self, directive: Directive, span: Span) {
        let word = directive.word();
        let place = proper_place(directive);
        let diagnostic = Diagnostic::new(
            Mistake::WrongPlace,
            format!("`{word}` cannot stand here"),
            span,
        )
        .label(place);
        let diagnostic = match self.stack.last() {
            Some(frame) => {
                let outer = frame.directive.word();
                diagnostic.related(frame.head, format!("inside this `{outer}`"))
            }
            None => diagnostic,
        };
        self.diagnostics.push(diagnostic);
    }

    /// Global directives come before the first sequence, and a sequence's
    /// `#shared` before its first tick.
    fn comes_too_late(&self, directive: Directive) -> bool {
        match self.stack.last() {
            None => {
                directive != Directive::Begin
                    && may_stand(directive, None)
                    && !self.script.sequences.is_empty()
            }
            Some(frame) => {
                let ticked = matches!(&frame.content, Content::Sequence(s) if !s.ticks.is_empty());
                directive == Directive::Shared && ticked
            }
        }
    }

    fn parent_at(&self, depth: usize) -> Option<Directive> {
        depth.checked_sub(1).map(|at| self.stack[at].directive)
    }

    fn sequence(&mut self) -> Option<&mut Sequence> {
        match self.stack.last_mut().map(|frame| &mut frame.content) {
            Some(Content::Sequence(sequence)) => Some(sequence),
            _ => None,
        }
    }

    fn push_item(&mut self, item: TickItem) {
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

/// Whether a directive may stand in a block (`None`: outside every block).
fn may_stand(directive: Directive, parent: Option<Directive>) -> bool {
    match directive {
        Directive::Ticktime
        | Directive::Cut
        | Directive::Conditions
        | Directive::Top
        | Directive::Begin => parent.is_none(),
        Directive::Shared => matches!(parent, None | Some(Directive::Begin)),
        Directive::Test | Directive::Stays | Directive::WakeTimes | Directive::Tick => {
            parent == Some(Directive::Begin)
        }
        Directive::Suspended | Directive::Finished | Directive::Thread => {
            parent == Some(Directive::Tick)
        }
        Directive::ExcMonitor
        | Directive::ValueCheck
        | Directive::MatchCheck
        | Directive::WakeCheck => matches!(parent, Some(Directive::Thread | Directive::Tick)),
        Directive::End => true,
    }
}

fn proper_place(directive: Directive) -> &'static str {
    match directive {
        Directive::Shared => "it stands before the sequences, or at the start of one",
        Directive::Begin => "a sequence stands outside every other block",
        Directive::Test | Directive::Stays | Directive::WakeTimes | Directive::Tick => {
            "it stands directly in a `#begin` block"
        }
        Directive::Suspended | Directive::Finished | Directive::Thread => {
            "it stands directly in a `#tick` block"
        }
        _ if directive.is_template() => "it stands in a `#thread` or a `#tick` block",
        _ => "it stands before the first sequence, outside every block",
    }
}

/// Blocks whose content is Rust.
fn holds_rust(directive: Directive) -> bool {
    directive.is_template()
        || matches!(
            directive,
            Directive::Top | Directive::Shared | Directive::Thread
        )
}

/// A whole number as Rust writes it, `1_000` too.
fn number(text: &str) -> Option<u64> {
    let digits = text.replace('_', "");
    let plain = text.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok())?
}

/// `<name>` is a way to write `name`.
fn bare(mut name: Name) -> Name {
    if let Some(inner) = name.value.strip_prefix('<').and_then(|n| n.strip_suffix('>')) {
        let span = name.span;
        name = Spanned::new(
            inner.to_owned(),
            Span::new(span.start as usize + 1, span.end as usize - 1),
        );
    }
    name
}

/// At most the first line and 40 characters of a text.
fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim_end();
    if line.chars().count() <= 40 && line.len() == text.trim_end().len() {
        return line.to_owned();
    }
    let start: String = line.chars().take(40).collect();
    format!("{start}…")
}
