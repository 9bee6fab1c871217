//! `cargo conan stats`: the columns of the paper's Table 2.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::cli::Format;
use crate::exit::Stop;
use crate::github::{self, Level};
use crate::{check, expand, files, output};

/// One row of the table.
#[derive(Default)]
struct Row {
    script: String,
    numbers: [u64; 5],
}

/// The names of the numbers, in `json` and in lines.
const NAMES: [&str; 5] = [
    "conditions",
    "sequences",
    "test_cases",
    "script_lines",
    "driver_lines",
];

impl Row {
    fn print_line(&self, format: Format) {
        let Self { script, numbers } = self;
        let pairs = NAMES.iter().zip(numbers);
        if format == Format::Json {
            let pairs = pairs.map(|(name, number)| ((*name).to_owned(), json!(number)));
            let mut object: Map<String, Value> = pairs.collect();
            object.insert("script".to_owned(), json!(script));
            output::out(format_args!("{}\n", Value::Object(object)));
            return;
        }
        let words: Vec<_> = pairs
            .map(|(name, number)| format!("{number} {}", name.replace('_', " ")))
            .collect();
        let words = words.join(", ");
        if format == Format::Github {
            let message = format!("{script}: {words}");
            github::annotate(Level::Notice, None, "stats", &message);
        } else {
            output::out(format_args!("{script}: {words}\n"));
        }
    }
}

const HEADINGS: [&str; 5] = [
    "Cond.",
    "Seq.",
    "Test cases",
    "Script lines",
    "Driver lines",
];

/// Counts conditions, sequences, test cases and lines.
pub(crate) fn stats(paths: &[PathBuf], format: Format) -> Stop<()> {
    let found = files::scripts(paths)?;
    let paths = &found.scripts;
    let scripts = check::checked(paths, format)?;
    let mut rows = Vec::new();
    let mut total = Row {
        script: "total".to_owned(),
        ..Row::default()
    };
    for (parsed, path) in scripts.iter().zip(paths) {
        let script = &parsed.script;
        let conditions = script.conditions.as_ref().map_or(0, |c| c.items.len());
        let driver = expand::driver(parsed, path)?;
        let numbers = [
            conditions as u64,
            script.sequences.len() as u64,
            script.test_cases(),
            parsed.source.line_count() as u64,
            driver.lines().count() as u64,
        ];
        for (sum, number) in total.numbers.iter_mut().zip(numbers) {
            *sum += number;
        }
        let script = parsed.source.name().to_owned();
        rows.push(Row { script, numbers });
    }
    if rows.len() > 1 {
        rows.push(total);
    }
    match format {
        Format::Human => print(&rows),
        format => rows.iter().for_each(|row| row.print_line(format)),
    }
    found.whole()
}

fn print(rows: &[Row]) {
    let widest = rows.iter().map(|row| row.script.chars().count()).max();
    let width = widest.unwrap_or(0).max("Script".len());
    let mut text = format!("{:width$}", "Script");
    for heading in HEADINGS {
        text.push_str(&format!("  {heading:>}"));
    }
    text.push('\n');
    for row in rows {
        text.push_str(&format!("{:width$}", row.script));
        for (number, heading) in row.numbers.iter().zip(HEADINGS) {
            text.push_str(&format!("  {number:>width$}", width = heading.len()));
        }
        text.push('\n');
    }
    output::out(format_args!("{text}"));
}
