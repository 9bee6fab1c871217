//! What came of tests as JSON, one object a line.

use std::time::Duration;

use serde_json::{Value, json};

use super::execute::{Exactness, Outcome, Verdict};
use super::hang::{self, Label};
use super::list::Test;
use super::report::{Totals, not_exact_in_full};

/// One test.
pub(super) fn test(test: &Test<'_>, outcome: &Outcome) -> Value {
    let (verdict, how, threads) = match &outcome.verdict {
        Verdict::Passed => ("passed", None, Value::Null),
        Verdict::Failed(how) => ("failed", Some(how.as_str()), Value::Null),
        Verdict::Hung(hang) => ("hung", None, threads(hang)),
    };
    let mut value = json!({
        "binary": test.binary.name,
        "test": test.name,
        "verdict": verdict,
        "how": how,
        "real_ns": ns(outcome.real),
        "virtual_ns": outcome.time.map(ns),
        "exact": matches!(outcome.exactness, Exactness::Exact),
        "not_exact": not_exact_in_full(&outcome.exactness),
        "trace": outcome.trace,
        "suspended": threads,
        "leaks": outcome.leaks,
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
    });
    if let Some(scheduled) = &outcome.scheduled {
        value["schedule"] = json!(format!("{:016x}", scheduled.hash));
        value["fits"] = json!(scheduled.fits);
    }
    if let Some(explored) = &outcome.explored {
        value["executions"] = json!(explored.executions);
        value["schedules"] = json!(explored.schedules);
        value["not_exact_executions"] = json!(explored.inexact);
        if let Some((execution, token)) = &explored.failed {
            value["execution"] = json!(execution + 1);
            value["token"] = json!(token);
        }
    }
    value
}

fn threads(hang: &conan_preload::Hang) -> Value {
    let blocks = hang::blocks(hang);
    let blocks = blocks.iter().map(|block| {
        let places = block.places.iter();
        let places = places.map(|(place, function)| json!({"place": place, "in": function}));
        let names = |labels: &[Label]| labels.iter().map(Label::plain).collect::<Vec<_>>();
        json!({
            "thread": block.thread.name,
            "number": block.thread.number,
            "in": block.what,
            "held_by": names(&block.held_by),
            "cycle": names(&block.cycle),
            "places": places.collect::<Vec<_>>(),
        })
    });
    blocks.collect()
}

/// The summary, and how long it all took.
pub(super) fn totals(totals: &Totals, elapsed: Duration) -> Value {
    json!({"totals": {
        "passed": totals.passed,
        "failed": totals.failed,
        "ignored": totals.ignored,
        "exact": totals.exact,
        "real_ns": ns(totals.real),
        "virtual_ns": ns(totals.time),
        "elapsed_ns": ns(elapsed),
    }})
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
