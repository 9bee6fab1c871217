//! The tree of a script. Every node carries its place; fragments are places
//! only, their text is in the [`Source`](crate::Source).

use std::collections::HashMap;

use crate::pieces::Directive;
use crate::span::{Name, Span, Spanned};

/// A whole script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// `#ticktime`, in milliseconds.
    pub ticktime: Option<Spanned<u64>>,
    /// The components under test.
    pub cuts: Vec<Cut>,
    /// `#conditions`, if there is such a block.
    pub conditions: Option<Conditions>,
    /// The `#top` blocks.
    pub tops: Vec<Top>,
    /// The global `#shared` block.
    pub shared: Option<Shared>,
    /// The test sequences.
    pub sequences: Vec<Sequence>,
}

/// A tick's length where a script does not say, in milliseconds.
pub const DEFAULT_TICKTIME: u64 = 1000;

/// The longest tick, in milliseconds: a day. Virtual time is counted in
/// nanoseconds in 64 bits, which last for 584 years: 213,503 such ticks. With
/// longer ticks a sequence could come to the end of them, and its clock would
/// stand still.
pub const MAX_TICKTIME: u64 = 24 * 60 * 60 * 1000;

impl Script {
    /// A tick's length in milliseconds.
    pub fn ticktime_ms(&self) -> u64 {
        self.ticktime.as_ref().map_or(DEFAULT_TICKTIME, |t| t.value)
    }

    /// How many templates run when every fragment runs once.
    pub fn test_cases(&self) -> u64 {
        self.sequences.iter().map(Sequence::test_cases).sum()
    }
}

/// A piece of Rust: an expression, statements, items or a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Where it stands, white space around it left out.
    pub span: Span,
}

/// `#cut pattern constructor`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The whole directive.
    pub span: Span,
    /// What the constructor's value is bound to.
    pub pattern: Fragment,
    /// The names that the pattern binds: the components.
    pub names: Vec<Name>,
    /// How a new instance is made.
    pub constructor: Fragment,
}

/// `#conditions … #end`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conditions {
    /// The whole block.
    pub span: Span,
    /// The `#conditions` itself.
    pub head: Span,
    /// What it declares.
    pub items: Vec<Condition>,
}

/// One line of `#conditions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// What `#test` calls it.
    pub id: Name,
    /// What it means, in free text.
    pub text: Spanned<String>,
}

/// `#top … #end`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Top {
    /// The whole block.
    pub span: Span,
    /// Its items.
    pub items: Fragment,
}

/// `#shared id … #end`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    /// The whole block.
    pub span: Span,
    /// The name that fragments reach the object by.
    pub id: Name,
    /// Fields and methods, as text.
    pub body: Fragment,
    /// Fields and methods, one by one.
    pub members: Vec<Member>,
}

/// A field or a method of a shared block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The whole member.
    pub span: Span,
    /// Its name.
    pub name: Name,
    /// Which of the two.
    pub kind: MemberKind,
}

/// A field or a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberKind {
    /// `name: ty = init;`
    Field {
        /// Attributes and visibility before the name.
        attributes: Fragment,
        /// Its type.
        ty: Fragment,
        /// Its value in a new object.
        init: Fragment,
    },
    /// `fn name(&self, …) { … }`
    Method,
}

/// `#begin … #end`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// The whole block.
    pub span: Span,
    /// The `#begin` itself.
    pub begin: Span,
    /// The name, where the script gives one.
    pub name: Option<Name>,
    /// The conditions that it exercises.
    pub test: Vec<Name>,
    /// The sequence's own `#shared` block.
    pub shared: Option<Shared>,
    /// The lists that `#wakeCheck take` takes from.
    pub wake_times: Vec<WakeTimes>,
    /// The threads that are meant to be suspended at the end.
    pub stays: Vec<Name>,
    /// How its schedules are explored: the words of `#explore`.
    pub explore: Option<Spanned<String>>,
    /// Places in the code that executions come to.
    pub hot_spots: Vec<HotSpot>,
    /// Its tick blocks, in order: the first is time 1.
    pub ticks: Vec<Tick>,
}

impl Sequence {
    /// How many templates run when every fragment runs once. A replicated
    /// thread's count stands on the first block of its id.
    pub fn test_cases(&self) -> u64 {
        let mut replicas: HashMap<&str, u64> = HashMap::new();
        let mut cases: u64 = 0;
        for (_, item) in self.items() {
            match item {
                TickItem::Template(_) => cases += 1,
                TickItem::Suspended(..) | TickItem::Finished(..) => {}
                TickItem::Thread(block) => {
                    let own = block.replicas.as_ref().map_or(1, |count| count.value);
                    let count = match &block.id {
                        Some(id) => *replicas.entry(&id.value).or_insert(own),
                        None => own,
                    };
                    let templates = block.code.templates.len() as u64;
                    cases = cases.saturating_add(count.saturating_mul(templates));
                }
            }
        }
        cases
    }

    /// Every item of every tick, with the time of its tick.
    pub fn items(&self) -> impl Iterator<Item = (u64, &TickItem)> {
        let ticks = self.ticks.iter().zip(1..);
        ticks.flat_map(|(tick, time)| tick.items.iter().map(move |item| (time, item)))
    }

    /// Every thread block, with the time of its tick.
    pub fn thread_blocks(&self) -> impl Iterator<Item = (u64, &ThreadBlock)> {
        self.items().filter_map(|(time, item)| match item {
            TickItem::Thread(block) => Some((time, block)),
            _ => None,
        })
    }
}

/// A name in `#always`, `#never` or `#sometimes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotSpot {
    /// What `hotspot` is called with.
    pub name: Name,
    /// How often it must be reached.
    pub reached: Reached,
}

/// In which executions a hot spot must be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// In every one.
    Always,
    /// In none.
    Never,
    /// In at least one.
    Sometimes,
}

/// `#wakeTimes w 3 4 4`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakeTimes {
    /// The whole directive.
    pub span: Span,
    /// The list's name.
    pub name: Name,
    /// The times, each as often as it may be taken.
    pub times: Vec<Spanned<u64>>,
}

/// `#tick … #end`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    /// The whole block.
    pub span: Span,
    /// What is in it.
    pub items: Vec<TickItem>,
}

/// What a tick can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TickItem {
    /// `#thread … #end`
    Thread(ThreadBlock),
    /// `#suspended a b`, with the place of the directive.
    Suspended(Vec<Name>, Span),
    /// `#finished a b`, with the place of the directive.
    Finished(Vec<Name>, Span),
    /// A template outside any thread.
    Template(Template),
}

/// `#thread <id> … #end`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadBlock {
    /// The whole block.
    pub span: Span,
    /// The head: `#thread` and what belongs to it.
    pub head: Span,
    /// The thread's name.
    pub id: Option<Name>,
    /// `x 10`
    pub replicas: Option<Spanned<u64>>,
    /// Components that are moved into the thread.
    pub takes: Vec<Name>,
    /// Components of which the thread has a clone.
    pub clones: Vec<Name>,
    /// What it runs.
    pub code: Code,
}

/// Rust statements with templates among them, at any depth of brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// From the first token to the last, templates included.
    pub span: Span,
    /// The templates, in order.
    pub templates: Vec<Template>,
}

/// `#excMonitor`, `#valueCheck`, `#matchCheck` or `#wakeCheck`, up to its `#end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The whole template.
    pub span: Span,
    /// What it checks.
    pub kind: TemplateKind,
}

/// What a template checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateKind {
    /// `#excMonitor code [# expected] #end`
    ExcMonitor {
        /// The statements that run.
        code: Fragment,
        /// The exception that is required.
        expected: Option<Exception>,
    },
    /// `#valueCheck actual # expected #end`
    ValueCheck {
        /// What is computed.
        actual: Fragment,
        /// What it must be equal to.
        expected: Fragment,
    },
    /// `#matchCheck actual # pattern #end`
    MatchCheck {
        /// What is computed.
        actual: Fragment,
        /// What it must match; an `if` guard may follow.
        pattern: Fragment,
    },
    /// `#wakeCheck times #end`
    WakeCheck(Wake),
}

impl TemplateKind {
    /// The directive that begins it.
    pub fn directive(&self) -> Directive {
        match self {
            Self::ExcMonitor { .. } => Directive::ExcMonitor,
            Self::ValueCheck { .. } => Directive::ValueCheck,
            Self::MatchCheck { .. } => Directive::MatchCheck,
            Self::WakeCheck(_) => Directive::WakeCheck,
        }
    }
}

/// The exception that an `#excMonitor` requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exception {
    /// `panic`, or `panic "part of the message"`.
    Panic {
        /// An expression for the part of the message.
        part: Option<Fragment>,
    },
    /// A pattern that the value must match, usually `Err(…)`.
    Pattern(Fragment),
}

/// When a `#wakeCheck` lets its thread wake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// `3`: an expression.
    At(Fragment),
    /// `3..5` or `3..=4`: a range expression.
    Within(Fragment),
    /// `{2, 4}`: the expressions in the braces.
    OneOf(Vec<Fragment>),
    /// `take w`
    Take(Name),
}
