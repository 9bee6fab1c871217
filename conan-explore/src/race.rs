//! Data races, as people read them.

use std::fmt;

use conan_kernel::Access;
use conan_kernel::fine::{Race, Racing};

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

impl fmt::Display for Raced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, second } = self;
        write!(
            f,
            "data race: {first}, while {second}, and nothing orders the two"
        )
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

/// The line of source code that makes an access to memory, by the backtrace
/// that was taken there: the innermost that is neither the engine's nor of the
/// standard library.
pub fn line_of_access(backtrace: &str) -> Option<String> {
    let mut name = "";
    for line in backtrace.lines() {
        let text = line.trim();
        let Some(place) = text.strip_prefix("at ") else {
            let number = text.split_once(": ");
            let number = number.filter(|(number, _)| number.parse::<u32>().is_ok());
            name = number.map_or(text, |(_, name)| name);
            continue;
        };
        let path = name.trim_start_matches(['<', '&']);
        let mut others = ["conan_kernel::", "std::", "core::", "alloc::"].iter();
        let is_library = place.starts_with("/rustc/") || place.contains("/library/core/src/");
        if !is_library && !others.any(|other| path.starts_with(other)) {
            return Some(place.to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::line_of_access;

    #[test]
    fn the_line_is_the_first_of_the_component() {
        let backtrace = "\
   0: std::backtrace::Backtrace::force_capture
             at /rustc/59807616e1/library/std/src/backtrace.rs:312:9
   1: conan_kernel::fine::arrive
             at ./conan-kernel/src/fine/mod.rs:200:9
   2: core::ptr::write
             at /rustc/59807616e1/library/core/src/ptr/mod.rs:1500:9
      <component::Slot as core::default::Default>::put
             at ./src/slot.rs:7:18
   3: component::main
             at ./src/main.rs:1:1
";
        assert_eq!(
            line_of_access(backtrace).as_deref(),
            Some("./src/slot.rs:7:18")
        );
        assert_eq!(line_of_access("   0: f\n"), None);
        assert_eq!(line_of_access(""), None);
    }
}
