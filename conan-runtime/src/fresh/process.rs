//! A new process, seen from the one that has started it.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use conan_explore::Schedule;
use conan_kernel::Strategy;
use serde_json::{Value, json};

use super::{launch, points};
use crate::explore::{Course, Outline};
use crate::report::Report;
use crate::script::{Script, Sequence};

/// A line that begins like this is a point of decision.
pub(super) const POINT: &str = "point ";

/// What a new process is asked to run.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) script: &'static Script,
    pub(crate) sequence: &'static Sequence,
    /// A tick's length in milliseconds, in place of the script's own.
    pub(crate) ticktime: Option<u64>,
    pub(crate) way: Way,
}

/// How it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Once, on the engine that the environment names.
    Once,
    /// As an execution whose decisions are taken elsewhere.
    Explored {
        /// So many steps at most.
        steps: u64,
        /// How many waits may end for no reason.
        spurious: u32,
        /// How many executions it learns from before, where threads meet.
        learned: u64,
        /// True if its steps are to be told.
        notes: bool,
        /// True if it is known already how it is to begin.
        has_more: bool,
        /// True if threads are known to compute or poll for long.
        is_busy: bool,
    },
}

impl Request {
    fn to_json(&self) -> Value {
        let way = match self.way {
            Way::Once => Value::Null,
            Way::Explored {
                steps,
                spurious,
                learned,
                notes,
                has_more,
                is_busy,
            } => json!([steps, spurious, learned, notes, has_more, is_busy]),
        };
        json!({
            "script": self.script.path,
            "sequence": self.sequence.name,
            "line": self.sequence.line,
            "ticktime": self.ticktime,
            "way": way,
        })
    }

    /// What another process asks for of these scripts.
    pub(super) fn received(scripts: &[&'static Script], line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let is_script = |script: &&&'static Script| script.path == value["script"];
        let script = *scripts.iter().find(is_script)?;
        let is_it = |sequence: &&Sequence| {
            sequence.name == value["sequence"] && value["line"] == sequence.line
        };
        let way = &value["way"];
        Some(Self {
            script,
            sequence: script.sequences.iter().find(is_it)?,
            ticktime: value["ticktime"].as_u64(),
            way: match way {
                Value::Null => Way::Once,
                way => Way::Explored {
                    steps: way[0].as_u64()?,
                    spurious: u32::try_from(way[1].as_u64()?).ok()?,
                    learned: way[2].as_u64()?,
                    notes: way[3].as_bool()?,
                    has_more: way[4].as_bool()?,
                    is_busy: way[5].as_bool()?,
                },
            },
        })
    }
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) report: Report,
    pub(crate) steps: Outline,
    /// How many threads are left behind in the process.
    left: u64,
}

impl Answer {
    pub(super) fn to_json(report: &Report, steps: &Outline, left: u64) -> Value {
        json!({
            "report": report.to_transfer(),
            "steps": steps.table,
            "order": steps.order,
            "course": steps.course.to_json(),
            "left": left,
        })
    }

    fn received(request: &Request, line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        Some(Self {
            report: Report::received(request.script, request.sequence, &value["report"])?,
            steps: Outline {
                table: value["steps"].as_str()?.to_owned(),
                order: serde_json::from_value(value["order"].clone()).ok()?,
                course: Course::from_json(&value["course"])?,
            },
            left: value["left"].as_u64()?,
        })
    }
}

/// A new process of the executable. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    connection: BufReader<UnixStream>,
    /// How many threads are left behind in it.
    left: u64,
}

impl Process {
    pub(crate) fn start() -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        // What the component prints was printed here, or will be.
        let child = launch::command()?
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            child,
            connection: BufReader::new(ours),
            left: 0,
        })
    }

    /// How many threads earlier executions have left behind in it.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Has a sequence run there. Its decisions are those of the schedule.
    pub(crate) fn execute(
        &mut self,
        request: &Request,
        mut schedule: Option<Schedule>,
    ) -> Result<Answer, String> {
        let ended = |error: &io::Error| format!("a new process for it has ended: {error}");
        self.say(&request.to_json().to_string())
            .map_err(|e| ended(&e))?;
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.connection.read_line(&mut line);
            if read.map_err(|error| ended(&error))? == 0 {
                return Err(format!("a new process for it has ended{}", self.status()));
            }
            let Some(point) = line.strip_prefix(POINT) else {
                break;
            };
            let (Some(schedule), Some(point)) = (&mut schedule, points::read(point)) else {
                return Err(format!("a new process for it has said `{}`", line.trim()));
            };
            let chosen = schedule.decide(&point.point());
            let more = u8::from(schedule.has_more());
            let decided = self.say(&format!("{chosen} {more}"));
            decided.map_err(|error| ended(&error))?;
        }
        let answer = Answer::received(request, &line);
        let answer =
            answer.ok_or_else(|| format!("a new process for it has said `{}`", line.trim()))?;
        self.left = answer.left;
        Ok(answer)
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        let line = format!("{line}\n");
        self.connection.get_mut().write_all(line.as_bytes())
    }

    fn status(&mut self) -> String {
        let status = self.child.wait();
        status.map_or_else(|_| String::new(), |status| format!(": {status}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
