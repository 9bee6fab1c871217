//! The reports of `cargo conan run --message-format json`.

use serde_json::Value;

use crate::process::Ran;

/// What a run reported.
#[derive(Debug)]
pub struct Reports {
    /// One report for every sequence, in the order in which they ran.
    pub sequences: Vec<Value>,
    /// The summary.
    pub totals: Value,
}

impl Reports {
    /// Reads standard output, every line of which must be JSON.
    #[track_caller]
    pub fn of(ran: &Ran) -> Self {
        let lines = ran.stdout.lines().map(|line| {
            let value: Result<Value, _> = serde_json::from_str(line);
            value.unwrap_or_else(|error| panic!("{line:?} is not JSON ({error}); {ran}"))
        });
        let (summary, sequences): (Vec<Value>, Vec<Value>) =
            lines.partition(|line| line.get("sequence").is_none());
        let totals = summary.iter().find_map(|line| line.get("totals"));
        let totals = totals
            .unwrap_or_else(|| panic!("there is no summary; {ran}"))
            .clone();
        Self { sequences, totals }
    }

    /// The report of one sequence.
    #[track_caller]
    pub fn sequence(&self, name: &str) -> &Value {
        let found = self
            .sequences
            .iter()
            .find(|report| report["sequence"] == name);
        found.unwrap_or_else(|| panic!("sequence {name} has not reported: {self:#?}"))
    }

    /// The errors of one sequence.
    #[track_caller]
    pub fn errors(&self, name: &str) -> &[Value] {
        self.sequence(name)["errors"]
            .as_array()
            .expect("a report lists its errors")
    }

    /// The names of the sequences that failed.
    pub fn failed(&self) -> Vec<&str> {
        let failed = self
            .sequences
            .iter()
            .filter(|report| report["verdict"] != "passed");
        failed
            .filter_map(|report| report["sequence"].as_str())
            .collect()
    }
}
