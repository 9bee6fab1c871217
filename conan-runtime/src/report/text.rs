//! A report as people read it.

use std::fmt::{self, Display, Write};

use super::{Report, Totals, Verdict};
use crate::backtrace::shown as shown_backtrace;
use crate::event::{Failure, Stack};

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sequence = self.sequence;
        write!(
            f,
            "{} ({}:{})",
            sequence.name, self.script.path, sequence.line
        )?;
        if !sequence.conditions.is_empty() {
            write!(f, " {}", sequence.conditions.join(" "))?;
        }
        match self.verdict() {
            Verdict::Passed if self.has_checked() => writeln!(f, ": ok")?,
            Verdict::Passed => writeln!(f, ": ok (no checks ran)")?,
            Verdict::Failed => writeln!(f, ": FAILED")?,
        }
        f.write_str(&self.errors())
    }
}

impl Report {
    /// Every error as text, with the line of the script.
    pub fn errors(&self) -> String {
        let mut text = String::new();
        for failure in &self.failures {
            // Writing to a string cannot fail.
            let _ = self.error(&mut text, failure);
        }
        if !text.is_empty() {
            let code = self.script.codes();
            let table = self.timeline.table(&code);
            if !table.is_empty() {
                text.push_str(&format!("\n{table}"));
            }
        }
        for note in &self.notes {
            text.push_str(&format!("\nnote: {note}\n"));
        }
        for reason in &self.inexact {
            text.push_str(&format!("\nnote: this run was not exact: {reason}\n"));
        }
        text
    }

    /// A stack as people read it.
    pub(super) fn stack(&self, stack: &Stack) -> String {
        match stack {
            Stack::Captured(backtrace) => {
                shown_backtrace(backtrace).replace(self.script.file, self.script.path)
            }
            Stack::Shown(text) => text.clone(),
        }
    }

    fn error(&self, out: &mut String, failure: &Failure) -> fmt::Result {
        let title = failure.kind.title();
        write!(out, "\n{title} at tick {}", failure.tick)?;
        if let Some(thread) = &failure.thread {
            write!(out, ", thread {thread}")?;
        }
        writeln!(out, ": {}", failure.message)?;
        let place = failure.place;
        let number = place.line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(
            out,
            "{margin}--> {}:{}:{}",
            self.script.path, place.line, place.column
        )?;
        if let Some(line) = self.script.line(place.line) {
            let (line, column) = shown(line, place.column as usize);
            writeln!(out, "{margin} |")?;
            writeln!(out, "{number} | {line}")?;
            writeln!(out, "{margin} | {}^", " ".repeat(column - 1))?;
        }
        for (label, value) in [("expected", &failure.expected), ("actual", &failure.actual)] {
            if let Some(value) = value {
                let value = indented(value, &margin);
                writeln!(out, "{margin} = {:10}{value}", format!("{label}:"))?;
            }
        }
        for note in &failure.notes {
            writeln!(out, "{margin} = note: {}", indented(note, &margin))?;
        }
        if let Some(backtrace) = &failure.backtrace {
            write!(out, "stack backtrace:\n{}", self.stack(backtrace))?;
        }
        Ok(())
    }
}

impl Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Test cases: {}", self.test_cases)?;
        writeln!(f, "Value errors: {}", self.value_errors)?;
        writeln!(f, "Exception errors: {}", self.exception_errors)?;
        writeln!(f, "Liveness errors: {}", self.liveness_errors)?;
        // Only code with hooks can have any.
        match self.data_races {
            0 => Ok(()),
            number => writeln!(f, "Data races: {number}"),
        }
    }
}

/// Text of several lines stays to the right of the margin.
fn indented(text: &str, margin: &str) -> String {
    text.replace('\n', &format!("\n{margin}   "))
}

/// A line and a column of it, tabs as spaces, cut to what can be read.
fn shown(line: &str, column: usize) -> (String, usize) {
    const WIDTH: usize = 160;
    let before = column.saturating_sub(1);
    let skipped = before.saturating_sub(WIDTH / 2);
    let mut text = String::new();
    let mut at = 1;
    for (index, c) in line.chars().enumerate().skip(skipped).take(WIDTH) {
        if index == before {
            at = text.chars().count() + 1;
        }
        match c {
            '\t' => text.push_str("    "),
            c => text.push(c),
        }
    }
    (text.trim_end().to_owned(), at)
}
