//! Data races, as people read them.

use std::fmt;

use conan_kernel::Access;
use conan_kernel::fine::{Race, Racing, line_of_access};

use crate::failure::shown;

/// Two threads were about to touch the same memory at the same time, one of
/// them to write, and not both by atomic operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raced {
    /// The one that came to it first.
    pub first: Racer,
    /// The other one.
    pub second: Racer,
}

/// One of the two threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Racer {
    /// Its number in its world.
    pub number: usize,
    /// Its name, or nothing if the component started it.
    pub name: Option<String>,
    /// What it was about to do.
    pub access: Access,
    /// True if by an atomic operation.
    pub is_atomic: bool,
    /// The line of source code, if known: file, line, column.
    pub line: Option<String>,
    /// Its stack, if it could be had.
    pub backtrace: Option<String>,
}

impl Raced {
    /// True if it is the same lines that race.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let lines = |race: &Self| [race.first.line.clone(), race.second.line.clone()];
        let [one, two] = lines(other);
        lines(self) == [one.clone(), two.clone()] || lines(self) == [two, one]
    }
}

impl From<Race> for Raced {
    fn from(race: Race) -> Self {
        Self {
            first: race.first.into(),
            second: race.second.into(),
        }
    }
}

impl From<Racing> for Racer {
    fn from(racing: Racing) -> Self {
        Self {
            number: racing.number,
            name: racing.name,
            access: racing.access,
            is_atomic: racing.is_atomic,
            line: racing.backtrace.as_deref().and_then(line_of_access),
            backtrace: racing.backtrace,
        }
    }
}

impl Raced {
    /// What the two do, without the words `data race`.
    pub fn in_words(&self) -> String {
        let Self { first, second } = self;
        format!("{first}, while {second}, and nothing orders the two")
    }
}

impl fmt::Display for Raced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data race: {}", self.in_words())
    }
}

impl fmt::Display for Racer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = match (self.access, self.is_atomic) {
            (Access::Load, false) => "reads",
            (Access::Store, false) => "writes",
            (Access::Load, true) => "reads atomically",
            (Access::Store, true) => "writes atomically",
        };
        write!(f, "{} {does}", shown(self.name.as_deref()))?;
        match &self.line {
            Some(line) => write!(f, " at {line}"),
            None => Ok(()),
        }
    }
}
