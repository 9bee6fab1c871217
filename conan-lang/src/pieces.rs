//! From the grammar's parse to a flat list of pieces.

use pest::Parser;
use pest::iterators::Pair;
use pest_derive::Parser;

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
    Thread(ThreadHead, Span),
    Unknown(Span),
    Separator(Span),
    Open(Span),
    Close(Span),
    Code(Span),
}

impl Piece {
    pub(crate) fn span(&self) -> Span {
        match self {
            Self::Directive(_, span)
            | Self::Thread(_, span)
            | Self::Unknown(span)
            | Self::Separator(span)
            | Self::Open(span)
            | Self::Close(span)
            | Self::Code(span) => *span,
        }
    }

    /// True for what ends the argument of a directive before it.
    pub(crate) fn is_directive(&self) -> bool {
        matches!(
            self,
            Self::Directive(..) | Self::Thread(..) | Self::Unknown(_)
        )
    }
}

/// Splits a mask into its pieces.
pub(crate) fn pieces(mask: &str) -> Vec<Piece> {
    // The grammar takes any text: whatever is not a directive is code.
    let Ok(mut script) = Grammar::parse(Rule::script, mask) else {
        debug_assert!(false, "the grammar refused a mask");
        return vec![Piece::Code(Span::new(0, mask.len()))];
    };
    let Some(script) = script.next() else {
        return Vec::new();
    };
    script.into_inner().filter_map(piece).collect()
}

fn piece(pair: Pair<'_, Rule>) -> Option<Piece> {
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
        Rule::thread => return Some(Piece::Thread(thread_head(pair), span)),
        Rule::unknown => return Some(Piece::Unknown(span)),
        Rule::separator => return Some(Piece::Separator(span)),
        Rule::open => return Some(Piece::Open(span)),
        Rule::close => return Some(Piece::Close(span)),
        Rule::code => {
            let blank = pair.as_str().bytes().all(|b| b.is_ascii_whitespace());
            return (!blank).then_some(Piece::Code(span));
        }
        _ => return None,
    };
    Some(Piece::Directive(directive, span))
}

/// Reads the head of a thread block whose `#thread` was misspelled and ends at
/// `at`. Returns the head and where it ends.
pub(crate) fn thread_head_at(mask: &str, at: usize) -> (ThreadHead, usize) {
    const WORD: &str = "#thread";
    let rest = &mask[at..];
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let text = format!("{WORD}{line}");
    let parsed = Grammar::parse(Rule::thread, &text).ok();
    let Some(pair) = parsed.and_then(|mut pairs| pairs.next()) else {
        return (ThreadHead::default(), at);
    };
    let end = at + pair.as_span().end() - WORD.len();
    let mut head = thread_head(pair);
    let names = head.id.iter_mut().chain(&mut head.replicas);
    for name in names.chain(&mut head.takes).chain(&mut head.clones) {
        let shift = |offset: u32| offset as usize + at - WORD.len();
        name.span = Span::new(shift(name.span.start), shift(name.span.end));
    }
    (head, end)
}

fn thread_head(pair: Pair<'_, Rule>) -> ThreadHead {
    let mut head = ThreadHead::default();
    for part in pair.into_inner() {
        let rule = part.as_rule();
        let mut inner = part.into_inner();
        match rule {
            Rule::thread_id => head.id = inner.next().map(|id| name_of(&id)),
            Rule::replicas => head.replicas = inner.next().map(|count| name_of(&count)),
            Rule::ownership => {
                let verb = inner.next().map(|verb| verb.as_rule());
                let names = inner.map(|name| name_of(&name));
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

fn name_of(pair: &Pair<'_, Rule>) -> Name {
    Spanned::new(pair.as_str().to_owned(), span_of(pair))
}

fn span_of(pair: &Pair<'_, Rule>) -> Span {
    let span = pair.as_span();
    Span::new(span.start(), span.end())
}
