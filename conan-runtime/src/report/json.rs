//! A report as data.

use serde_json::{Value, json};

use super::{Report, Totals, Verdict};
use crate::event::Failure;
use crate::timeline::What;

impl Report {
    /// The report as a JSON object; `rendered` in it is the text of the errors.
    pub fn to_json(&self) -> Value {
        let failures: Vec<Value> = self.failures.iter().map(failure).collect();
        json!({
            "script": self.script.path,
            "sequence": self.sequence.name,
            "line": self.sequence.line,
            "conditions": self.sequence.conditions,
            "clock": self.clock,
            "verdict": match self.verdict() {
                Verdict::Passed => "passed",
                Verdict::Failed => "failed",
            },
            "checks_ran": self.has_checked(),
            "totals": self.totals.to_json(),
            "errors": failures,
            "inexact": self.inexact,
            "notes": self.notes,
            "timeline": timeline(self),
            "rendered": self.errors(),
        })
    }
}

impl Totals {
    /// The counts as a JSON object.
    pub fn to_json(&self) -> Value {
        let mut totals = json!({
            "test_cases": self.test_cases,
            "value_errors": self.value_errors,
            "exception_errors": self.exception_errors,
            "liveness_errors": self.liveness_errors,
        });
        // Only code with hooks can have any.
        if self.data_races > 0 {
            totals["data_races"] = json!(self.data_races);
        }
        totals
    }
}

fn timeline(report: &Report) -> Value {
    let timeline = &report.timeline;
    let code = report.script.codes();
    let moments = timeline.moments.iter().map(|moment| {
        json!({
            "tick": moment.tick,
            "thread": timeline.threads.get(moment.thread),
            "what": match &moment.what {
                What::Call(_) => "call",
                What::Suspended => "suspended",
                What::Running => "running",
                What::Woken(_) => "woken",
                What::WokenInVain(_) => "woken in vain",
                What::Error(_) => "error",
                What::Ended => "ended",
            },
            "text": moment.what.words(&code),
        })
    });
    moments.collect()
}

fn failure(failure: &Failure) -> Value {
    json!({
        "kind": failure.kind.name(),
        "thread": failure.thread,
        "tick": failure.tick,
        "line": failure.place.line,
        "column": failure.place.column,
        "message": failure.message,
        "expected": failure.expected,
        "actual": failure.actual,
        "notes": failure.notes,
    })
}
