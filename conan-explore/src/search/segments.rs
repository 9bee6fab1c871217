//! A schedule as the stretches that each thread runs.
//!
//! Decisions are counted over all threads: leave one out, and the others mean
//! something else. Stretches are counted in each thread's own steps, and can
//! be moved.

use std::collections::VecDeque;

use conan_kernel::{Kind, Point};

use super::Search;
use crate::trace::Trace;

/// A thread runs, to its own step `until`, or as long as it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) thread: usize,
    pub(crate) until: Option<u64>,
}

/// Follows stretches as far as they can be followed.
#[derive(Debug, Clone)]
pub(crate) struct Segments {
    stretches: Vec<Segment>,
    /// The decisions that are not about who runs next.
    others: Vec<usize>,
    next: usize,
    /// The thread of the present stretch has had a turn in it.
    has_begun: bool,
    left: VecDeque<usize>,
}

impl Segments {
    pub(crate) fn new(stretches: Vec<Segment>, others: Vec<usize>) -> Self {
        Self {
            stretches,
            others,
            next: 0,
            has_begun: false,
            left: VecDeque::new(),
        }
    }

    /// The stretches of an execution, and its other decisions.
    pub(crate) fn of(trace: &Trace) -> (Vec<Segment>, Vec<usize>) {
        let mut segments: Vec<Segment> = Vec::new();
        let mut others = Vec::new();
        for (taken, left_at) in trace.taken().iter().zip(trace.left_at()) {
            if taken.kind != Kind::Next {
                others.push(taken.chosen);
                continue;
            }
            let runs = |segments: &[Segment], thread| {
                segments.last().is_some_and(|last| last.thread == thread)
            };
            // Where there was no choice, nothing was written down.
            if let Some(thread) = taken.previous
                && !runs(&segments, thread)
            {
                segments.push(Segment {
                    thread,
                    until: None,
                });
            }
            if !runs(&segments, taken.thread) {
                if let Some(last) = segments.last_mut() {
                    last.until = left_at;
                }
                segments.push(Segment {
                    thread: taken.thread,
                    until: None,
                });
            }
        }
        (segments, others)
    }
}

impl Search for Segments {
    fn begin(&mut self, _: u64) {
        self.next = 0;
        self.has_begun = false;
        self.left = self.others.iter().copied().collect();
    }

    fn decide(&mut self, point: &Point<'_>) -> usize {
        if point.kind != Kind::Next {
            return self.left.pop_front().unwrap_or(0);
        }
        while let Some(segment) = self.stretches.get(self.next) {
            let mut options = point.options.iter();
            let index = options.position(|option| option.thread == segment.thread);
            let goes_on = !self.has_begun || point.previous == Some(segment.thread);
            if let Some(index) = index.filter(|_| goes_on) {
                let position = point.options[index].position;
                if segment.until.is_none_or(|until| position < until) {
                    self.has_begun = true;
                    return index;
                }
            }
            self.next += 1;
            self.has_begun = false;
        }
        0
    }
}
