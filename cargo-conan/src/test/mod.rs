//! `cargo conan test`: anybody's tests, unchanged, in virtual time. Each runs
//! in a process of its own, with the kernel preloaded; and under many
//! schedules, if that is asked for.

mod args;
mod build;
mod digest;
mod execute;
mod explore;
mod hang;
mod json;
mod junit;
mod library;
mod lines;
mod list;
#[cfg(target_os = "linux")]
mod original;
#[cfg(not(target_os = "linux"))]
#[path = "no_original.rs"]
mod original;
mod output;
mod queue;
mod random;
mod replay;
mod report;
mod runner;

use std::ffi::OsString;
use std::process::Stdio;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use args::{Extent, Request};
use build::{Built, build, cargo};
use execute::{Executor, Outcome};
use library::Library;
use list::{Test, list};
use queue::Queue;
use report::Report;
pub(crate) use runner::runner;

use crate::cli::Format;
use crate::exit::{Exit, Stop, error};
use crate::files;
use crate::output::has_results;
use crate::run::interrupt::{self, Group};

/// A test that takes longer is mentioned while it runs.
const SLOW: Duration = Duration::from_secs(10);

/// Runs the tests that were asked for.
pub(crate) fn test(words: impl IntoIterator<Item = OsString>) -> Stop<()> {
    let request = Request::parse(words)?;
    interrupt::will_report();
    if request.format != Format::Human {
        has_results();
    }
    if request.extent == Extent::OnlyDoc {
        return doc_tests(&request);
    }
    let built = build(&request)?;
    if request.extent == Extent::NoRun {
        return Ok(());
    }
    let library = if request.wall {
        None
    } else {
        Some(Library::under(&built.target, request.random)?)
    };
    let failed = run_all(&request, &built, library.as_ref())?;
    interrupt::checkpoint().map_err(|exit| match exit {
        Exit::Undecided if failed => Exit::TestsFailed,
        exit => exit,
    })?;
    // Nothing in them can be explored.
    let is_plain = request.exploring.is_none() && request.replay.is_none();
    let wants_doc_tests = built.has_doc_tests && !request.selects_targets && is_plain;
    if wants_doc_tests && (!failed || request.goes_on()) {
        doc_tests(&request)?;
    }
    if failed {
        return Err(Exit::TestsFailed);
    }
    Ok(())
}

/// Runs the tests of all binaries. True if any failed.
fn run_all(request: &Request, built: &Built, library: Option<&Library>) -> Stop<bool> {
    let mut tests = Vec::new();
    for binary in &built.binaries {
        tests.extend(list(binary, request)?);
    }
    if let (Some(token), Some(library)) = (&request.replay, library) {
        let test = replay::choose(tests, request)?;
        let mut report = Report::new(request, 1, 1, 0);
        replay::replay(&test, token, library, &mut report)?;
        let failed = finished(request, &report, &[])?;
        return replay::has_fitted(&report).map(|()| failed);
    }
    let only_ignored = request.says(&["--ignored"]);
    let with_ignored = only_ignored || request.says(&["--include-ignored"]);
    let (chosen, ignored): (Vec<Test<'_>>, Vec<Test<'_>>) = tests
        .into_iter()
        .filter(|test| test.is_ignored || !only_ignored)
        .partition(|test| !test.is_ignored || with_ignored);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = request.threads().unwrap_or(cores);
    let mut report = Report::new(request, built.binaries.len(), chosen.len(), ignored.len());
    match (&request.exploring, library) {
        (Some(exploring), Some(library)) => {
            explore::explore(&chosen, exploring, library, workers, &mut report);
        }
        _ => run_in_parallel(&chosen, library, workers, &mut report),
    }
    finished(request, &report, &ignored)
}

/// The end of the report. True if any test failed.
fn finished(request: &Request, report: &Report<'_>, ignored: &[Test<'_>]) -> Stop<bool> {
    if let Some(path) = &request.junit {
        let written = files::replace(path, &junit::text(&report.results, ignored));
        written.map_err(|failure| files::cannot_write(path, &failure))?;
    }
    report.totals();
    Ok(report.failed())
}

/// What workers tell.
enum Event<'t> {
    Begun(usize),
    Ended(usize, &'t Test<'t>, Box<std::io::Result<Outcome>>),
}

fn run_in_parallel<'t>(
    tests: &'t [Test<'t>],
    library: Option<&Library>,
    workers: usize,
    report: &mut Report<'t>,
) {
    let queue = Queue::new(tests);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..workers.min(tests.len()) {
            let (sender, queue) = (sender.clone(), &queue);
            scope.spawn(move || {
                let mut executor = Executor::new(library);
                let mut taken = None;
                while !interrupt::must_stop()
                    && let Some(next) = queue.take(taken.as_ref())
                {
                    let (number, test) = (next.number, &tests[next.number]);
                    let _ = sender.send(Event::Begun(number));
                    let outcome = executor.execute(test, number, None);
                    if outcome.is_err() && interrupt::must_stop() {
                        break;
                    }
                    let _ = sender.send(Event::Ended(number, test, Box::new(outcome)));
                    taken = Some(next);
                }
            });
        }
        drop(sender);
        let mut running: Vec<(usize, Instant)> = Vec::new();
        loop {
            match receiver.recv_timeout(Duration::from_secs(1)) {
                Ok(Event::Begun(number)) => running.push((number, Instant::now())),
                Ok(Event::Ended(number, test, outcome)) => {
                    running.retain(|(other, _)| *other != number);
                    match *outcome {
                        Ok(outcome) => report.ended(test, outcome),
                        Err(failure) => {
                            error(format_args!("cannot run {}: {failure}", test.full_name()));
                            report.not_started();
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    running.retain(|(number, begun)| {
                        let is_slow = begun.elapsed() >= SLOW;
                        if is_slow {
                            report.slow(&tests[*number]);
                        }
                        !is_slow
                    });
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
}

/// Doc tests are cargo's own affair: rustdoc builds and runs them.
fn doc_tests(request: &Request) -> Stop<()> {
    let mut command = cargo();
    command.args(["test", "--doc"]).args(&request.cargo);
    command
        .args(&request.filter)
        .arg("--")
        .args(&request.harness);
    if request.format != Format::Human {
        command.stdout(Stdio::from(std::io::stderr()));
    }
    let mut child = interrupt::start(&mut command, Group::Own).map_err(|failure| {
        interrupt::unless_stopped(|| error(format_args!("cannot start cargo: {failure}")))
    })?;
    let status = child.wait();
    drop(child);
    if status.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    Err(interrupt::unless_stopped(|| Exit::TestsFailed))
}
