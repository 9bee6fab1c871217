//! The result, as people read it.

use std::time::Duration;

/// A crate.
pub(crate) struct Row {
    /// Name and version.
    pub(crate) name: String,
    /// The number of its tests, and of sequences.
    pub(crate) tests: usize,
    /// How many of its tests failed in this run.
    pub(crate) failed: usize,
    /// The time that its tests took.
    pub(crate) theirs: Duration,
    /// The time that the sequences took.
    pub(crate) ours: Duration,
}

/// A line for each crate, and one for all of them.
pub(crate) fn of(rows: &[Row]) -> String {
    let total = Row {
        name: "all".to_owned(),
        tests: rows.iter().map(|row| row.tests).sum(),
        failed: rows.iter().map(|row| row.failed).sum(),
        theirs: rows.iter().map(|row| row.theirs).sum(),
        ours: rows.iter().map(|row| row.ours).sum(),
    };
    let head = "crate                     | tests | their tests | failed | our scripts | ratio\n\
                --------------------------+-------+-------------+--------+-------------+------\n";
    let lines = rows.iter().chain([&total]).map(line);
    head.to_owned() + &lines.collect::<String>()
}

fn line(row: &Row) -> String {
    let (theirs, ours) = (row.theirs.as_secs_f64(), row.ours.as_secs_f64());
    let Row {
        name,
        tests,
        failed,
        ..
    } = row;
    let ratio = theirs / ours;
    format!(
        "{name:<25} | {tests:>5} | {theirs:>9.3} s | {failed:>6} | {ours:>9.3} s | {ratio:>5.0}\n"
    )
}
