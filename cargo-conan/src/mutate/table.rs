//! Counts of mutants, and the table of them.

use std::collections::BTreeMap;
use std::iter::Sum;

use conan_mutate::Operator;
use serde_json::{Value, json};

/// How many mutants came to what.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) killed: usize,
    pub(crate) survived: usize,
    pub(crate) equivalent: usize,
    pub(crate) unviable: usize,
}

const HEADINGS: [&str; 5] = ["generated", "killed", "survived", "equivalent", "unviable"];

impl Counts {
    pub(crate) fn generated(self) -> usize {
        self.killed + self.survived + self.equivalent + self.unviable
    }

    fn numbers(self) -> [usize; 5] {
        [
            self.generated(),
            self.killed,
            self.survived,
            self.equivalent,
            self.unviable,
        ]
    }

    /// `12 of 13, 92 %`: of those that a script could have killed. Rounded
    /// down, so that 100 % is all of them.
    pub(crate) fn score(self) -> String {
        let (killed, all) = (self.killed, self.killed + self.survived);
        match (killed * 100).checked_div(all) {
            Some(percent) => format!("{killed} of {all}, {percent} %"),
            None => "none to kill".to_owned(),
        }
    }

    pub(crate) fn json(self) -> Value {
        let numbers = HEADINGS.iter().zip(self.numbers());
        numbers
            .map(|(name, number)| ((*name).to_owned(), json!(number)))
            .collect()
    }
}

impl<'c> Sum<&'c Counts> for Counts {
    fn sum<I: Iterator<Item = &'c Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, counts| Self {
            killed: sum.killed + counts.killed,
            survived: sum.survived + counts.survived,
            equivalent: sum.equivalent + counts.equivalent,
            unviable: sum.unviable + counts.unviable,
        })
    }
}

/// The table of one component.
pub(crate) fn by_operator(counts: &BTreeMap<Operator, Counts>) -> String {
    let rows = counts
        .iter()
        .map(|(operator, counts)| (operator.name().to_owned(), *counts));
    let rows: Vec<(String, Counts)> = rows.collect();
    table("operator", &rows)
}

/// A table with a line for the total.
pub(crate) fn table(what: &str, rows: &[(String, Counts)]) -> String {
    let total = rows.iter().map(|(_, counts)| counts).sum();
    let names = rows.iter().map(|(name, _)| name.chars().count());
    let width = names.chain([what.len(), "total".len()]).max().unwrap_or(0);
    let mut text = format!("{what:width$}");
    for heading in HEADINGS {
        text.push_str(&format!("  {heading}"));
    }
    text.push('\n');
    let total = [("total".to_owned(), total)];
    for (name, counts) in rows.iter().chain(&total) {
        text.push_str(&format!("{name:width$}"));
        for (number, heading) in counts.numbers().iter().zip(HEADINGS) {
            text.push_str(&format!("  {number:>width$}", width = heading.len()));
        }
        text.push('\n');
    }
    text
}
