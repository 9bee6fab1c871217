//! The new process itself: runs what it is asked for.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use conan_explore::{Schedule, Search};
use conan_kernel::Point;
use serde_json::Value;

use super::process::{Answer, POINT, Request, Way};
use super::{launch, points};
use crate::engine::with_same_threads;
use crate::explore::{Outline, Replayer};
use crate::run::{Settings, run_on};
use crate::script::Script;

/// If the process is one that another of the same executable has started, runs
/// what that one asks for, and does not return.
pub(crate) fn serve_if_asked(scripts: &[&'static Script]) {
    let Some(parent) = launch::parent() else {
        return;
    };
    let Ok(connection) = conan_kernel::connection_to_parent(parent) else {
        process::exit(2);
    };
    let connection = Connection::new(connection.into());
    with_same_threads(|| serve(scripts, &connection));
    process::exit(0);
}

fn serve(scripts: &[&'static Script], connection: &Connection) {
    let mut replayer: Option<Replayer> = None;
    while let Some(line) = connection.hear() {
        let Some(request) = Request::received(scripts, &line) else {
            return;
        };
        let answer = match request.way {
            Way::Once => once(&request),
            Way::Explored {
                steps,
                spurious,
                learned,
                notes,
                has_more,
                is_busy,
            } => {
                let known = replayer.take().filter(|it| it.is_for(&request, steps));
                let mut known = known.unwrap_or_else(|| Replayer::new(&request, steps));
                let schedule = Schedule::new(Asking::new(connection, has_more), spurious);
                let (report, steps) = known.execute(schedule, learned, notes, is_busy);
                replayer = Some(known);
                let steps = steps.unwrap_or_default();
                Some(Answer::to_json(&report, &steps, left()))
            }
        };
        let Some(answer) = answer else { return };
        connection.say(&answer.to_string());
    }
}

fn left() -> u64 {
    conan_kernel::left_behind() as u64
}

fn once(request: &Request) -> Option<Value> {
    let engine = Settings::from_env().ok()?.engine;
    let report = run_on(request.script, request.sequence, engine, request.ticktime);
    let left = left() + report.abandoned;
    Some(Answer::to_json(&report, &Outline::default(), left))
}

/// The connection to the process that takes the decisions.
#[derive(Clone)]
struct Connection(Arc<Mutex<BufReader<UnixStream>>>);

impl Connection {
    fn new(stream: UnixStream) -> Self {
        Self(Arc::new(Mutex::new(BufReader::new(stream))))
    }

    /// The next line; nothing if the other process has ended.
    fn hear(&self) -> Option<String> {
        let mut line = String::new();
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let read = stream.read_line(&mut line);
        read.is_ok_and(|read| read > 0).then_some(line)
    }

    /// One who does not listen has ended, which `hear` says.
    fn say(&self, line: &str) {
        let line = format!("{line}\n");
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = stream.get_mut().write_all(line.as_bytes());
    }
}

/// Has every decision taken by the other process.
struct Asking {
    connection: Connection,
    /// True if the other process knows already what comes next.
    has_more: bool,
}

impl Asking {
    fn new(connection: &Connection, has_more: bool) -> Self {
        Self {
            connection: connection.clone(),
            has_more,
        }
    }
}

impl Search for Asking {
    fn begin(&mut self, _: u64) {}

    fn decide(&mut self, point: &Point<'_>) -> usize {
        let line = format!("{POINT}{}", points::written(point));
        self.connection.say(&line);
        let decided = self.connection.hear().unwrap_or_default();
        let mut words = decided.split_ascii_whitespace();
        // If the other process has ended, the result does not matter.
        let chosen = words.next().and_then(|word| word.parse().ok());
        self.has_more = words.next() == Some("1");
        chosen.unwrap_or(0)
    }

    fn has_more(&self) -> bool {
        self.has_more
    }
}
