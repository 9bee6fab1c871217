//! How far an exploration is, for people at a terminal. Elsewhere nothing is
//! shown.

use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

/// A bar on standard error.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Executions of a sequence, for each process, if they are limited.
    share: Option<u64>,
    /// How far each process is, in executions.
    done: Mutex<Vec<u64>>,
}

impl Progress {
    pub(super) fn new(executions: Option<u64>, sequences: usize, jobs: u64) -> Self {
        let (bar, style) = match executions {
            Some(executions) => (
                ProgressBar::new(executions.saturating_mul(sequences as u64)),
                "{bar:30} {pos}/{len} executions, {per_sec}, {msg}",
            ),
            None => (
                ProgressBar::new_spinner(),
                "{spinner} {pos} executions, {per_sec}, {msg}",
            ),
        };
        let style = ProgressStyle::with_template(style);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            bar,
            share: executions.map(|executions| executions.div_ceil(jobs)),
            done: Mutex::new(vec![0; jobs as usize]),
        }
    }

    /// A process has told how far it is in one of the sequences.
    pub(super) fn told(&self, job: u64, told: &Value) {
        let executions = told["executions"].as_u64().unwrap_or(0);
        let schedules = told["schedules"].as_u64().unwrap_or(0);
        let mut message = format!(
            "{}: {schedules} schedules",
            told["sequence"].as_str().unwrap_or("?")
        );
        if let Some(estimate) = told["estimate"].as_f64() {
            message.push_str(&format!(", of about {estimate:.0}"));
        }
        self.bar.set_message(message);
        self.set(job, |before| match self.share {
            Some(share) => before / share * share + executions.min(share - 1),
            None => before.max(executions),
        });
    }

    /// A process has done with so many sequences.
    pub(super) fn done(&self, job: u64, sequences: usize) {
        if let Some(share) = self.share {
            self.set(job, |_| share * sequences as u64);
        }
    }

    fn set(&self, job: u64, value: impl FnOnce(u64) -> u64) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let own = &mut done[job as usize];
        *own = value(*own);
        self.bar.set_position(done.iter().sum());
    }

    /// Lets something be printed.
    pub(super) fn around(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
