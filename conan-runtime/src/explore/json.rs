//! An exploration as data.

use serde_json::{Value, json};

use super::explored::{Explored, Finding, Replayed};
use crate::report::Totals;

impl Explored {
    /// The counts: of the execution that failed, or else of the first one.
    pub(crate) fn totals(&self) -> Totals {
        match &self.finding {
            Finding::Failed(failed) => failed.report.totals,
            _ => Totals {
                test_cases: self.test_cases,
                ..Totals::default()
            },
        }
    }

    /// The exploration as a JSON object.
    pub fn to_json(&self) -> Value {
        let counts = &self.counts;
        let (verdict, reason) = match &self.finding {
            Finding::Failed(_) => ("failed", None),
            Finding::Unreached(_) => ("unreached", None),
            Finding::Exhausted(_) => ("exhausted", None),
            Finding::BoundReached(reason) => ("bound reached", Some(reason)),
            Finding::Impossible(reason) => ("impossible", Some(reason)),
        };
        let failure = match &self.finding {
            Finding::Failed(failed) => json!({
                "execution": failed.execution,
                "token": failed.token,
                "replay": failed.replay,
                "preemptions": failed.preemptions,
                "deviations": failed.deviations,
                "found_preemptions": failed.found_preemptions,
                "found_deviations": failed.found_deviations,
                "replayed": failed.is_replayed,
                "steps": failed.steps,
                "tick_order": failed.tick_order.as_ref().map(|order| json!({
                    "tick": order.tick,
                    "fails_if_first": order.first,
                    "passes_if_first": order.second,
                })),
                "report": failed.report.to_json(),
            }),
            _ => Value::Null,
        };
        let (index, count) = self.exploring.shard;
        let unreached: Vec<_> = match &self.finding {
            Finding::Unreached(spots) => spots.iter().map(|spot| spot.name).collect(),
            _ => Vec::new(),
        };
        // As in the report of a single run, for whoever wants no more.
        let report = match &self.finding {
            Finding::Failed(failed) => failed.report.to_json(),
            _ => json!({ "totals": self.totals().to_json(), "errors": [] }),
        };
        json!({
            "script": self.script.path,
            "sequence": self.sequence.name,
            "line": self.sequence.line,
            "conditions": self.sequence.conditions,
            "clock": "virtual",
            "verdict": if self.has_failed() { "failed" } else { "not failed" },
            "totals": report["totals"],
            "errors": report["errors"],
            "inexact": [],
            "exploration": {
                "verdict": verdict,
                "reason": reason,
                "unreached": unreached,
                "strategy": self.exploring.by.name(),
                "seed": self.exploring.seed,
                "asked": self.exploring.to_string(),
                "shard": { "part": index + 1, "of": count },
                "preemptions": self.exploring.preemptions,
                "spurious": self.exploring.spurious,
                "executions": counts.executions,
                "schedules": counts.schedules,
                "decisions": counts.decisions,
                "longest": counts.longest,
                "inexact": counts.inexact,
                "diverged": counts.diverged,
                "redundant": counts.redundant,
                "estimate": counts.estimate,
                "notes": self.notes,
            },
            "failure": failure,
            "rendered": self.to_string(),
        })
    }
}

impl Replayed {
    /// The report of the execution as a JSON object, with its steps.
    pub fn to_json(&self) -> Value {
        let mut report = self.report.to_json();
        report["replay"] = json!({
            "fits": self.fits,
            "steps": self.steps,
            "order": self.order,
        });
        report["rendered"] = Value::String(self.to_string());
        report
    }
}
