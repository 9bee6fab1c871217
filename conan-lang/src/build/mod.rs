//! From pieces to the tree, with recovery: one pass over the pieces with a
//! stack of open blocks. A block that is not closed is closed where something
//! begins that cannot be inside it, so that one slip is one error.

mod close;
mod explore;
mod lines;
mod places;
mod stray;

use crate::diagnostic::{Code as Mistake, Diagnostic, MAX_DIAGNOSTICS};
use crate::mask::Mask;
use crate::pieces::{Directive, Piece, ThreadHead, pieces};
use crate::source::Source;
use crate::span::Span;
use crate::tree::{Script, Sequence, Template, TickItem};
use crate::words::{first_line, trim, words};
use places::{exclude_each_other, is_declaration, may_stand};

/// What the pieces make.
pub(crate) struct Built {
    pub(crate) script: Script,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Parts of Rust code that are wrong as far as scripts go, and reported:
    /// in order, none inside another. No check looks at them again.
    pub(crate) broken: Vec<Span>,
}

/// Builds the tree, as much of it as there is.
pub(crate) fn build(source: &Source, mask: &Mask) -> Built {
    let pieces = pieces(source, mask);
    let unknown_opens = unknown_opens(&pieces);
    let read = |by_indentation, lines_close| {
        let reading = Reading {
            by_indentation,
            lines_close,
            unknown_opens,
        };
        Builder::new(source, mask, reading).run(&pieces)
    };
    let plain = read(false, true);
    if !plain.diagnostics.iter().any(is_structural) {
        return plain;
    }
    // Some `#end` is missing or too many. Which one, the indentation tells
    // better than the order alone; but the best reading is the one that finds
    // the fewest mistakes.
    let readings = [
        read(true, true),
        plain,
        read(true, false),
        read(false, false),
    ];
    let [mut best, others @ ..] = readings;
    for other in others {
        if other.diagnostics.len() < best.diagnostics.len() {
            best = other;
        }
    }
    best
}

/// How to read what can be read in more than one way, once something is wrong.
#[derive(Clone, Copy)]
struct Reading {
    /// An `#end` closes the block whose head stands above it.
    by_indentation: bool,
    /// A directive without an `#end` ends the blocks that it cannot be in.
    lines_close: bool,
    /// An unknown directive begins a block.
    unknown_opens: bool,
}

/// Unknown directives begin blocks if there is an `#end` for each of them.
fn unknown_opens(pieces: &[Piece]) -> bool {
    let (mut unknown, mut spare) = (0_i64, 0_i64);
    for piece in pieces {
        let directive = match piece {
            Piece::Directive(directive, _) => Some(*directive),
            Piece::Thread(..) => Some(Directive::Thread),
            Piece::Unknown(meant, _) => {
                unknown += i64::from(meant.is_none());
                *meant
            }
            _ => None,
        };
        match directive {
            Some(Directive::End) => spare += 1,
            Some(directive) if directive.is_block() => spare -= 1,
            _ => {}
        }
    }
    unknown > 0 && spare >= unknown
}

fn is_structural(diagnostic: &Diagnostic) -> bool {
    matches!(
        diagnostic.code,
        Mistake::MissingEnd | Mistake::ExtraEnd | Mistake::WrongPlace
    )
}

/// A block whose `#end` has not come yet.
struct Frame {
    directive: Directive,
    /// The directive itself; for a thread, its whole head.
    head: Span,
    /// The column of the head, if it begins its line.
    column: Option<usize>,
    /// True if it stands where it may not: it is read, and left out.
    misplaced: bool,
    /// How many brackets are open in its Rust code.
    depth: i64,
    content: Content,
}

enum Content {
    Plain,
    Sequence(Box<Sequence>),
    Tick(Vec<TickItem>),
    Thread(Box<ThreadHead>, Vec<Template>),
    /// A template, with the lone `#`s outside its brackets.
    Template(Vec<Span>),
    /// A block that nobody knows: anything may be in it.
    Unknown,
}

/// Why a block is closed without an `#end` of its own.
#[derive(Clone, Copy)]
enum Closed {
    /// The file is over.
    AtEnd,
    /// Something begins that cannot be inside it.
    By(Span),
    /// This `#end` stands below the head of an outer block.
    ByOuterEnd(Span),
}

impl Closed {
    fn place(self, mask: &Mask) -> Span {
        match self {
            Self::AtEnd => Span::at(mask.text.len()),
            Self::By(span) | Self::ByOuterEnd(span) => span,
        }
    }
}

struct Builder<'s> {
    source: &'s Source,
    mask: &'s Mask,
    reading: Reading,
    script: Script,
    stack: Vec<Frame>,
    diagnostics: Vec<Diagnostic>,
    broken: Vec<Span>,
    /// True behind text that belongs to nothing, up to the next directive.
    in_stray: bool,
}

impl<'s> Builder<'s> {
    fn new(source: &'s Source, mask: &'s Mask, reading: Reading) -> Self {
        Self {
            source,
            mask,
            reading,
            script: Script::default(),
            stack: Vec::new(),
            diagnostics: Vec::new(),
            broken: Vec::new(),
            in_stray: false,
        }
    }

    fn run(mut self, pieces: &[Piece]) -> Built {
        let mut next = 0;
        while let Some(piece) = pieces.get(next) {
            next += 1;
            self.in_stray &= !piece.is_directive();
            match piece {
                Piece::Directive(Directive::End, span) => self.end(*span),
                Piece::Directive(directive, span) => {
                    next = self.directive(*directive, *span, pieces, next);
                }
                Piece::Thread(head, span) => self.open_thread(head, *span),
                Piece::Unknown(meant, span) => next = self.unknown(*meant, *span, pieces, next),
                Piece::Separator(span) => self.separator(*span),
                Piece::Hashes(span) => self.hashes(*span),
                Piece::Code(span) => self.code(*span),
            }
        }
        self.close_down_to(0, Closed::AtEnd);
        self.broken.sort_unstable();
        let mut end = 0;
        self.broken.retain(|span| {
            let is_outside = span.start >= end;
            end = end.max(span.end);
            is_outside
        });
        Built {
            script: self.script,
            diagnostics: self.diagnostics,
            broken: self.broken,
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
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
            _ if directive.is_template() => Content::Template(Vec::new()),
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
        (trim(self.mask, argument), after)
    }

    // ---- blocks -------------------------------------------------------------

    /// Opens a block; first closes those that it cannot be inside of.
    fn open(&mut self, directive: Directive, head: Span, content: Content) {
        self.close_down_to(self.room_for(directive), Closed::By(head));
        let misplaced = self.is_misplaced(directive, head);
        self.push(directive, head, misplaced, content);
    }

    fn push(&mut self, directive: Directive, head: Span, misplaced: bool, content: Content) {
        self.stack.push(Frame {
            directive,
            head,
            column: self.line_column(head),
            misplaced,
            depth: 0,
            content,
        });
    }

    fn open_thread(&mut self, head: &ThreadHead, span: Span) {
        let content = Content::Thread(Box::new(head.clone()), Vec::new());
        self.open(Directive::Thread, span, content);
    }

    fn begin(&mut self, span: Span, argument: Span) {
        let mut names = words(self.source, self.mask, argument, false).into_iter();
        let mut stray = names.next();
        let mut name = None;
        let between = Span::new(span.end as usize, argument.start as usize);
        if !self.mask.text[between.range()].contains('\n') {
            name = stray;
            stray = names.next();
        }
        self.open(
            Directive::Begin,
            span,
            Content::Sequence(Box::new(Sequence {
                span,
                begin: span,
                name,
                test: Vec::new(),
                shared: None,
                wake_times: Vec::new(),
                stays: Vec::new(),
                explore: None,
                hot_spots: Vec::new(),
                ticks: Vec::new(),
            })),
        );
        if let Some(stray) = stray {
            let rest = Span::new(stray.span.start as usize, argument.end as usize);
            self.stray(rest, "expected a directive: a sequence's name is one word");
        }
    }

    /// How many of the open blocks a directive leaves open.
    fn room_for(&self, directive: Directive) -> usize {
        // Whatever is in an unknown block is its own affair.
        let is_unknown = |frame: &Frame| matches!(frame.content, Content::Unknown);
        let floor = self
            .stack
            .iter()
            .rposition(is_unknown)
            .map_or(0, |at| at + 1);
        let known = &self.stack[floor..];
        let excludes = |frame: &Frame| exclude_each_other(directive, frame.directive);
        let highest = known.iter().position(excludes).unwrap_or(known.len());
        // A declaration never ends a sequence: it had to come before.
        if is_declaration(directive) {
            return floor + highest;
        }
        let allows = |&depth: &usize| match depth.checked_sub(1) {
            Some(at) => may_stand(directive, Some(known[at].directive)),
            None => floor > 0 || may_stand(directive, None),
        };
        floor + (0..=highest).rev().find(allows).unwrap_or(highest)
    }

    /// Reports a directive that may not stand here. What is inside a misplaced
    /// block is misplaced with it, silently.
    fn is_misplaced(&mut self, directive: Directive, span: Span) -> bool {
        let parent = self.stack.last();
        if parent.is_some_and(|frame| frame.misplaced) {
            return true;
        }
        let fits = may_stand(directive, parent.map(|frame| frame.directive));
        let late = self.comes_too_late(directive);
        if !fits || late.is_some() {
            self.wrong_place(directive, span, late);
            return true;
        }
        false
    }

    fn end(&mut self, span: Span) {
        if self.reading.by_indentation && self.end_by_indentation(span) {
            return;
        }
        match self.stack.pop() {
            Some(frame) => self.close(frame, span, None),
            None => self.extra_end(span),
        }
    }

    /// An `#end` that stands exactly below an outer block's head closes that
    /// one: the blocks inside have lost theirs. One that is indented more than
    /// the innermost head closes nothing; then there is no more to do.
    fn end_by_indentation(&mut self, end: Span) -> bool {
        /// More blocks than this are open only if some are unknown.
        const NEAR: usize = 8;
        let Some(column) = self.line_column(end) else {
            return false;
        };
        let floor = self.stack.len().saturating_sub(NEAR);
        let below = |frame: &Frame| frame.column == Some(column);
        let Some(depth) = self.stack[floor..].iter().rposition(below) else {
            let innermost = self.stack.last().and_then(|frame| frame.column);
            let is_deeper = innermost.is_some_and(|head| head < column);
            if is_deeper {
                self.extra_end(end);
            }
            return is_deeper;
        };
        self.close_down_to(floor + depth + 1, Closed::ByOuterEnd(end));
        false
    }

    fn extra_end(&mut self, span: Span) {
        let diagnostic = Diagnostic::new(Mistake::ExtraEnd, "this `#end` closes nothing", span);
        let diagnostic = match self.stack.last() {
            None => diagnostic.label("no block is open here"),
            Some(frame) => diagnostic
                .label("it is indented more than any block that is open")
                .related(frame.head, "the innermost block, which ends further down"),
        };
        self.broken.push(span);
        self.report(diagnostic);
    }

    /// The column of what begins its line; nothing for what does not.
    fn line_column(&self, span: Span) -> Option<usize> {
        let before = &self.source.text()[..span.start as usize];
        let line = before.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
        let begins = line.is_empty() || line.ends_with('\n');
        begins.then(|| before[line.len()..].chars().count())
    }

    /// Closes every block beyond `depth` as one without its `#end`.
    fn close_down_to(&mut self, depth: usize, why: Closed) {
        while self.stack.len() > depth {
            let Some(frame) = self.stack.pop() else {
                return;
            };
            let place = why.place(self.mask);
            // That nobody knows the block has been said already.
            if !matches!(frame.content, Content::Unknown) {
                let found = match why {
                    Closed::AtEnd => "the file ends here, and the block is still open".to_owned(),
                    Closed::By(span) => {
                        let head = self.source.slice(first_line(self.mask, span));
                        format!("`{head}` begins here, and the block is still open")
                    }
                    Closed::ByOuterEnd(_) => {
                        let outer = self.stack[depth - 1].directive.word();
                        format!("this `#end` closes the `{outer}` around it")
                    }
                };
                let word = frame.directive.word();
                self.report(
                    Diagnostic::new(
                        Mistake::MissingEnd,
                        format!("this `{word}` has no `#end`"),
                        frame.head,
                    )
                    .label("this block is not closed")
                    .related(place, found),
                );
            }
            self.close(frame, Span::at(place.start as usize), Some(why));
        }
    }
}
