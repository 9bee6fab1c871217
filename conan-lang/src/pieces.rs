//! From the grammar's parse to a flat list of pieces.

use pest::Parser;
use pest::iterators::{Pair, Pairs};
use pest_derive::Parser;

use crate::mask::Mask;
use crate::nearest::nearest_directive;
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
    /// `#explore`
    Explore,
    /// `#always`
    Always,
    /// `#never`
    Never,
    /// `#sometimes`
    Sometimes,
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
    pub const ALL: [Self; 22] = [
        Self::Ticktime,
        Self::Cut,
        Self::Conditions,
        Self::Top,
        Self::Shared,
        Self::Begin,
        Self::Test,
        Self::Stays,
        Self::WakeTimes,
        Self::Explore,
        Self::Always,
        Self::Never,
        Self::Sometimes,
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
            Self::Explore => "#explore",
            Self::Always => "#always",
            Self::Never => "#never",
            Self::Sometimes => "#sometimes",
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

    /// The directive that is spelled so.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|directive| directive.word() == word)
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
    /// A word that is no directive, and the one that it is most like.
    Unknown(Option<Directive>, Span),
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

/// The text is parsed in parts of about this length: what pest notes down about
/// each of them stays in the cache.
const CHUNK: usize = 16 * 1024;

/// Splits a script into its pieces.
pub(crate) fn pieces(source: &Source, mask: &Mask) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < mask.text.len() {
        // Nothing but code goes on beyond the end of a line.
        let bytes = &mask.text.as_bytes()[start..];
        let rest = bytes.get(CHUNK..).unwrap_or_default();
        let line_end = rest.iter().position(|&byte| byte == b'\n');
        let len = line_end.map_or(bytes.len(), |at| CHUNK + at + 1);
        let chunk = &mask.text[start..start + len];
        // The grammar takes any text: whatever is not a directive is code.
        let script = Grammar::parse(Rule::script, chunk).ok();
        debug_assert!(script.is_some(), "the grammar refused a mask");
        let script = script.and_then(|mut script| script.next());
        let parts = script.into_iter().flat_map(Pair::into_inner);
        pieces.extend(parts.filter_map(|pair| piece(source, pair, start)));
        start += len;
    }
    pieces
}

fn piece(source: &Source, pair: Pair<'_, Rule>, shift: usize) -> Option<Piece> {
    let span = pair.as_span();
    let span = Span::new(span.start() + shift, span.end() + shift);
    Some(match pair.as_rule() {
        Rule::directive => Piece::Directive(Directive::from_word(pair.as_str())?, span),
        Rule::thread => {
            let head = thread_head(source, span, pair.into_inner(), shift);
            Piece::Thread(Box::new(head), span)
        }
        Rule::unknown => Piece::Unknown(nearest_directive(pair.as_str()), span),
        Rule::separator => Piece::Separator(span),
        Rule::hashes => Piece::Hashes(span),
        Rule::code if !pair.as_str().trim_start().is_empty() => Piece::Code(span),
        _ => return None,
    })
}

/// Reads the head of a thread block whose `#thread` is misspelled.
pub(crate) fn thread_head_behind(source: &Source, mask: &Mask, word: Span) -> ThreadHead {
    let at = word.end as usize;
    let rest = &mask.text[at..];
    let line = &rest[..rest.find(['\n', '#']).unwrap_or(rest.len())];
    let parsed = Grammar::parse(Rule::only_head, line).ok();
    match parsed.and_then(|mut pairs| pairs.next()) {
        Some(pair) => {
            let span = word.to(Span::at(at + pair.as_span().end()));
            thread_head(source, span, pair.into_inner(), at)
        }
        None => ThreadHead {
            span: word,
            ..ThreadHead::default()
        },
    }
}

/// The head of a thread block; its `parts` are `shift` bytes further on.
fn thread_head(source: &Source, span: Span, parts: Pairs<'_, Rule>, shift: usize) -> ThreadHead {
    let mut head = ThreadHead {
        span,
        ..ThreadHead::default()
    };
    let name_of = |pair: Pair<'_, Rule>| {
        let span = pair.as_span();
        let span = Span::new(span.start() + shift, span.end() + shift);
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
