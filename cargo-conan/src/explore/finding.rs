//! What explorations have found, as data, and how parts are joined.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::cli::Format;
use crate::github::{self, Level, Location};
use crate::output;
use crate::run::reports;

/// What was found out about one sequence.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    /// As the driver has written it, or as `join` has made it.
    value: Value,
    /// The parts that are in it.
    parts: BTreeSet<u64>,
    /// How many there are in all.
    of: u64,
}

/// Counts that can be added up.
const COUNTS: [&str; 6] = [
    "executions",
    "schedules",
    "decisions",
    "inexact",
    "diverged",
    "redundant",
];

impl Finding {
    /// Reads what a driver has written, or `explore` as JSON.
    pub(super) fn from_json(value: Value) -> Option<Self> {
        let shard = &value["exploration"]["shard"];
        let of = shard["of"].as_u64()?;
        let parts = match shard["part"].as_u64() {
            Some(part) => BTreeSet::from([part]),
            None => shard["parts"]
                .as_array()?
                .iter()
                .filter_map(Value::as_u64)
                .collect(),
        };
        Some(Self { value, parts, of })
    }

    pub(super) fn to_json(&self) -> Value {
        let mut value = self.value.clone();
        value["exploration"]["shard"] = match self.parts.first() {
            Some(part) if self.parts.len() == 1 => json!({ "part": part, "of": self.of }),
            _ => json!({ "parts": self.parts, "of": self.of }),
        };
        value["rendered"] = self.text().into();
        value
    }

    /// True if both are about the same sequence.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        ["script", "sequence"]
            .iter()
            .all(|key| self.value[key] == other.value[key])
    }

    pub(super) fn has_failed(&self) -> bool {
        self.value["verdict"] == "failed"
    }

    /// The parts that are not in it.
    pub(super) fn missing(&self) -> impl Iterator<Item = u64> {
        let all = 1..=self.of;
        all.filter(|part| !self.parts.contains(part))
    }

    /// The counts of executions and schedules.
    pub(super) fn counts(&self) -> &Value {
        &self.value["exploration"]
    }

    /// The failure, as a driver tells of one that is not made simpler yet.
    pub(super) fn failure(&self) -> Option<Value> {
        let execution = self.failed_at()?;
        Some(json!({
            "execution": execution,
            "token": self.value["failure"]["token"],
            "rendered": self.value["rendered"],
        }))
    }

    /// The number of the execution that failed, if one did.
    pub(super) fn failed_at(&self) -> Option<u64> {
        self.value["failure"]["execution"].as_u64()
    }

    /// What processes of ours have found is one part of all.
    pub(super) fn made_part(mut self, (part, of): (u64, u64)) -> Self {
        self.parts = BTreeSet::from([part]);
        self.of = of;
        self
    }

    /// Adds another part.
    pub(super) fn join(&mut self, other: &Self) -> Result<(), String> {
        let (own, theirs) = (&self.value["exploration"], &other.value["exploration"]);
        if self.of != other.of
            || ["strategy", "seed"]
                .iter()
                .any(|key| own[key] != theirs[key])
        {
            return Err("this is a part of another exploration".to_owned());
        }
        if let Some(part) = self.parts.intersection(&other.parts).next() {
            return Err(format!("part {part} of {} comes a second time", self.of));
        }
        let mut joined = self.exploration(theirs);
        joined["verdict"] = self.verdict(other).into();
        let first = match (self.failed_at(), other.failed_at()) {
            (None, Some(_)) => &other.value,
            (Some(own), Some(theirs)) if theirs < own => &other.value,
            _ => &self.value,
        };
        let mut value = first.clone();
        let is_failure = ["failed", "impossible", "unreached"].map(Value::from);
        let has_failed = is_failure.contains(&joined["verdict"]);
        value["verdict"] = if has_failed { "failed" } else { "not failed" }.into();
        value["exploration"] = joined;
        self.parts.extend(&other.parts);
        self.value = value;
        Ok(())
    }

    fn exploration(&self, theirs: &Value) -> Value {
        let mut joined = self.value["exploration"].clone();
        for key in COUNTS {
            let sum = joined[key].as_u64().unwrap_or(0) + theirs[key].as_u64().unwrap_or(0);
            joined[key] = sum.into();
        }
        let longest = joined["longest"].as_u64().max(theirs["longest"].as_u64());
        joined["longest"] = longest.into();
        let estimates = [&joined["estimate"], &theirs["estimate"]];
        joined["estimate"] = match estimates.map(Value::as_f64) {
            [Some(own), Some(theirs)] => f64::midpoint(own, theirs).into(),
            [own, theirs] => own.or(theirs).into(),
        };
        joined["unreached"] = self.unreached(theirs).into();
        joined["notes"] = self.notes().chain(notes(theirs)).cloned().collect();
        joined["joined"] = true.into();
        joined
    }

    /// What there is to say about how executions were made.
    fn notes(&self) -> impl Iterator<Item = &Value> {
        notes(&self.value["exploration"])
    }

    /// What neither of two parts has reached: one of them is enough.
    fn unreached(&self, theirs: &Value) -> Vec<Value> {
        let list = |value: &Value| value["unreached"].as_array().cloned().unwrap_or_default();
        let theirs = list(theirs);
        let mut own = list(&self.value["exploration"]);
        own.retain(|name| theirs.contains(name));
        own
    }

    /// What two parts come to together.
    fn verdict(&self, other: &Self) -> &'static str {
        let both = [&self.value["exploration"], &other.value["exploration"]];
        let any = |verdict: &str| both.iter().any(|part| part["verdict"] == verdict);
        if any("failed") {
            "failed"
        } else if any("impossible") {
            "impossible"
        } else if !self.unreached(both[1]).is_empty() {
            "unreached"
        } else if any("bound reached") || any("unreached") {
            // Of a part that has not reached a hot spot, nobody knows whether
            // it has come to its end.
            "bound reached"
        } else {
            "exhausted"
        }
    }

    /// A line for the sequence, and one for each error of an execution that has
    /// failed.
    pub(super) fn print_lines(&self, format: Format) {
        reports::lines(format, &self.value);
        let text = self.text();
        let verdict = text.lines().next().unwrap_or_default();
        let replay = self.value["failure"]["replay"].as_str();
        let replay = replay.map_or_else(String::new, |command| format!("; replay: {command}"));
        let message = format!("{verdict}{replay}");
        if format == Format::Github {
            let place = Location {
                file: self.value["script"].as_str().unwrap_or_default(),
                line: self.value["line"].as_u64().unwrap_or(1),
                column: None,
            };
            let level = if self.has_failed() {
                Level::Error
            } else {
                Level::Notice
            };
            github::annotate(level, Some(&place), "explore", &message);
        } else {
            output::out(format_args!("{message}\n"));
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let rendered = self.value["rendered"].as_str().unwrap_or_default();
        let exploration = &self.value["exploration"];
        let is_whole = self.parts.len() as u64 == self.of;
        // The driver's own words are of one part.
        if exploration["verdict"] == "failed" || exploration["joined"] != true {
            return rendered.to_owned();
        }
        let count = |key: &str| exploration[key].as_u64().unwrap_or(0);
        let (name, script) = (&self.value["sequence"], &self.value["script"]);
        let (name, script) = (name.as_str().unwrap_or("?"), script.as_str().unwrap_or("?"));
        let mut what = match exploration["verdict"].as_str() {
            Some("exhausted") if is_whole => "exhausted: every schedule was run".to_owned(),
            Some("exhausted") => "exhausted: every schedule of these parts was run".to_owned(),
            Some("unreached") => {
                let names: Vec<_> = exploration["unreached"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .collect();
                let names: Vec<_> = names.iter().filter_map(|name| name.as_str()).collect();
                format!("FAILED: no execution has come to `{}`", names.join("`, `"))
            }
            Some("impossible") => "FAILED: it could not be run".to_owned(),
            _ => "bound reached: no failure".to_owned(),
        };
        if let Some(bound) = exploration["preemptions"].as_u64()
            && exploration["verdict"] == "exhausted"
        {
            what.push_str(&format!(" with at most {bound} preemptions"));
        }
        let line = &self.value["line"];
        let mut text = format!(
            "{name} ({script}:{line}): {what}, in {} executions, {} schedules",
            count("executions"),
            // Those of another part were run to find out whose they are.
            count("schedules").saturating_sub(count("redundant"))
        );
        if let Some(estimate) = exploration["estimate"].as_f64()
            && exploration["verdict"] == "bound reached"
        {
            text.push_str(&format!(", of about {estimate:.0}"));
        }
        if self.of > 1 {
            text.push_str(&format!(" ({} of {} parts)", self.parts.len(), self.of));
        }
        text.push('\n');
        for note in self.notes().filter_map(Value::as_str) {
            text.push_str(&format!("note: {note}\n"));
        }
        text
    }
}

fn notes(exploration: &Value) -> impl Iterator<Item = &Value> {
    exploration["notes"].as_array().into_iter().flatten()
}
