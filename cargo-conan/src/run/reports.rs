//! Reports of sequences on their way from the driver to the user.

use serde_json::{Value, json};

use super::execute::{Begun, broken_off};
use super::highlight::{highlighted, highlighted_exploration};
use crate::cli::Format;
use crate::github::{self, Level, Location};
use crate::output;

/// Prints reports and adds them up.
pub(super) struct Printer {
    format: Format,
    count: usize,
    script: String,
    failed: bool,
    totals: [u64; TOTALS.len()],
}

/// The summary's lines, with their names in a report.
const TOTALS: [(&str, &str); 5] = [
    ("Test cases", "test_cases"),
    ("Value errors", "value_errors"),
    ("Exception errors", "exception_errors"),
    ("Liveness errors", "liveness_errors"),
    (RACES, "data_races"),
];

const RACES: &str = "Data races";

impl Printer {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            count: 0,
            script: String::new(),
            failed: false,
            totals: [0; TOTALS.len()],
        }
    }

    /// How many sequences have reported.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// True if any of them failed.
    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    /// One report, as the driver wrote it.
    pub(super) fn report(&mut self, line: &str) {
        let Ok(report) = serde_json::from_str::<Value>(line) else {
            return;
        };
        self.count += 1;
        self.failed |= report["verdict"] == "failed";
        for (total, (_, name)) in self.totals.iter_mut().zip(TOTALS) {
            *total += report["totals"][name].as_u64().unwrap_or(0);
        }
        match self.format {
            Format::Human => self.human(&report),
            Format::Json => output::out(format_args!("{}\n", line.trim_end())),
            format @ (Format::Short | Format::Github) => lines(format, &report),
        }
    }

    fn human(&mut self, report: &Value) {
        if report.get("exploration").is_some() {
            // It says itself where and how it went.
            let rendered = highlighted_exploration(text(&report["rendered"]));
            return output::out(format_args!("{rendered}"));
        }
        let script = text(&report["script"]);
        if script != self.script {
            output::out(format_args!("{script}\n"));
            script.clone_into(&mut self.script);
        }
        let (name, line) = (text(&report["sequence"]), &report["line"]);
        let conditions = report["conditions"].as_array();
        let conditions: Vec<&str> = conditions.into_iter().flatten().map(text).collect();
        let conditions = match conditions.as_slice() {
            [] => String::new(),
            names => format!(" [{}]", names.join(" ")),
        };
        let (style, verdict) = if report["verdict"] == "failed" {
            (anstyle::AnsiColor::Red.on_default().bold(), "FAILED")
        } else {
            (anstyle::AnsiColor::Green.on_default(), "ok")
        };
        let note = if verdict == "ok" && report["checks_ran"] == false {
            " (no checks ran)"
        } else {
            ""
        };
        output::out(format_args!(
            "  line {line}: {name}{conditions} ... {style}{verdict}{style:#}{note}\n"
        ));
        let rendered = text(&report["rendered"]);
        if !rendered.is_empty() {
            output::out(format_args!("{}\n", highlighted(rendered)));
        }
    }

    /// The driver ended before all sequences had reported.
    pub(super) fn broken_off(&mut self, missing: usize, how: &str, begun: Option<&Begun>) {
        let message = broken_off(how, begun, missing, "had reported");
        self.error(&message, begun);
    }

    /// The driver ended by an error after all sequences had reported.
    pub(super) fn ended_badly(&mut self, how: &str) {
        let message = format!("the driver ended ({how}) after all sequences had reported");
        self.error(&message, None);
    }

    /// An error that is none of a report's, and the sequence that it is of, if that is
    /// known.
    fn error(&mut self, message: &str, begun: Option<&Begun>) {
        self.failed = true;
        match self.format {
            Format::Json => {
                let mut value = json!({ "broken_off": message });
                if let Some(begun) = begun {
                    value["in"] = json!({
                        "script": begun.script,
                        "sequence": begun.sequence,
                        "line": begun.line,
                    });
                }
                output::out(format_args!("{value}\n"));
            }
            Format::Github => {
                let place = begun.map(|begun| Location {
                    file: &begun.script,
                    line: begun.line,
                    column: None,
                });
                github::annotate(Level::Error, place.as_ref(), "", message);
            }
            Format::Human | Format::Short => {
                crate::exit::error(message);
            }
        }
    }

    /// The command was stopped. Says which part of the sequences had reported.
    pub(super) fn stopped(&self, sequences: usize) {
        let message = format!(
            "stopped when {} of {sequences} sequences had reported",
            self.count
        );
        match self.format {
            Format::Json => output::out(format_args!("{}\n", json!({ "stopped": message }))),
            Format::Github => github::annotate(Level::Warning, None, "", &message),
            Format::Human | Format::Short => output::out(format_args!("{message}\n")),
        }
    }

    /// The summary's lines and their numbers. Only code with hooks can have data
    /// races: the line is left out if there are none.
    fn shown(&self) -> impl Iterator<Item = ((&'static str, &'static str), u64)> {
        let lines = TOTALS.into_iter().zip(self.totals);
        lines.filter(|((title, _), total)| *title != RACES || *total > 0)
    }

    /// The paper's summary.
    pub(super) fn totals(&self) {
        if self.format == Format::Json {
            let pairs = self.shown();
            let totals = pairs.map(|((_, name), total)| (name.to_owned(), Value::from(total)));
            let totals: serde_json::Map<String, Value> = totals.collect();
            output::out(format_args!("{}\n", json!({ "totals": totals })));
            return;
        }
        if self.format == Format::Human {
            output::out(format_args!("\n"));
        }
        for ((title, _), total) in self.shown() {
            output::out(format_args!("{title}: {total}\n"));
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The heading of an error of this kind.
pub(crate) fn titled(kind: &str) -> String {
    match kind {
        "race" => "data race".to_owned(),
        kind => format!("{kind} error"),
    }
}

/// One line for every error.
pub(crate) fn lines(format: Format, report: &Value) {
    let script = text(&report["script"]);
    let sequence = text(&report["sequence"]);
    for error in report["errors"].as_array().into_iter().flatten() {
        let (line, column) = (&error["line"], &error["column"]);
        let mut message = format!("{sequence}, tick {}", error["tick"]);
        if let Some(thread) = error["thread"].as_str() {
            message.push_str(&format!(", thread {thread}"));
        }
        message.push_str(&format!(": {}", text(&error["message"])));
        for part in ["expected", "actual"] {
            if let Some(value) = error[part].as_str() {
                message.push_str(&format!("; {part} {value}"));
            }
        }
        let title = titled(text(&error["kind"]));
        if format == Format::Github {
            let place = Location {
                file: script,
                line: line.as_u64().unwrap_or(1),
                column: column.as_u64(),
            };
            github::annotate(Level::Error, Some(&place), &title, &message);
        } else {
            let message = message.replace('\n', " ");
            output::out(format_args!(
                "{script}:{line}:{column}: {title}: {message}\n"
            ));
        }
    }
}
