//! What came of an exploration.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use conan_explore::{Bounds, Counts};

use super::exploring::Exploring;
use super::tick_order::TickOrder;
use crate::hot_spot::HotSpot;
use crate::report::Report;
use crate::script::{Script, Sequence};

/// Why most explorations end that find nothing.
pub(super) const ALL_MADE: &str = "all executions that were asked for were made";

/// What came of exploring a sequence.
#[derive(Debug)]
pub struct Explored {
    /// The script.
    pub script: &'static Script,
    /// The sequence.
    pub sequence: &'static Sequence,
    /// What was asked for.
    pub exploring: Exploring,
    /// What was done.
    pub counts: Counts,
    /// Test cases of the first execution.
    pub test_cases: u64,
    /// What was found.
    pub finding: Finding,
    /// What there is to say about how executions were made.
    pub notes: Vec<String>,
}

/// What an exploration can find. It never says that a sequence has passed for
/// other reasons than that every schedule was run.
#[derive(Debug)]
pub enum Finding {
    /// An execution failed.
    Failed(Box<Failed>),
    /// No execution has come to these hot spots, but one should have.
    Unreached(Vec<HotSpot>),
    /// Every schedule was run, within these bounds.
    Exhausted(Bounds),
    /// There was more to run, or may have been; this ended it.
    BoundReached(String),
    /// The sequence could not be run, for this reason.
    Impossible(String),
}

/// A failure, and how to get there.
#[derive(Debug)]
pub struct Failed {
    /// What was wrong, in the simplest execution that was found.
    pub report: Report,
    /// The execution that failed first, counted from 0.
    pub execution: u64,
    /// What `cargo conan replay` takes.
    pub token: String,
    /// The command that replays it.
    pub replay: String,
    /// How often a thread that could go on loses its turn.
    pub preemptions: usize,
    /// How many decisions are not the default.
    pub deviations: usize,
    /// The same in the execution that failed first.
    pub found_preemptions: usize,
    /// The same in the execution that failed first.
    pub found_deviations: usize,
    /// False if the same decisions did not lead to the same failure again.
    pub is_replayed: bool,
    /// The schedule step by step, one column a thread.
    pub steps: String,
    /// The order inside a tick in which alone it differs from the default, as
    /// far as the first difference tells.
    pub tick_order: Option<TickOrder>,
}

/// An execution of a schedule that was kept.
#[derive(Debug)]
pub struct Replayed {
    /// What came of it.
    pub report: Report,
    /// False if the program is not the one that the token is of.
    pub fits: bool,
    /// The schedule step by step, one column a thread.
    pub steps: String,
    /// The threads of each tick, in the order in which they went first.
    pub order: BTreeMap<u64, Vec<String>>,
}

impl Explored {
    /// True if something was wrong.
    pub fn has_failed(&self) -> bool {
        !matches!(
            self.finding,
            Finding::Exhausted(_) | Finding::BoundReached(_)
        )
    }

    /// The verdict in a line.
    pub fn verdict(&self) -> String {
        let counts = &self.counts;
        let executions = plural(counts.executions, "execution");
        match &self.finding {
            Finding::Failed(failed) => format!(
                "FAILED in execution {} ({})",
                failed.execution + 1,
                self.exploring
            ),
            Finding::Unreached(spots) => {
                let names: Vec<_> = spots.iter().map(|spot| spot.name).collect();
                let names = names.join("`, `");
                format!(
                    "FAILED: no execution has come to `{names}`, in {executions} ({})",
                    self.exploring
                )
            }
            Finding::Exhausted(bounds) => {
                let within = match bounds.preemptions {
                    Some(bound) => format!(" with at most {}", plural(bound as u64, "preemption")),
                    None => String::new(),
                };
                let (index, count) = self.exploring.shard;
                let part = match count {
                    1 => String::new(),
                    _ => format!(" of part {} of {count}", index + 1),
                };
                format!("exhausted: every schedule{within}{part} was run ({executions})")
            }
            Finding::BoundReached(reason) => {
                let schedules = plural(counts.schedules, "different schedule");
                let estimate = match counts.estimate {
                    Some(estimate) => format!(", of about {}", rounded(estimate)),
                    None => String::new(),
                };
                // How many, is said already.
                let reason = match reason.as_str() {
                    ALL_MADE => String::new(),
                    reason => format!("; {reason}"),
                };
                format!(
                    "bound reached: no failure in {executions}, {schedules}{estimate} ({}){reason}",
                    self.exploring
                )
            }
            Finding::Impossible(reason) => format!("FAILED: it could not be run: {reason}"),
        }
    }
}

impl Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, line) = (self.sequence.name, self.sequence.line);
        writeln!(
            f,
            "{name} ({}:{line}): {}",
            self.script.path,
            self.verdict()
        )?;
        if let Finding::Failed(failed) = &self.finding {
            failed.write(f)?;
        }
        let counts = &self.counts;
        if counts.inexact > 0 {
            let inexact = plural(counts.inexact, "execution");
            writeln!(f, "note: {inexact} did what the engine does not see")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        if counts.diverged > 0 {
            let diverged = plural(counts.diverged, "execution");
            writeln!(
                f,
                "note: {diverged} went another way though the same was decided: \
                 something random is in the component"
            )?;
        }
        Ok(())
    }
}

impl Failed {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.report.errors())?;
        let size = |preemptions: usize, deviations: usize| {
            let preemptions = plural(preemptions as u64, "preemption");
            let deviations = plural(deviations as u64, "decision");
            format!("{preemptions}, {deviations} other than the default")
        };
        let shown = size(self.preemptions, self.deviations);
        let found = size(self.found_preemptions, self.found_deviations);
        write!(f, "\nthe schedule: {shown}")?;
        if shown == found {
            writeln!(f)?;
        } else {
            writeln!(f, " (when it was found: {found})")?;
        }
        if !self.steps.is_empty() {
            write!(f, "\n{}", self.steps)?;
        }
        if let Some(order) = &self.tick_order {
            writeln!(f, "\nnote: {order}")?;
        }
        if self.is_replayed {
            writeln!(f, "\nreplay: {}", self.replay)
        } else {
            writeln!(
                f,
                "\nnote: the same decisions did not lead to the same failure again; \
                 they were: {}",
                self.token
            )
        }
    }
}

impl Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.report)?;
        if self.report.failures.is_empty() {
            let code = self.report.script.codes();
            write!(f, "\n{}", self.report.timeline.table(&code))?;
        }
        if !self.steps.is_empty() {
            write!(f, "\n{}", self.steps)?;
        }
        if !self.fits {
            writeln!(
                f,
                "\nnote: the replay took a different path: the code, the script or the options \
                 are not those with which the token was recorded"
            )?;
        }
        Ok(())
    }
}

fn plural(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

/// An estimate is not exact, and should not look it.
fn rounded(estimate: f64) -> String {
    if estimate < 1e6 {
        format!("{estimate:.0}")
    } else {
        format!("{estimate:.0e}")
    }
}
