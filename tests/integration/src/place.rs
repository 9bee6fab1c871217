//! Places in scripts, found by what stands there.

use std::fmt;

/// A line and a column, both from 1; columns count characters, as rustc does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// Where `marker` stands in `script`. It must stand there exactly once.
#[track_caller]
pub fn place(script: &str, marker: &str) -> Place {
    let mut found = script.match_indices(marker);
    let (at, _) = found
        .next()
        .unwrap_or_else(|| panic!("the script has no {marker:?}"));
    assert!(
        found.next().is_none(),
        "the script has {marker:?} more than once"
    );
    let before = &script[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Place {
        line: before.matches('\n').count() + 1,
        column: before[start..].chars().count() + 1,
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}
