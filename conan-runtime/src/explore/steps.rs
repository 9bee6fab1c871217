//! A schedule step by step: what each thread does, where it loses its turn,
//! and why.

use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use conan_kernel::{Choice, Kind, Point, Step};

use super::tick_order::Course;
use crate::backtrace::component_frame;
use crate::event::Place;
use crate::timeline::{NARROWEST, WIDTH, row, wrapped};

/// Steps that are shown; of a longer schedule the last ones.
const MOST: usize = 60;

/// What the engine's own threads are called: they are of no interest.
const OURS: [&str; 3] = ["setup", "teardown", "drop"];

/// The steps of an execution that is over, as they are shown and compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outline {
    /// The steps as a table.
    pub(crate) table: String,
    /// The threads of each tick, in the order in which they ran first.
    pub(crate) order: BTreeMap<u64, Vec<String>>,
    pub(crate) course: Course,
}

/// The steps of one execution.
#[derive(Debug, Default)]
pub(crate) struct Steps(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    tick: u64,
    /// By their numbers in the world.
    names: BTreeMap<usize, String>,
    steps: Vec<Noticed>,
    /// Ticks in which threads have begun a block of the script, by their names.
    blocks: Vec<(u64, String)>,
}

#[derive(Debug)]
struct Noticed {
    tick: u64,
    thread: usize,
    what: Happened,
}

#[derive(Debug)]
enum Happened {
    /// It came to this code of the script.
    Code(Place),
    /// Something in words, and the component's line where it was.
    Stopped(&'static str, Option<String>),
    /// It chose whom to wake.
    Woke(usize, usize),
    /// Its wait ended for no reason.
    Spurious,
    /// Its time was up before that of others.
    TimeOut,
}

impl Steps {
    /// What is kept of them.
    pub(crate) fn outline(&self, code: &dyn Fn(Place) -> String) -> Outline {
        Outline {
            table: self.table(code),
            order: self.order(),
            course: self.course(),
        }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calling thread's name.
    pub(crate) fn name(&self, thread: usize, name: &str) {
        self.noted().names.insert(thread, name.to_owned());
    }

    /// The clock has come to the next tick.
    pub(crate) fn tick(&self) {
        self.noted().tick += 1;
    }

    /// A thread has come to this code of the script.
    pub(crate) fn at(&self, thread: usize, place: Place) {
        let mut noted = self.noted();
        let last = noted.steps.iter().rfind(|step| step.thread == thread);
        // A statement in a loop, or a template and its code, is said once.
        let is_there = last.is_some_and(|last| {
            last.tick == noted.tick && matches!(last.what, Happened::Code(there) if there == place)
        });
        if !is_there {
            noted.add(thread, Happened::Code(place));
        }
    }

    /// A thread begins a block of the script.
    pub(crate) fn begins_block(&self, thread: usize) {
        let mut noted = self.noted();
        let block = (noted.tick, noted.name(thread));
        noted.blocks.push(block);
    }

    /// What the threads have come to, in order, and the blocks that they have
    /// begun.
    fn course(&self) -> Course {
        let noted = self.noted();
        let comings = noted.steps.iter().filter_map(|step| match step.what {
            Happened::Code(place) => Some((step.tick, noted.name(step.thread), place)),
            _ => None,
        });
        Course {
            comings: comings.collect(),
            blocks: noted.blocks.clone(),
        }
    }

    /// A decision was taken, on the stack of the thread that has run so far.
    pub(crate) fn decided(&self, point: &Point<'_>, chosen: usize) {
        let option = &point.options[chosen];
        match point.kind {
            Kind::Next => {
                if let Some(previous) = point.previous
                    && previous != option.thread
                {
                    let backtrace = Backtrace::force_capture().to_string();
                    let why = why(previous, point.options, &backtrace);
                    let place = component_frame(&backtrace);
                    let what = Happened::Stopped(why, place);
                    self.noted().add(previous, what);
                }
                if option.step == Step::TimeOut {
                    self.noted().add(option.thread, Happened::TimeOut);
                }
            }
            Kind::Wake => {
                if let Some(previous) = point.previous {
                    let others = point.options.len() - 1;
                    self.noted()
                        .add(previous, Happened::Woke(option.thread, others));
                }
            }
            Kind::Due => self.noted().add(option.thread, Happened::TimeOut),
            Kind::Spurious if chosen == 1 => {
                self.noted().add(option.thread, Happened::Spurious);
            }
            Kind::Spurious => {}
        }
    }

    /// The threads of each tick, in the order in which they came to code of
    /// the script.
    fn order(&self) -> BTreeMap<u64, Vec<String>> {
        let noted = self.noted();
        let mut order: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for step in &noted.steps {
            if let (Happened::Code(_), Some(name)) = (&step.what, noted.names.get(&step.thread)) {
                let threads = order.entry(step.tick).or_default();
                if !threads.contains(name) {
                    threads.push(name.clone());
                }
            }
        }
        order
    }

    /// The steps as a table, at most 100 columns wide.
    fn table(&self, code: &dyn Fn(Place) -> String) -> String {
        let noted = self.noted();
        let is_ours = |thread: usize| {
            let name = noted.names.get(&thread);
            name.is_some_and(|name| OURS.contains(&name.as_str()))
        };
        let all: Vec<_> = noted
            .steps
            .iter()
            .filter(|step| !is_ours(step.thread))
            .collect();
        let hidden = all.len().saturating_sub(MOST);
        let steps = &all[hidden..];
        let mut threads: Vec<usize> = steps.iter().map(|step| step.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        if threads.is_empty() {
            return String::new();
        }
        let mut out = String::new();
        if hidden > 0 {
            out.push_str(&format!("({hidden} earlier steps are not shown)\n"));
        }
        let fits = threads.len() <= (WIDTH - 4) / (NARROWEST + 3);
        let width = ((WIDTH - 4) / threads.len()).saturating_sub(3).min(40);
        if fits {
            let names: Vec<_> = threads.iter().map(|&thread| noted.name(thread)).collect();
            out.push_str(&row("tick", names.iter().map(String::as_str), width));
            let rule: Vec<String> = threads.iter().map(|_| "-".repeat(width)).collect();
            out.push_str(&format!("-----+-{}\n", rule.join("-+-")));
        }
        let mut tick = None;
        for step in steps {
            let label = match tick.replace(step.tick) {
                Some(before) if before == step.tick => String::new(),
                _ => step.tick.to_string(),
            };
            let words = noted.words(&step.what, code);
            if !fits {
                let name = noted.name(step.thread);
                out.push_str(&format!("{label:>4} | {name}: {words}\n"));
                continue;
            }
            let column = threads.iter().position(|&thread| thread == step.thread);
            for (number, line) in wrapped(&words, width).into_iter().enumerate() {
                let label = if number == 0 { label.as_str() } else { "" };
                let cell = |index| {
                    if Some(index) == column {
                        line.as_str()
                    } else {
                        ""
                    }
                };
                out.push_str(&row(label, (0..threads.len()).map(cell), width));
            }
        }
        out
    }
}

impl Noted {
    fn add(&mut self, thread: usize, what: Happened) {
        let tick = self.tick;
        self.steps.push(Noticed { tick, thread, what });
    }

    fn name(&self, thread: usize) -> String {
        let name = self.names.get(&thread).cloned();
        name.unwrap_or_else(|| format!("component's thread {thread}"))
    }

    fn words(&self, what: &Happened, code: &dyn Fn(Place) -> String) -> String {
        match what {
            Happened::Code(place) => code(*place),
            Happened::Stopped(why, None) => format!("... {why}"),
            Happened::Stopped(why, Some(place)) => format!("... {why}, at {place}"),
            Happened::Woke(thread, others) => {
                let name = self.name(*thread);
                format!("wakes {name}, not one of {others} more")
            }
            Happened::Spurious => "woken for no reason".to_owned(),
            Happened::TimeOut => "its time is up".to_owned(),
        }
    }
}

/// Why a thread has no longer the turn. The backtrace is its own.
fn why(thread: usize, options: &[Choice], backtrace: &str) -> &'static str {
    let own = options.iter().find(|option| option.thread == thread);
    match own.map(|option| option.step) {
        None if backtrace.contains("await_time") => "waits for its next tick",
        None if component_frame(backtrace).is_some() => "waits",
        None if backtrace.contains("\n             at ") => "has ended",
        None => "waits or has ended",
        Some(Step::Wait(_)) => "interrupted before it waits",
        Some(Step::Wake(_)) => "interrupted before it wakes another",
        Some(Step::Yield) => "lets others go first",
        Some(Step::Join(_)) => "interrupted before it joins a thread",
        Some(Step::Load(_)) => "interrupted before it reads",
        Some(Step::Store(_)) => "interrupted before it writes",
        Some(_) => "interrupted",
    }
}
