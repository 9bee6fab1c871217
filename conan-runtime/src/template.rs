//! The templates, as a thread's generated code calls them. Each is a test
//! case; none of them stops its thread.
//!
//! A driver has thousands of templates, each with a closure of its own type.
//! What depends on that type is kept to a line, and the rest works on a
//! `dyn` closure: it is compiled once.

use crate::escaped::Escaped;
use crate::event::{ErrorKind, Event, Failure, Place};
use crate::panics::{self, Caught};
use crate::state::Phase;
use crate::thread::Conan;
use crate::wake::Wake;

/// What the code of an `#excMonitor` comes to: the exception, if it is one.
type Monitored = Result<Option<String>, Escaped>;

/// What a value check comes to: actual and expected, if they differ.
type Compared = Result<Option<(String, String)>, Escaped>;

/// How a template's code ended.
enum Outcome<T> {
    Done(T),
    Escaped(Escaped),
    Panicked(Caught),
}

/// A closure to be called once, for all that its type does not say so.
type Code<'c, T> = &'c mut dyn FnMut() -> Result<T, Escaped>;

/// Makes a `dyn` closure of one that can be called once only.
macro_rules! once {
    ($code:ident) => {{
        let mut code = Some($code);
        move || match code.take() {
            Some(code) => code(),
            None => unreachable!("a template's code runs once"),
        }
    }};
}

impl Conan {
    /// `#excMonitor code #end`: an exception is an error.
    pub fn exc_monitor(&self, line: u32, column: u32, code: impl FnOnce() -> Monitored) {
        self.no_exception(Place { line, column }, &mut once!(code));
    }

    /// `#excMonitor let g = code; #end`: also hands on what was bound.
    /// Without it the thread cannot go on.
    pub fn exc_monitor_let<T>(
        &self,
        line: u32,
        column: u32,
        code: impl FnOnce() -> Result<(Option<String>, T), Escaped>,
    ) -> Option<T> {
        let mut bound = None;
        let code = || {
            let (exception, value) = code()?;
            bound = Some(value);
            Ok(exception)
        };
        self.no_exception(Place { line, column }, &mut once!(code));
        bound
    }

    /// `#excMonitor code # panic "part" #end`: the panic is required.
    pub fn exc_monitor_panic(
        &self,
        line: u32,
        column: u32,
        part: Option<&str>,
        code: impl FnOnce() -> Monitored,
    ) {
        self.panic_required(Place { line, column }, part, &mut once!(code));
    }

    /// `#excMonitor code # pattern #end`: the code says what came instead, if
    /// its value does not match.
    pub fn exc_monitor_match(
        &self,
        line: u32,
        column: u32,
        pattern: &str,
        code: impl FnOnce() -> Monitored,
    ) {
        let message = "the expected exception did not come";
        let kind = ErrorKind::Exception;
        self.match_required(
            kind,
            message,
            Place { line, column },
            pattern,
            &mut once!(code),
        );
    }

    /// `#valueCheck actual # expected #end`
    pub fn value_check(&self, line: u32, column: u32, code: impl FnOnce() -> Compared) {
        self.equality_required(Place { line, column }, &mut once!(code));
    }

    /// `#matchCheck actual # pattern #end`: the code says what came instead,
    /// if its value does not match.
    pub fn match_check(
        &self,
        line: u32,
        column: u32,
        pattern: &str,
        code: impl FnOnce() -> Monitored,
    ) {
        let message = "the value does not match the pattern";
        let kind = ErrorKind::Value;
        self.match_required(
            kind,
            message,
            Place { line, column },
            pattern,
            &mut once!(code),
        );
    }

    fn no_exception(&self, place: Place, code: Code<'_, Option<String>>) {
        match self.template(place, code) {
            Outcome::Done(None) => {}
            Outcome::Done(Some(exception)) => {
                let message = "the code came to an error".to_owned();
                let mut failure = self.failure(ErrorKind::Exception, place, message);
                failure.actual = Some(exception);
                self.fail(failure);
            }
            other => self.broken(place, None, other),
        }
    }

    fn panic_required(&self, place: Place, part: Option<&str>, code: Code<'_, Option<String>>) {
        let expected = match part {
            Some(part) => format!("a panic with {part:?} in its message"),
            None => "a panic".to_owned(),
        };
        match self.template(place, code) {
            Outcome::Panicked(caught) if caught.message.contains(part.unwrap_or_default()) => {}
            Outcome::Done(exception) => {
                let message = "the expected panic did not come".to_owned();
                let mut failure = self.failure(ErrorKind::Exception, place, message);
                failure.expected = Some(expected);
                failure.actual = Some(exception.unwrap_or_else(|| "no exception".to_owned()));
                self.fail(failure);
            }
            other => self.broken(place, Some(&expected), other),
        }
    }

    fn match_required(
        &self,
        kind: ErrorKind,
        message: &str,
        place: Place,
        pattern: &str,
        code: Code<'_, Option<String>>,
    ) {
        match self.template(place, code) {
            Outcome::Done(None) => {}
            Outcome::Done(Some(actual)) => {
                let mut failure = self.failure(kind, place, message.to_owned());
                failure.expected = Some(pattern.to_owned());
                failure.actual = Some(actual);
                self.fail(failure);
            }
            other => self.broken(place, Some(pattern), other),
        }
    }

    fn equality_required(&self, place: Place, code: Code<'_, Option<(String, String)>>) {
        match self.template(place, code) {
            Outcome::Done(None) => {}
            Outcome::Done(Some((actual, expected))) => {
                let message = "the value is not the expected one".to_owned();
                let mut failure = self.failure(ErrorKind::Value, place, message);
                failure.expected = Some(expected);
                failure.actual = Some(actual);
                self.fail(failure);
            }
            other => self.broken(place, None, other),
        }
    }

    /// `#wakeCheck times #end`
    pub fn wake_check(&self, line: u32, column: u32, wake: &Wake<'_>) {
        let place = Place { line, column };
        // The time is read first: it is what the check is about.
        let now = self.now();
        self.begin(place);
        if let Err(expected) = self.run.lists.check(wake, now) {
            let message = "the thread woke at the wrong time".to_owned();
            let mut failure = self.failure(ErrorKind::Value, place, message);
            failure.expected = Some(format!("tick {expected}"));
            failure.actual = Some(format!("tick {now}"));
            self.fail(failure);
        }
    }

    /// `#suspended threads`
    pub fn suspended(&self, line: u32, column: u32, threads: &[&str]) {
        self.standing(Place { line, column }, threads, "suspended");
    }

    /// `#finished threads`
    pub fn finished(&self, line: u32, column: u32, threads: &[&str]) {
        self.standing(Place { line, column }, threads, "finished");
    }

    /// Checks that threads are what the script says at this time.
    fn standing(&self, place: Place, threads: &[&str], expected: &str) {
        for name in threads {
            for (number, thread) in self.run.threads_called(name) {
                let actual = match self.run.states.get(number) {
                    Phase::Finished(_) => "finished",
                    Phase::Running { .. } => "suspended",
                    Phase::Waiting(_) | Phase::Starting => "waiting for its next tick",
                };
                if actual == expected {
                    continue;
                }
                let message = format!("it is not {expected}");
                let mut failure = self.failure(ErrorKind::Value, place, message);
                failure.thread = Some(thread.to_owned());
                failure.expected = Some(expected.to_owned());
                failure.actual = Some(actual.to_owned());
                self.fail(failure);
            }
        }
    }

    /// Begins a template; returns the time.
    fn begin(&self, place: Place) -> u64 {
        self.step(place.line, place.column);
        let (thread, tick) = (self.number, self.now());
        self.send(Event::Template {
            thread,
            tick,
            place,
        });
        tick
    }

    fn template<T>(&self, place: Place, code: Code<'_, T>) -> Outcome<T> {
        let since = self.begin(place);
        let outcome = match panics::catch(code) {
            Ok(Ok(done)) => Outcome::Done(done),
            Ok(Err(escaped)) => Outcome::Escaped(escaped),
            Err(caught) => Outcome::Panicked(caught),
        };
        self.came_out_of(place, since);
        outcome
    }

    /// The code did not come to its end.
    fn broken<T>(&self, place: Place, expected: Option<&str>, outcome: Outcome<T>) {
        let exception = |message: &str| -> Failure {
            let mut failure = self.failure(ErrorKind::Exception, place, message.to_owned());
            failure.expected = expected.map(str::to_owned);
            failure
        };
        match outcome {
            Outcome::Done(_) => {}
            Outcome::Escaped(escaped) => {
                let mut failure = exception("an error left the code by `?`");
                failure.actual = Some(format!("Err({})", escaped.shown));
                self.fail(failure);
            }
            Outcome::Panicked(caught) => {
                let message = match expected {
                    Some(_) => "the code panicked otherwise than expected",
                    None => "the code panicked",
                };
                self.fail(self.panicked(exception(message), &caught));
            }
        }
    }
}
