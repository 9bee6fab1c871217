//! A thread of a sequence: what its generated code calls, and how it runs.

use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::Sender;

use crate::clock::Clock;
use crate::engine::{Waker, Witness};
use crate::escaped::Escaped;
use crate::event::{ErrorKind, Event, Failure, Place, Stack};
use crate::panics::{self, Caught};
use crate::plan::Body;
use crate::scope::{self, Scope};
use crate::script::Script;
use crate::state::{Phase, States};
use crate::wake::Lists;

/// What the threads of one run have in common.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) script: &'static Script,
    pub(crate) scope: Scope,
    /// Reaches a time when every thread has come to rest at it.
    pub(crate) rest: Arc<dyn Clock>,
    pub(crate) states: States,
    pub(crate) witness: Arc<dyn Witness>,
    pub(crate) names: Vec<String>,
    pub(crate) lists: Lists,
}

/// A thread's side of the driver: the clock and the templates.
#[derive(Debug)]
pub struct Conan {
    pub(crate) run: Arc<Run>,
    pub(crate) number: usize,
    /// `None` for the checks outside any thread.
    pub(crate) name: Option<String>,
    pub(crate) events: Sender<Event>,
    /// The last call in which the thread was suspended from tick to tick.
    pub(crate) suspended: Mutex<Option<Suspended>>,
}

/// A call that a thread came out of at a later tick.
#[derive(Debug, Clone)]
pub(crate) struct Suspended {
    pub(crate) place: Place,
    pub(crate) since: u64,
    pub(crate) until: u64,
    pub(crate) waker: Option<Waker>,
}

impl Conan {
    /// Suspends the thread until the clock reaches `time`. The code that
    /// follows begins at this place of the script.
    pub fn at_tick(&self, time: u64, line: u32, column: u32) {
        self.run.states.set(self.number, Phase::Waiting(time));
        let place = Place { line, column };
        self.run.scope.clock.await_time(time, place);
        self.run.witness.begins_block();
        self.step(line, column);
    }

    /// Suspends the checks until every thread has come to rest at `time`.
    pub fn at_rest(&self, time: u64, line: u32, column: u32) {
        self.run.states.set(self.number, Phase::Waiting(time));
        self.run.rest.await_time(time, Place { line, column });
        self.step(line, column);
    }

    /// Says which place of the script comes next, should the thread stay there.
    pub fn step(&self, line: u32, column: u32) {
        let phase = Phase::Running {
            since: self.now(),
            place: Place { line, column },
        };
        self.run.states.set(self.number, phase);
        self.run.witness.at(Place { line, column });
    }

    /// Notes that the call at `place`, begun at tick `since`, is over.
    pub(crate) fn came_out_of(&self, place: Place, since: u64) {
        let until = self.now();
        if until <= since {
            return;
        }
        let waker = self.run.witness.waker();
        let by = waker.as_ref().and_then(Waker::name);
        self.send(Event::Woken {
            thread: self.number,
            tick: until,
            by,
        });
        let suspended = Suspended {
            place,
            since,
            until,
            waker,
        };
        *self
            .suspended
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(suspended);
    }

    /// A sentence on the suspension that the thread came out of at this tick:
    /// it explains a wrong wake-up time.
    pub(crate) fn last_suspension(&self) -> Option<String> {
        let suspended = self
            .suspended
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let suspended = suspended.as_ref().filter(|last| last.until == self.now())?;
        let Suspended {
            place,
            since,
            until,
            waker,
        } = suspended;
        let script = self.run.script;
        let mut text = format!(
            "suspended at tick {since} in `{}`, woken at tick {until}",
            script.code_at(*place)
        );
        if let Some(waker) = waker {
            text.push_str(&waker.in_words(script));
        }
        Some(text)
    }

    pub(crate) fn now(&self) -> u64 {
        self.run.scope.clock.time()
    }

    pub(crate) fn send(&self, event: Event) {
        // After the sequence's end nobody listens to an abandoned thread.
        let _ = self.events.send(event);
    }

    pub(crate) fn failure(&self, kind: ErrorKind, place: Place, message: String) -> Failure {
        Failure {
            kind,
            thread: self.name.clone(),
            tick: self.now(),
            place,
            message,
            expected: None,
            actual: None,
            notes: Vec::new(),
            backtrace: None,
        }
    }

    pub(crate) fn fail(&self, mut failure: Failure) {
        failure.notes.extend(self.last_suspension());
        self.send(Event::Failed(Box::new(failure)));
    }

    fn place(&self) -> Place {
        match self.run.states.get(self.number) {
            Phase::Running { place, .. } => place,
            _ => Place { line: 1, column: 1 },
        }
    }

    /// Runs the thread's code to its end.
    pub(crate) fn main(self, body: Body) {
        panics::silence_this_thread();
        scope::enter(self.run.scope.clone());
        match panics::catch(|| body(&self)) {
            Ok(Ok(())) => {}
            Ok(Err(escaped)) => {
                let failure = self.escaped(&escaped, self.place());
                self.fail(failure);
            }
            Err(caught) => {
                let message = "the thread panicked and ended".to_owned();
                let failure = self.failure(ErrorKind::Exception, self.place(), message);
                self.fail(self.panicked(failure, &caught));
                self.run.witness.has_panicked();
            }
        }
        let tick = self.now();
        let thread = self.number;
        self.send(Event::Ended { thread, tick });
        self.run.states.set(self.number, Phase::Finished(tick));
    }

    /// The failure for an error that left the thread's code by `?`.
    fn escaped(&self, escaped: &Escaped, place: Place) -> Failure {
        let message = "an error left the thread's code, and the thread ended".to_owned();
        let mut failure = self.failure(ErrorKind::Exception, place, message);
        failure.actual = Some(format!("Err({})", escaped.shown));
        let at = escaped.location;
        if let Some(place) = self.run.script.place_of(at.file(), at.line(), at.column()) {
            failure.place = place;
        }
        failure
    }

    /// Adds a panic's message and place to a failure. A panic in the script's
    /// own code moves the failure to its line.
    pub(crate) fn panicked(&self, mut failure: Failure, caught: &Caught) -> Failure {
        add_panic(self.run.script, &mut failure, caught);
        failure
    }
}

/// Adds a panic's message, place and backtrace to a failure.
pub(crate) fn add_panic(script: &Script, failure: &mut Failure, caught: &Caught) {
    failure.actual = Some(format!("panic: {}", caught.message));
    if let Some((file, line, column)) = &caught.location {
        match script.place_of(file, *line, *column) {
            Some(place) => {
                let path = script.path;
                let Place { line, column } = place;
                failure
                    .notes
                    .push(format!("panicked at {path}:{line}:{column}"));
            }
            None => failure
                .notes
                .push(format!("panicked at {file}:{line}:{column}")),
        }
    }
    failure.backtrace = caught.backtrace.clone().map(Stack::Captured);
}
