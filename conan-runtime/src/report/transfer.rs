//! A report on its way from one process to another of the same executable.

use serde_json::{Value, json};

use super::{Report, Totals};
use crate::event::{ErrorKind, Failure, Place, Stack};
use crate::script::{Script, Sequence};
use crate::timeline::{Moment, Timeline, What};

impl Report {
    /// All of the report, for [`received`](Self::received).
    pub(crate) fn to_transfer(&self) -> Value {
        let failures: Vec<_> = self.failures.iter().map(|it| failure(self, it)).collect();
        let moments: Vec<_> = self.timeline.moments.iter().map(moment).collect();
        json!({
            "clock": self.clock,
            "totals": self.totals.to_json(),
            "failures": failures,
            "inexact": self.inexact,
            "notes": self.notes,
            "was_refused": self.was_refused,
            "reached": self.reached,
            "abandoned": self.abandoned,
            "has_other_checks": self.has_other_checks,
            "threads": self.timeline.threads,
            "moments": moments,
        })
    }

    /// What another process has reported of a sequence; nothing if it is not
    /// what [`to_transfer`](Self::to_transfer) makes.
    pub(crate) fn received(
        script: &'static Script,
        sequence: &'static Sequence,
        value: &Value,
    ) -> Option<Self> {
        let count = |name: &str| value["totals"][name].as_u64();
        let spots = sequence.hot_spots.iter().map(|spot| spot.name);
        let reached = strings(&value["reached"])?;
        Some(Self {
            script,
            sequence,
            clock: if value["clock"] == "wall" {
                "wall"
            } else {
                "virtual"
            },
            totals: Totals {
                test_cases: count("test_cases")?,
                value_errors: count("value_errors")?,
                exception_errors: count("exception_errors")?,
                liveness_errors: count("liveness_errors")?,
                data_races: count("data_races").unwrap_or(0),
            },
            failures: all(&value["failures"], received_failure)?,
            inexact: strings(&value["inexact"])?,
            notes: strings(&value["notes"])?,
            was_refused: value["was_refused"].as_bool()?,
            reached: spots
                .filter(|name| reached.iter().any(|it| it == name))
                .collect(),
            abandoned: value["abandoned"].as_u64()?,
            has_other_checks: value["has_other_checks"].as_bool()?,
            timeline: Timeline {
                threads: strings(&value["threads"])?,
                moments: all(&value["moments"], received_moment)?.into(),
            },
        })
    }
}

fn all<T>(value: &Value, each: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    value.as_array()?.iter().map(each).collect()
}

fn strings(value: &Value) -> Option<Vec<String>> {
    all(value, |text| text.as_str().map(str::to_owned))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn place(place: Place) -> Value {
    json!([place.line, place.column])
}

fn received_place(value: &Value) -> Option<Place> {
    let number = |index: usize| u32::try_from(value[index].as_u64()?).ok();
    Some(Place {
        line: number(0)?,
        column: number(1)?,
    })
}

fn received_kind(value: &Value) -> Option<ErrorKind> {
    let kinds = [
        ErrorKind::Value,
        ErrorKind::Exception,
        ErrorKind::Liveness,
        ErrorKind::Race,
    ];
    kinds.into_iter().find(|kind| kind.name() == *value)
}

fn failure(report: &Report, failure: &Failure) -> Value {
    json!({
        "kind": failure.kind.name(),
        "thread": failure.thread,
        "tick": failure.tick,
        "place": place(failure.place),
        "message": failure.message,
        "expected": failure.expected,
        "actual": failure.actual,
        "notes": failure.notes,
        "stack": failure.backtrace.as_ref().map(|stack| report.stack(stack)),
    })
}

fn received_failure(value: &Value) -> Option<Failure> {
    Some(Failure {
        kind: received_kind(&value["kind"])?,
        thread: text(&value["thread"]),
        tick: value["tick"].as_u64()?,
        place: received_place(&value["place"])?,
        message: text(&value["message"])?,
        expected: text(&value["expected"]),
        actual: text(&value["actual"]),
        notes: strings(&value["notes"])?,
        backtrace: text(&value["stack"]).map(Stack::Shown),
    })
}

fn moment(moment: &Moment) -> Value {
    let what = match &moment.what {
        What::Call(at) => json!(["call", place(*at)]),
        What::Suspended => json!(["suspended"]),
        What::Running => json!(["running"]),
        What::Woken(by) => json!(["woken", by]),
        What::WokenInVain(by) => json!(["woken in vain", by]),
        What::Error(kind) => json!(["error", kind.name()]),
        What::Ended => json!(["ended"]),
    };
    json!([moment.tick, moment.thread, what])
}

fn received_moment(value: &Value) -> Option<Moment> {
    let what = &value[2];
    let what = match what[0].as_str()? {
        "call" => What::Call(received_place(&what[1])?),
        "suspended" => What::Suspended,
        "running" => What::Running,
        "woken" => What::Woken(text(&what[1])),
        "woken in vain" => What::WokenInVain(text(&what[1])),
        "error" => What::Error(received_kind(&what[1])?),
        "ended" => What::Ended,
        _ => return None,
    };
    Some(Moment {
        tick: value[0].as_u64()?,
        thread: usize::try_from(value[1].as_u64()?).ok()?,
        what,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    static SEQUENCES: [Sequence; 1] = [Sequence {
        name: "sent",
        line: 1,
        conditions: &[],
        ticks: 1,
        stays: &[],
        wake_times: &[],
        explore: None,
        hot_spots: &[],
        build: |_| {},
    }];
    static SCRIPT: Script = Script {
        path: "sent.conan",
        file: "sent.conan",
        source: "first line\nsecond line\n",
        ticktime: 1000,
        sequences: &SEQUENCES,
    };

    #[test]
    fn a_report_is_the_same_after_it_was_sent() {
        let at = Place { line: 2, column: 3 };
        let whats = [
            What::Call(at),
            What::Suspended,
            What::Running,
            What::Woken(None),
            What::WokenInVain(Some("thread b".to_owned())),
            What::Error(ErrorKind::Value),
            What::Ended,
        ];
        let moments = whats.into_iter().zip(1..).map(|(what, tick)| Moment {
            tick,
            thread: 0,
            what,
        });
        let report = Report {
            script: &SCRIPT,
            sequence: &SEQUENCES[0],
            clock: "virtual",
            totals: Totals {
                test_cases: 4,
                value_errors: 3,
                exception_errors: 2,
                liveness_errors: 1,
                data_races: 5,
            },
            failures: vec![Failure {
                kind: ErrorKind::Liveness,
                thread: Some("a".to_owned()),
                tick: 7,
                place: at,
                message: "suspended".to_owned(),
                expected: None,
                actual: Some("in \"this\"\ncall".to_owned()),
                notes: vec!["a note".to_owned()],
                backtrace: Some(Stack::Shown("0: a frame".to_owned())),
            }],
            inexact: vec!["for a reason".to_owned()],
            notes: vec!["of a new process".to_owned()],
            was_refused: true,
            reached: Vec::new(),
            abandoned: 2,
            has_other_checks: true,
            timeline: Timeline {
                threads: vec!["a".to_owned()],
                moments: moments.collect(),
            },
        };
        let line = report.to_transfer().to_string();
        let value = serde_json::from_str(&line).expect("JSON");
        let received = Report::received(&SCRIPT, &SEQUENCES[0], &value).expect("a report");
        assert_eq!(format!("{received:?}"), format!("{report:?}"));
    }
}
