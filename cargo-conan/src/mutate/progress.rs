//! How far we are, for people at a terminal. Elsewhere nothing is shown.

use indicatif::{ProgressBar, ProgressStyle};

use super::report::Report;

/// A bar on standard error.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new(mutants: usize) -> Self {
        let bar = ProgressBar::new(mutants as u64);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} mutants, {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(bar)
    }

    /// One more mutant has been tried.
    pub(crate) fn step(&self, report: &Report) {
        self.0.set_message(report.so_far());
        self.0.inc(1);
    }

    /// Lets something be printed.
    pub(crate) fn around(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
