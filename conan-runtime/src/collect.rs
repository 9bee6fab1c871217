//! The collector: makes a report of a sequence's events.

use crossbeam_channel::Receiver;

use crate::event::{ErrorKind, Event, Failure};
use crate::report::{Report, Totals};
use crate::script::{Script, Sequence};
use crate::timeline::{Timeline, What};

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
                has_other_checks: !sequence.stays.is_empty()
                    || !sequence.wake_times.is_empty()
                    || !sequence.hot_spots.is_empty(),
                failures: Vec::new(),
                inexact: Vec::new(),
                notes: Vec::new(),
                was_refused: false,
                reached: Vec::new(),
                abandoned: 0,
                timeline: Timeline::default(),
            },
        }
    }

    pub(crate) fn name_threads(&mut self, names: &[String]) {
        self.report.timeline.threads = names.to_vec();
    }

    /// The sequence has checks outside any thread.
    pub(crate) fn has_checks(&mut self) {
        self.report.has_other_checks = true;
    }

    /// Takes all events that have come so far.
    pub(crate) fn take_all(&mut self, events: &Receiver<Event>) {
        for event in events.try_iter() {
            self.take(event);
        }
    }

    fn take(&mut self, event: Event) {
        let timeline = &mut self.report.timeline;
        match event {
            Event::Template {
                thread,
                tick,
                place,
            } => {
                self.report.totals.test_cases += 1;
                timeline.add(tick, thread, What::Call(place));
            }
            Event::Suspended {
                thread,
                tick,
                place,
                woken,
            } => {
                let call = What::Call(place);
                if woken.is_some() {
                    timeline.add(tick, thread, What::WokenInVain(woken));
                }
                timeline.stay(tick, thread, call, What::Suspended);
            }
            Event::Running {
                thread,
                tick,
                place,
            } => timeline.stay(tick, thread, What::Call(place), What::Running),
            Event::Woken { thread, tick, by } => timeline.add(tick, thread, What::Woken(by)),
            Event::Ended { thread, tick } => timeline.add(tick, thread, What::Ended),
            Event::Failed(failure) => self.fail(*failure),
            Event::Ticked(_) => {}
        }
    }

    fn fail(&mut self, failure: Failure) {
        let totals = &mut self.report.totals;
        match failure.kind {
            ErrorKind::Value => totals.value_errors += 1,
            ErrorKind::Exception => totals.exception_errors += 1,
            ErrorKind::Liveness => totals.liveness_errors += 1,
            ErrorKind::Race => totals.data_races += 1,
        }
        let timeline = &mut self.report.timeline;
        if let Some(name) = &failure.thread
            && failure.kind != ErrorKind::Liveness
            && let Some(thread) = timeline.threads.iter().position(|thread| thread == name)
        {
            timeline.add(failure.tick, thread, What::Error(failure.kind));
        }
        self.report.failures.push(failure);
    }

    /// The report, its errors in the order of tick and line.
    pub(crate) fn finish(mut self, inexact: Vec<String>, abandoned: u64) -> Report {
        self.report.inexact = inexact;
        self.report.abandoned = abandoned;
        let order = |failure: &Failure| (failure.tick, failure.place, failure.thread.clone());
        self.report.failures.sort_by_key(order);
        self.report
    }
}
