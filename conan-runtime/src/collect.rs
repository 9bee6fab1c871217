//! The collector: makes a report of a sequence's events.

use crate::event::{ErrorKind, Event, Failure};
use crate::report::{Report, Totals};
use crate::script::{Script, Sequence};

pub(crate) struct Collector {
    report: Report,
}

impl Collector {
    pub(crate) fn new(
        script: &'static Script,
        sequence: &'static Sequence,
        clock: &'static str,
    ) -> Self {
        Self {
            report: Report {
                script,
                sequence,
                clock,
                totals: Totals::default(),
                failures: Vec::new(),
                inexact: Vec::new(),
            },
        }
    }

    pub(crate) fn take(&mut self, event: Event) {
        match event {
            Event::Template { .. } => self.report.totals.test_cases += 1,
            Event::Failed(failure) => self.fail(*failure),
            Event::Ticked(_) | Event::Ended { .. } => {}
        }
    }

    fn fail(&mut self, failure: Failure) {
        let totals = &mut self.report.totals;
        match failure.kind {
            ErrorKind::Value => totals.value_errors += 1,
            ErrorKind::Exception => totals.exception_errors += 1,
            ErrorKind::Liveness => totals.liveness_errors += 1,
        }
        self.report.failures.push(failure);
    }

    /// The report, its errors in the order of tick and line.
    pub(crate) fn finish(mut self, inexact: Vec<String>) -> Report {
        self.report.inexact = inexact;
        let order = |failure: &Failure| (failure.tick, failure.place, failure.thread.clone());
        self.report.failures.sort_by_key(order);
        self.report
    }
}
