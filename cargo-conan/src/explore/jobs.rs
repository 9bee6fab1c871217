//! Explores in several processes at a time.
//!
//! Each has its own part of the executions, and goes through it up to its own
//! first failure. Of those failures the one counts that is first in the order
//! of the executions' numbers, whichever process was quicker.

use std::fs;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use conan_protocol::replay::OPTIONS;
use serde_json::Value;

use super::Prepared;
use super::finding::Finding;
use super::progress::Progress;
use super::request::Request;
use super::unfinished::Unfinished;
use crate::cli::ClockArgs;
use crate::exit::{Exit, Stop, error};
use crate::run::execute::{Driver, Ended, broken_off, described, has_refused};
use crate::run::interrupt;

/// Processes that explore the same scripts.
pub(super) struct Jobs<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) request: &'a Request,
    pub(super) count: u64,
    pub(super) ticktime: Option<u64>,
    pub(super) sequence: Option<&'a str>,
    /// True if standard output is for data.
    pub(super) is_data: bool,
}

/// What a process has to say.
enum Said {
    /// How many executions of a sequence there have been, schedules, and an
    /// estimate of all.
    Progress(Box<Value>),
    /// A failure, before its schedule is made simpler.
    Failure(Box<Value>),
    Found(Box<Finding>),
}

/// How far a process is.
#[derive(Default)]
struct Process {
    /// The place of the sequence that it explores.
    sequence: usize,
    /// The counts that it has told last of that sequence.
    counts: Option<Value>,
    /// A failure of that sequence whose schedule it makes simpler.
    failure: Option<Value>,
}

impl Process {
    fn at(sequence: usize) -> Self {
        Self {
            sequence,
            ..Self::default()
        }
    }
}

/// What is known of a sequence, from processes that have explored their part of
/// it, and from those that were stopped in the middle.
fn unfinished(place: usize, name: &str, parts: &[Finding], processes: &[Process]) -> Unfinished {
    let mut unfinished = Unfinished::new(name);
    for part in parts {
        unfinished.add(part.counts());
        if let Some(failure) = part.failure() {
            unfinished.add_failure(&failure);
        }
    }
    for process in processes.iter().filter(|it| it.sequence == place) {
        process
            .counts
            .iter()
            .for_each(|counts| unfinished.add(counts));
        if let Some(failure) = &process.failure {
            unfinished.add_failure(failure);
        }
    }
    unfinished
}

impl Jobs<'_> {
    /// Explores, and hands on what was found of each sequence, in order. Returns
    /// the sequences that were not explored to their ends, if it was stopped.
    pub(super) fn run(&self, mut found: impl FnMut(Finding)) -> Stop<Vec<Unfinished>> {
        let sequences = self.prepared.sequences.len();
        let progress = Progress::new(self.request.executions, sequences, self.count);
        let (sender, receiver) = mpsc::channel();
        let failure = Mutex::new(None);
        let mut processes: Vec<Process> = (0..self.count).map(|_| Process::default()).collect();
        // For each sequence, what the processes have found.
        let mut parts: Vec<Vec<Finding>> = Vec::new();
        let mut shown = 0;
        thread::scope(|scope| {
            for job in 0..self.count {
                let (sender, failure) = (sender.clone(), &failure);
                scope.spawn(move || {
                    if let Err(exit) = self.run_one(job, &sender) {
                        let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                        failure.get_or_insert(exit);
                    }
                });
            }
            drop(sender);
            // The processes come to the sequences in the same order, each at
            // its own pace.
            for (job, said) in receiver {
                let process = &mut processes[job as usize];
                let part = match said {
                    Said::Progress(told) => {
                        progress.told(job, &told);
                        process.counts = Some(*told);
                        continue;
                    }
                    Said::Failure(failure) => {
                        process.failure = Some(*failure);
                        continue;
                    }
                    Said::Found(part) => *part,
                };
                let place = process.sequence;
                if parts.len() == place {
                    parts.push(Vec::new());
                }
                parts[place].push(part);
                *process = Process::at(place + 1);
                progress.done(job, place + 1);
                while let Some(done) = parts
                    .get_mut(shown)
                    .filter(|p| p.len() as u64 == self.count)
                {
                    let finding = self.joined(std::mem::take(done));
                    progress.around(|| found(finding));
                    shown += 1;
                }
            }
        });
        if interrupt::must_stop() {
            let names = self.prepared.sequences.iter().enumerate().skip(shown);
            let unfinished = names.map(|(place, name)| {
                let parts = parts.get(place).map_or(&[][..], Vec::as_slice);
                unfinished(place, name, parts, &processes)
            });
            return Ok(unfinished.collect());
        }
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(exit) => Err(exit),
            None => Ok(Vec::new()),
        }
    }

    /// One finding of those of all processes.
    fn joined(&self, parts: Vec<Finding>) -> Finding {
        let mut parts = parts.into_iter();
        let mut finding = parts.next().expect("there is a process");
        for part in parts {
            // They are of the same exploration.
            let _ = finding.join(&part);
        }
        finding.made_part(self.request.part)
    }

    fn run_one(&self, job: u64, sender: &Sender<(u64, Said)>) -> Stop<()> {
        let scratch = &self.prepared.scratch;
        let clock = ClockArgs {
            clock: None,
            ticktime: self.ticktime,
        };
        let reports = scratch
            .root
            .join(format!("explored-{}-{job}.jsonl", std::process::id()));
        interrupt::remove_with_us(&reports);
        let mut driver = Driver::new(&self.prepared.driver, scratch, &clock)
            .told("CONAN_EXPLORE", self.request.words(job, self.count))
            .told("CONAN_PROGRESS", "1")
            .told(OPTIONS, &self.prepared.replay_options)
            .reporting_to(reports.clone());
        if let Some(sequence) = self.sequence {
            driver = driver.told("CONAN_SEQUENCE", sequence);
        }
        if self.is_data {
            driver = driver.on_stderr();
        }
        let mut count = 0;
        let ended = driver.run(None, |line| {
            let Ok(mut value) = serde_json::from_str::<Value>(line) else {
                return ControlFlow::Continue(());
            };
            let said = if let Some(told) = value.get_mut("progress") {
                Some(Said::Progress(Box::new(told.take())))
            } else if let Some(failure) = value.get_mut("found") {
                Some(Said::Failure(Box::new(failure.take())))
            } else {
                count += 1;
                Finding::from_json(value).map(|found| Said::Found(Box::new(found)))
            };
            if let Some(said) = said {
                // The receiver goes on until all senders are gone.
                let _ = sender.send((job, said));
            }
            ControlFlow::Continue(())
        });
        let _ = fs::remove_file(&reports);
        let Ended::Itself(status, begun) = ended? else {
            return Err(interrupt::exit(false));
        };
        if has_refused(status) {
            return Err(Exit::Wrong);
        }
        let missing = self.prepared.sequences.len().saturating_sub(count);
        if missing > 0 {
            return Err(interrupt::unless_stopped(|| {
                let how = described(status);
                error(broken_off(&how, begun.as_ref(), missing, "were explored"));
                Exit::Failed
            }));
        }
        Ok(())
    }
}
