//! What is known of sequences whose exploration was stopped: by a signal, or
//! because standard output failed.

use serde_json::{Value, json};

use crate::cli::Format;
use crate::github::{self, Level};
use crate::output;

/// A sequence that was not explored to its end.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    pub(super) sequence: String,
    /// The executions and schedules so far, of all processes together.
    executions: u64,
    schedules: u64,
    /// A failure that was found, but not yet made simpler.
    failure: Option<Value>,
}

impl Unfinished {
    pub(super) fn new(sequence: &str) -> Self {
        Self {
            sequence: sequence.to_owned(),
            ..Self::default()
        }
    }

    /// Adds the counts of one process.
    pub(super) fn add(&mut self, counts: &Value) {
        let count = |key: &str| counts[key].as_u64().unwrap_or(0);
        self.executions += count("executions");
        self.schedules += count("schedules");
    }

    /// Adds a failure that a process has found. The first one by number counts.
    pub(super) fn add_failure(&mut self, failure: &Value) {
        let number = |failure: &Value| failure["execution"].as_u64();
        let is_first = self
            .failure
            .as_ref()
            .is_none_or(|known| number(failure) < number(known));
        if is_first {
            self.failure = Some(failure.clone());
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    pub(super) fn print(&self, format: Format) {
        match format {
            Format::Json => output::out(format_args!("{}\n", self.json())),
            Format::Human => output::out(format_args!("\n{}", self.text())),
            Format::Short => output::out(format_args!("{}\n", self.line())),
            Format::Github => github::annotate(Level::Warning, None, "", &self.line()),
        }
    }

    fn json(&self) -> Value {
        json!({
            "sequence": self.sequence,
            "verdict": "stopped",
            "executions": self.executions,
            "schedules": self.schedules,
            "failure": self.failure,
        })
    }

    fn line(&self) -> String {
        let name = &self.sequence;
        if let Some(failure) = &self.failure {
            let execution = failure["execution"].as_u64().unwrap_or(0) + 1;
            return format!("{name}: FAILED in execution {execution}, not made simpler");
        }
        match self.executions {
            0 => format!("{name}: stopped before its first execution was over"),
            executions => format!(
                "{name}: stopped after {executions} executions, {} schedules; no failure so far",
                self.schedules
            ),
        }
    }

    /// The line, and the failure as it was found.
    fn text(&self) -> String {
        let failure = self.failure.as_ref();
        let rendered = failure.and_then(|failure| failure["rendered"].as_str());
        format!("{}\n{}", self.line(), rendered.unwrap_or_default())
    }
}
