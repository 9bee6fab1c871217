//! One mutant.

use std::ops::Range;

use crate::diff;
use crate::operator::Operator;

/// A component with one fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// The kind of the fault.
    pub operator: Operator,
    /// The line of the fault, from 1.
    pub line: usize,
    /// Its column, from 1, in characters.
    pub column: usize,
    /// The bytes that are replaced.
    pub range: Range<usize>,
    /// What they are replaced by.
    pub replacement: String,
    /// Why nobody can tell it from the component, if the source says so.
    pub equivalent: Option<String>,
}

impl Mutant {
    /// Its name among the mutants of the component: operator, line, column.
    pub fn id(&self) -> String {
        format!("{}:{}:{}", self.operator, self.line, self.column)
    }

    /// The component's source with the fault in it.
    pub fn apply(&self, source: &str) -> String {
        let Range { start, end } = self.range;
        [&source[..start], &self.replacement, &source[end..]].concat()
    }

    /// The fault as a unified diff with three lines around it.
    pub fn diff(&self, source: &str, path: &str) -> String {
        diff::unified(source, &self.range, &self.replacement, path)
    }
}
