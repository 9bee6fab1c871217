//! The workers of a job: the component as it is first, then its mutants, as
//! many at a time as there are workers.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use conan_mutate::Mutant;
use serde_json::Value;

use super::Site;
use super::plan::{self, Job};
use super::progress::Progress;
use super::report::{Done, Report};
use super::verdict::{Limits, Verdict, judge};
use super::worker::{Component, Worker};
use crate::cli::MutateArgs;
use crate::exit::{Exit, Stop, error};
use crate::output;
use crate::run::execute::{self, Driver, Ended, described, has_refused};
use crate::run::interrupt;

/// A compiler that has not ended by then never will.
const BUILD_LIMIT: Duration = Duration::from_secs(600);
/// A mutant may run this much longer than the component itself, ...
const RUN_FACTOR: u32 = 20;
/// ... and this long in any case.
const RUN_LIMIT: Duration = Duration::from_secs(10);

/// Tries all mutants of a job.
pub(super) fn work(args: &MutateArgs, site: &Site<'_>, job: &Job, report: &mut Report) -> Stop<()> {
    let first = open(site, job, 0)?;
    for component in &job.components {
        first.put(&component.relative, &component.source)?;
    }
    let driver = first.build()?;
    let took = baseline(args, &first, &driver, job)?;
    let run = match args.timeout.map(Duration::from_secs) {
        Some(limit) if limit <= took => {
            return Err(error(format_args!(
                "--timeout: the component itself takes {:.1} s",
                took.as_secs_f64()
            )));
        }
        Some(limit) => limit,
        None => RUN_LIMIT.max(took * RUN_FACTOR),
    };
    let limits = Limits {
        build: BUILD_LIMIT,
        run,
        sequences: job.sequences,
    };
    let tasks = tasks(job);
    let workers = if args.mutant.is_empty() {
        number_of_workers(args).min(tasks.len())
    } else {
        1
    };
    // Before anything is changed.
    for number in 1..workers {
        let folder = site.worker(number);
        if !folder.exists() {
            first.share(&folder);
        }
    }
    for component in &job.components {
        if !first.is_built_from(&of(component), &limits)? {
            return Err(error(format_args!(
                "the driver is not built from {}: the compiler does not see a change of it",
                component.shown
            )));
        }
    }
    let mut crew = vec![first];
    for number in 1..workers {
        crew.push(open(site, job, number)?);
    }
    report.begin(job);
    if args.mutant.is_empty() {
        try_all(args, &crew, &tasks, &limits, report)?;
    } else {
        for task in &tasks {
            show(args, &crew[0], job, task, &limits, report)?;
        }
    }
    report.finish(job);
    Ok(())
}

/// A mutant that is to be tried.
struct Task<'j> {
    component: usize,
    source: &'j plan::Component,
    mutant: &'j Mutant,
}

fn tasks(job: &Job) -> Vec<Task<'_>> {
    let components = job.components.iter().enumerate();
    let tasks = components.flat_map(|(component, source)| {
        source.mutants.iter().map(move |mutant| Task {
            component,
            source,
            mutant,
        })
    });
    tasks.collect()
}

fn of(component: &plan::Component) -> Component<'_> {
    Component {
        path: &component.relative,
        source: &component.source,
    }
}

fn open(site: &Site<'_>, job: &Job, number: usize) -> Stop<Worker> {
    let folder = site.worker(number);
    Worker::open(&folder, site.workspace, site.package, &job.scripts)
}

fn number_of_workers(args: &MutateArgs) -> usize {
    let asked = args.jobs.or_else(|| thread::available_parallelism().ok());
    asked.map_or(1, usize::from)
}

/// Runs the scripts against the component as it is. They must pass.
fn baseline(args: &MutateArgs, worker: &Worker, driver: &Path, job: &Job) -> Stop<Duration> {
    let start = Instant::now();
    let driver = Driver::new(driver, &worker.scratch, &args.clock).on_stderr();
    let mut reported = 0;
    let mut failed = false;
    let ended = driver.run(None, |line| {
        if let Ok(report) = serde_json::from_str::<Value>(line) {
            reported += 1;
            if report["verdict"] == "failed" {
                failed = true;
                let text = |field: &str| report[field].as_str().unwrap_or_default();
                let (sequence, script) = (text("sequence"), text("script"));
                let (line, rendered) = (&report["line"], text("rendered"));
                output::err(format_args!(
                    "{sequence} ({script}:{line}): FAILED\n{rendered}\n"
                ));
            }
        }
        ControlFlow::Continue(())
    })?;
    interrupt::checkpoint()?;
    let Ended::Itself(status, _) = ended else {
        return Err(Exit::Failed);
    };
    if has_refused(status) {
        // The driver has said itself what is wrong with its settings.
        return Err(Exit::Wrong);
    }
    let names: Vec<String> = job
        .scripts
        .iter()
        .map(|script| script.display().to_string())
        .collect();
    let names = names.join(", ");
    if failed {
        error(format_args!(
            "{names} fails on the component as it is; mend that before its mutants are tried"
        ));
        return Err(Exit::Failed);
    }
    if reported < job.sequences || !status.success() {
        let how = described(status);
        error(format_args!(
            "the driver of {names} ended ({how}) before all sequences had reported, on the component as it is"
        ));
        return Err(Exit::Failed);
    }
    Ok(start.elapsed())
}

/// Tries mutants until none is left.
fn try_all(
    args: &MutateArgs,
    crew: &[Worker],
    tasks: &[Task<'_>],
    limits: &Limits,
    report: &mut Report,
) -> Stop<()> {
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for worker in crew {
            let (next, stopped, sender) = (&next, &stopped, sender.clone());
            scope.spawn(move || {
                while !stopped.load(Ordering::SeqCst) {
                    let index = next.fetch_add(1, Ordering::SeqCst);
                    let Some(task) = tasks.get(index) else { break };
                    let start = Instant::now();
                    let mutated = task.mutant.apply(&task.source.source);
                    let component = of(task.source);
                    let verdict = worker.attempt(&component, &mutated, &args.clock, limits);
                    stopped.fetch_or(verdict.is_err(), Ordering::SeqCst);
                    let _ = sender.send((index, verdict, start.elapsed()));
                }
            });
        }
        drop(sender);
        let progress = Progress::new(tasks.len());
        let mut outcome = Ok(());
        // Who has finished first does not matter: they are told in order.
        let mut waiting: Vec<Option<Done>> = tasks.iter().map(|_| None).collect();
        let mut told = 0;
        for (index, verdict, time) in receiver {
            match verdict {
                Ok(verdict) => waiting[index] = Some(done(&tasks[index], verdict, time)),
                Err(exit) => outcome = Err(exit),
            }
            while let Some(done) = waiting.get_mut(told).and_then(Option::take) {
                progress.around(|| report.mutant(&done));
                told += 1;
            }
            progress.step(report);
        }
        outcome
    })
}

fn done(task: &Task<'_>, verdict: Verdict, time: Duration) -> Done {
    Done {
        component: task.component,
        file: task.source.shown.clone(),
        diff: task.mutant.diff(&task.source.source, &task.source.shown),
        words: super::report::words(task.mutant, &task.source.source),
        mutant: task.mutant.clone(),
        verdict,
        time,
    }
}

/// Tries one mutant, and shows what the scripts report about it.
fn show(
    args: &MutateArgs,
    worker: &Worker,
    job: &Job,
    task: &Task<'_>,
    limits: &Limits,
    report: &mut Report,
) -> Stop<()> {
    let start = Instant::now();
    let component = of(task.source);
    let mutated = task.mutant.apply(&task.source.source);
    let built = worker.build_mutant(&component, &mutated, limits)?;
    let verdict = match &built {
        None => Verdict::Unviable,
        Some(driver) => {
            let driver = Driver::new(driver, &worker.scratch, &args.clock).of_mutant();
            judge(driver.unheard(), *limits)?
        }
    };
    let done = done(task, verdict, start.elapsed());
    report.before(&done);
    // Once more, for people to see. One that hangs would do so again.
    if let Some(driver) = built.filter(|_| !done.verdict.is_time_out()) {
        let (scratch, format) = (&worker.scratch, args.message_format);
        execute::execute(&driver, scratch, &args.clock, format, job.sequences)?;
    }
    report.after(&done);
    report.mutant(&done);
    Ok(())
}
