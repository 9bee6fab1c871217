//! The kinds of fault.

use std::fmt;

/// A kind of fault that mutants have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// A wait that does not look again.
    WhileToIf,
    /// One waiter is woken in place of all.
    NotifyOne,
    /// Nobody is woken.
    NoNotify,
    /// Nobody waits.
    NoWait,
    /// A condition is the wrong way round.
    NegatedGuard,
    /// A bound is wrong by one.
    OffByOne,
    /// A lock is given up in the middle of a section.
    EarlyUnlock,
    /// A field begins with another value.
    InitialValue,
    /// A count goes the wrong way.
    PlusMinus,
}

impl Operator {
    /// All operators, in the order of the tables.
    pub const ALL: [Self; 9] = [
        Self::WhileToIf,
        Self::NotifyOne,
        Self::NoNotify,
        Self::NoWait,
        Self::NegatedGuard,
        Self::OffByOne,
        Self::EarlyUnlock,
        Self::InitialValue,
        Self::PlusMinus,
    ];

    /// The operator of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|operator| operator.name() == name)
    }

    /// Its name, as people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::WhileToIf => "while-to-if",
            Self::NotifyOne => "notify-one",
            Self::NoNotify => "no-notify",
            Self::NoWait => "no-wait",
            Self::NegatedGuard => "negated-guard",
            Self::OffByOne => "off-by-one",
            Self::EarlyUnlock => "early-unlock",
            Self::InitialValue => "initial-value",
            Self::PlusMinus => "plus-minus",
        }
    }

    /// What it does, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::WhileToIf => "who wakes does not look again: `while` around a wait becomes `if`",
            Self::NotifyOne => "`notify_all` becomes `notify_one`",
            Self::NoNotify => "a notification is left out",
            Self::NoWait => "a wait is left out, or takes no time",
            Self::NegatedGuard => "the condition of an `if`, a `while` or a wait is negated",
            Self::OffByOne => {
                "a comparison takes in, or leaves out, its bound; a number in it grows by one"
            }
            Self::EarlyUnlock => "a lock is given up and taken again in the middle of its section",
            Self::InitialValue => {
                "a constructor begins with one more, or with the other truth value"
            }
            Self::PlusMinus => "`+=` and `-=` change places",
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
