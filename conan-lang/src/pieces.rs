//! From the grammar's parse to a flat list of pieces.

use pest::Parser;
use pest::iterators::{Pair, Pairs};
use pest_derive::Parser;

use crate::mask::Mask;
use crate::source::Source;
use crate::span::{Name, Span, Spanned};

mod grammar {
    use super::Parser;

    #[derive(Parser)]
    #[grammar = "grammar.pest"]
    pub(super) struct Grammar;
}
use grammar::{Grammar, Rule};

/// Every directive of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Directive {
    /// `#ticktime`
    Ticktime,
    /// `#cut`
    Cut,
    /// `#conditions`
    Conditions,
    /// `#top`
    Top,
    /// `#shared`
    Shared,
    /// `#begin`
    Begin,
    /// `#test`
    Test,
    /// `#stays`
    Stays,
    /// `#wakeTimes`
    WakeTimes,
    /// `#tick`
    Tick,
    /// `#suspended`
    Suspended,
    /// `#finished`
    Finished,
    /// `#thread`
    Thread,
    /// `#excMonitor`
    ExcMonitor,
    /// `#valueCheck`
    ValueCheck,
    /// `#matchCheck`
    MatchCheck,
    /// `#wakeCheck`
    WakeCheck,
    /// `#end`
    End,
}

impl Directive {
    /// All of them, in the order in which a script may use them.
    pub const ALL: [Self; 18] = [
        Self::Ticktime,
        Self::Cut,
        Self::Conditions,
        Self::Top,
        Self::Shared,
        Self::Begin,
        Self::Test,
        Self::Stays,
        Self::WakeTimes,
        Self::Tick,
        Self::Suspended,
        Self::Finished,
        Self::Thread,
        Self::ExcMonitor,
        Self::ValueCheck,
        Self::MatchCheck,
        Self::WakeCheck,
        Self::End,
    ];

    /// The word as a script spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ticktime => "#ticktime",
            Self::Cut => "#cut",
            Self::Conditions => "#conditions",
            Self::Top => "#top",
            Self::Shared => "#shared",
            Self::Begin => "#begin",
            Self::Test => "#test",
            Self::Stays => "#stays",
            Self::WakeTimes => "#wakeTimes",
            Self::Tick => "#tick",
            Self::Suspended => "#suspended",
            Self::Finished => "#finished",
            Self::Thread => "#thread",
            Self::ExcMonitor => "#excMonitor",
            Self::ValueCheck => "#valueCheck",
            Self::MatchCheck => "#matchCheck",
            Self::WakeCheck => "#wakeCheck",
            Self::End => "#end",
        }
    }

    /// True for the templates: what counts as a test case when it runs.
    pub fn is_template(self) -> bool {
        matches!(
            self,
            Self::ExcMonitor | Self::ValueCheck | Self::MatchCheck | Self::WakeCheck
        )
    }

    /// True if an `#end` belongs to it.
    pub fn is_block(self) -> bool {
        self.is_template()
            || matches!(
                self,
                Self::Conditions
                    | Self::Top
                    | Self::Shared
                    | Self::Begin
                    | Self::Tick
                    | Self::Thread
            )
    }
}

/// What `#thread` says before its code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ThreadHead {
    /// From the `#` to the last word of the head.
    pub(crate) span: Span,
    /// `<id>`
    pub(crate) id: Option<Name>,
    /// The count of `x 10`, as it is written.
    pub(crate) replicas: Option<Name>,
    /// The components moved into the thread.
    pub(crate) takes: Vec<Name>,
    /// The components of which the thread has a clone.
    pub(crate) clones: Vec<Name>,
}

/// One piece of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Directive(Directive, Span),
    /// `#thread` with its head.
    Thread(Box<ThreadHead>, Span),
    /// A word that is no directive; and the head that follows, in case that
    /// `#thread` was meant.
    Unknown(Box<ThreadHead>, Span),
    /// A lone `#`.
    Separator(Span),
    /// All but the last `#` of a run of them.
    Hashes(Span),
    /// Anything else, up to the next `#`.
    Code(Span),
}

impl Piece {
    pub(crate) fn span(&self) -> Span {
        match self {
            Self::Directive(_, span)
            | Self::Thread(_, span)
            | Self::Unknown(_, span)
            | Self::Separator(span)
            | Self::Hashes(span)
            | Self::Code(span) => *span,
        }
    }

    /// True for what ends the argument of a directive before it.
    pub(crate) fn is_directive(&self) -> bool {
        matches!(
            self,
            Self::Directive(..) | Self::Thread(..) | Self::Unknown(..)
        )
    }
}

/// Splits a script into its pieces.
pub(crate) fn pieces(source: &Source, mask: &Mask) -> Vec<Piece> {
    // The grammar takes any text: whatever is not a directive is code.
    let Ok(mut script) = Grammar::parse(Rule::script, &mask.text) else {
        debug_assert!(false, "the grammar refused a mask");
        return vec![Piece::Code(Span::new(0, mask.text.len()))];
    };
    let Some(script) = script.next() else {
        return Vec::new();
    };
    let pieces = script.into_inner();
    pieces.filter_map(|pair| piece(source, pair)).collect()
}

fn piece(source: &Source, pair: Pair<'_, Rule>) -> Option<Piece> {
    let span = span_of(&pair);
    let directive = match pair.as_rule() {
        Rule::ticktime => Directive::Ticktime,
        Rule::cut => Directive::Cut,
        Rule::conditions => Directive::Conditions,
        Rule::top => Directive::Top,
        Rule::shared => Directive::Shared,
        Rule::begin => Directive::Begin,
        Rule::test => Directive::Test,
        Rule::stays => Directive::Stays,
        Rule::wake_times => Directive::WakeTimes,
        Rule::tick => Directive::Tick,
        Rule::suspended => Directive::Suspended,
        Rule::finished => Directive::Finished,
        Rule::exc_monitor => Directive::ExcMonitor,
        Rule::value_check => Directive::ValueCheck,
        Rule::match_check => Directive::MatchCheck,
        Rule::wake_check => Directive::WakeCheck,
        Rule::end => Directive::End,
        Rule::thread => {
            let head = thread_head(source, span, pair.into_inner());
            return Some(Piece::Thread(Box::new(head), span));
        }
        Rule::unknown => {
            let mut inner = pair.into_inner();
            let word = span_of(&inner.next()?);
            let head = thread_head(source, span, inner);
            return Some(Piece::Unknown(Box::new(head), word));
        }
        Rule::separator => return Some(Piece::Separator(span)),
        Rule::hashes => return Some(Piece::Hashes(span)),
        Rule::code => {
            let is_blank = pair.as_str().trim_start().is_empty();
            return (!is_blank).then_some(Piece::Code(span));
        }
        _ => return None,
    };
    Some(Piece::Directive(directive, span))
}

fn thread_head(source: &Source, span: Span, parts: Pairs<'_, Rule>) -> ThreadHead {
    let mut head = ThreadHead {
        span,
        ..ThreadHead::default()
    };
    let name_of = |pair: Pair<'_, Rule>| {
        let span = span_of(&pair);
        Spanned::new(source.slice(span).to_owned(), span)
    };
    for part in parts {
        let rule = part.as_rule();
        let mut inner = part.into_inner();
        match rule {
            Rule::thread_id => head.id = inner.next().map(name_of),
            Rule::replicas => head.replicas = inner.next().map(name_of),
            Rule::ownership => {
                let verb = inner.next().map(|verb| verb.as_rule());
                let names = inner.map(name_of);
                match verb {
                    Some(Rule::takes) => head.takes.extend(names),
                    _ => head.clones.extend(names),
                }
            }
            _ => {}
        }
    }
    head
}

fn span_of(pair: &Pair<'_, Rule>) -> Span {
    let span = pair.as_span();
    Span::new(span.start(), span.end())
}
