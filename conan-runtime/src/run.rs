//! Runs one sequence: setup, ticks, the end, teardown, report.

use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::collect::Collector;
use crate::crash::Running;
use crate::engine::{
    Engine, Patience, Session, Suspension, Waker, Watch, engine, engines, unavailable,
};
use crate::event::{ErrorKind, Event, Failure, Place};
use crate::hot_spot::Watching;
use crate::left;
use crate::panics;
use crate::plan::Plan;
use crate::report::Report;
use crate::scope::{self, Scope};
use crate::script::{Script, Sequence, Stays};
use crate::state::{Phase, States, all_finished};
use crate::thread::{Conan, Run, add_panic};
use crate::wake::{Lists, listed};

/// How sequences are run.
#[derive(Clone, Copy)]
pub struct Settings {
    /// How time passes.
    pub engine: &'static dyn Engine,
    /// A tick's length in milliseconds, in place of the script's own.
    pub ticktime: Option<u64>,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("engine", &self.engine.name())
            .field("ticktime", &self.ticktime)
            .finish()
    }
}

impl Settings {
    /// What the environment asks for: `CONAN_CLOCK` and `CONAN_TICKTIME`. Looks
    /// at `CONAN_PATIENCE`, too, whether it can be understood.
    pub fn from_env() -> Result<Self, String> {
        let engine = match std::env::var("CONAN_CLOCK") {
            Ok(name) => engine(&name).map_err(|error| format!("CONAN_CLOCK: {error}"))?,
            Err(_) => default_engine(),
        };
        let ticktime = match std::env::var("CONAN_TICKTIME") {
            Ok(text) => {
                let ms = milliseconds(&text).map_err(|error| format!("CONAN_TICKTIME: {error}"));
                Some(ms?)
            }
            Err(_) => None,
        };
        Patience::check()?;
        Ok(Self { engine, ticktime })
    }
}

/// The longest tick in milliseconds, a day: as long as scripts allow.
const MAX_TICKTIME: u64 = 24 * 60 * 60 * 1000;

/// The length of a tick that the user has asked for.
fn milliseconds(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(ms @ 1..=MAX_TICKTIME) => Ok(ms),
        _ => Err(format!(
            "`{text}` is not the length of a tick: expected a whole number of milliseconds \
             from 1 to {MAX_TICKTIME}, which is a day"
        )),
    }
}

/// The best engine that can run here; says so once if it is not the best.
fn default_engine() -> &'static dyn Engine {
    static NOTED: Once = Once::new();
    if let Some(reason) = unavailable() {
        NOTED.call_once(|| {
            eprintln!("note: on the wall clock, because the virtual one cannot run: {reason}");
        });
    }
    engines()[0]
}

/// Setup, teardown and the components' destructors may take this long before
/// they count as suspended for good.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a sequence and reports.
pub fn run(script: &'static Script, sequence: &'static Sequence, settings: Settings) -> Report {
    run_on(script, sequence, settings.engine, settings.ticktime)
}

/// Runs a sequence on any engine, with ticks of so many milliseconds if not
/// with the script's own, and reports.
pub(crate) fn run_on(
    script: &'static Script,
    sequence: &'static Sequence,
    engine: &dyn Engine,
    ticktime: Option<u64>,
) -> Report {
    panics::install();
    let ms = ticktime.unwrap_or(script.ticktime);
    let ticktime = Duration::from_millis(ms);
    let (sender, receiver) = unbounded();
    let session = engine.open(ticktime);
    let _running = Running::begin(script, sequence);
    let watching = Watching::begin();
    let scope = Scope {
        clock: session.clock(),
        ticktime,
        spots: watching.spots(),
    };
    let mut runner = Runner {
        collector: Collector::new(script, sequence, engine.name()),
        received: receiver,
        spawned: 0,
        first: 0,
        abandoned: 0,
        script,
        sequence,
        session,
        scope,
        patience: Patience::of(script.path, sequence.name, engine.is_exploring()),
        events: sender,
    };
    runner.run();
    let (failures, reached) = watching.judge(sequence.hot_spots);
    for failure in failures.into_iter().chain(runner.session.races()) {
        runner.send(failure);
    }
    if runner.abandoned > 0 || runner.session.unfinished() > 0 {
        left::note(sequence.name);
    }
    let inexact = runner.session.inexact();
    let was_refused = runner.session.was_refused();
    let Runner {
        mut collector,
        received,
        abandoned,
        ..
    } = runner;
    collector.take_all(&received);
    let mut report = collector.finish(inexact, abandoned);
    report.reached = reached;
    report.was_refused = was_refused;
    report
}

struct Runner {
    collector: Collector,
    received: Receiver<Event>,
    /// How many threads the session has started.
    spawned: usize,
    /// The number of the script's first thread among them.
    first: usize,
    /// How many of the script's threads were suspended at the end.
    abandoned: u64,
    script: &'static Script,
    sequence: &'static Sequence,
    session: Box<dyn Session>,
    scope: Scope,
    /// For threads that still run at the end.
    patience: Patience,
    events: Sender<Event>,
}

impl Runner {
    fn run(&mut self) {
        let build = self.sequence.build;
        let planned = self.apart("setup", "while the sequence was set up", move || {
            let mut plan = Plan::default();
            build(&mut plan);
            plan
        });
        let Some(mut plan) = planned else { return };
        let teardown = plan.teardown.take();
        let kept = std::mem::take(&mut plan.kept);
        self.drive(plan);
        if self.session.endless().is_some() || self.session.is_cut_short() {
            // No thread may take a step any more.
            std::mem::forget((teardown, kept));
            return;
        }
        if let Some(teardown) = teardown {
            self.apart("teardown", "in teardown", teardown);
        }
        self.apart("drop", "while the components were dropped", move || {
            drop(kept);
        });
    }

    /// Runs what belongs to no thread of the script on a thread of its own,
    /// so that neither a panic nor a deadlock in it can do harm.
    fn apart<R: Send + 'static>(
        &mut self,
        name: &str,
        when: &str,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> Option<R> {
        let result = Arc::new(Returned::default());
        let returning = Arc::clone(&result);
        let scope = self.scope.clone();
        let spawned = self.session.spawn(
            name,
            Box::new(move || {
                panics::silence_this_thread();
                scope::enter(scope);
                returning.set(panics::catch(job));
            }),
        );
        self.spawned += 1;
        if let Err(error) = spawned {
            let message = format!("no thread could be started {when}: {error}");
            self.fail(ErrorKind::Exception, message);
            return None;
        }
        self.session.let_run(&*result, PATIENCE);
        if !result.wait(Duration::ZERO) {
            self.session.last_chance(&*result, self.patience);
        }
        let result = result.take();
        if result.is_some() {
            self.check_its_end(self.spawned - 1, None, when);
        }
        match result {
            Some(Ok(done)) => Some(done),
            Some(Err(caught)) => {
                let mut failure = self.failure(ErrorKind::Exception, format!("a panic {when}"));
                add_panic(self.script, &mut failure, &caught);
                self.send(failure);
                None
            }
            None if self.session.endless().is_some() => {
                self.fail_endless(when);
                None
            }
            None => {
                let suspension = self.session.suspension(self.spawned - 1);
                self.has_waited_in_vain(&suspension);
                let state = suspension.state(None);
                let message = format!("{state} {when}");
                let mut failure = self.failure(ErrorKind::Liveness, message);
                suspension.describe(self.script, self.patience, &mut failure);
                self.send(failure);
                None
            }
        }
    }

    fn drive(&mut self, plan: Plan) {
        let names: Vec<String> = plan.threads.iter().map(|(name, _)| name.clone()).collect();
        let count = names.len() + usize::from(plan.checks.is_some());
        let run = Arc::new(Run {
            script: self.script,
            scope: self.scope.clone(),
            rest: self.session.clock(),
            witness: self.session.witness(),
            states: States::new(count),
            lists: Lists::new(self.sequence.wake_times),
            names,
        });
        let has_checks = plan.checks.is_some();
        if has_checks {
            self.collector.has_checks();
        }
        self.collector.name_threads(&run.names);
        self.first = self.spawned;
        self.spawned += count;
        let threads = plan
            .threads
            .into_iter()
            .map(|(name, body)| (Some(name), body));
        let checks = plan.checks.into_iter().map(|body| (None, body));
        for (number, (name, body)) in threads.chain(checks).enumerate() {
            let thread_name = name.clone().unwrap_or_else(|| "checks".to_owned());
            let conan = Conan {
                run: Arc::clone(&run),
                number,
                name,
                events: self.events.clone(),
                suspended: Mutex::new(None),
            };
            let job = Box::new(move || conan.main(body));
            if let Err(error) = self.session.spawn(&thread_name, job) {
                let message = format!("thread {thread_name} could not be started: {error}");
                self.fail(ErrorKind::Exception, message);
                run.states.set(number, Phase::Finished(0));
            }
        }
        // The first tick comes when everybody is there to see it.
        let arrived = |phases: &[Phase]| !phases.contains(&Phase::Starting);
        self.session.let_run(&On(&run.states, arrived), PATIENCE);
        self.tick_through(&run, has_checks);
        if self.session.endless().is_some() {
            self.fail_endless("in this sequence");
            return;
        }
        if self.session.is_cut_short() {
            self.check_what_has_ended(&run);
            return;
        }
        if !On(&run.states, all_finished).wait(Duration::ZERO) {
            let sequence = self.sequence;
            let are_out_of_calls = |phases: &[Phase]| {
                phases.iter().enumerate().all(|(number, phase)| {
                    let name = run.names.get(number);
                    let stays = name.is_some_and(|name| stays(sequence, name).is_some());
                    stays || !matches!(phase, Phase::Running { .. })
                })
            };
            let done = On(&run.states, are_out_of_calls);
            self.session.last_chance(&done, self.patience);
        }
        self.check_the_end(&run);
        // What comes next may wake threads, but the sequence is over.
        self.collector.take_all(&self.received);
        (self.events, self.received) = unbounded();
    }

    /// Moves the clock to *n* + 1, or up to where nobody is left.
    fn tick_through(&mut self, run: &Run, has_checks: bool) {
        let end = On(&run.states, all_finished);
        for time in 1..=self.sequence.ticks {
            if end.wait(Duration::ZERO) {
                return;
            }
            self.tick(run, time);
            self.session.come_to_rest(&end);
            self.note_suspended(run, time);
            if self.session.endless().is_some() || self.session.is_cut_short() {
                return;
            }
            if has_checks {
                self.check_at_rest(run);
            }
        }
        if !end.wait(Duration::ZERO) {
            self.tick(run, self.sequence.ticks + 1);
        }
    }

    /// Tells the collector who is in a call at the end of a tick, and lets it
    /// work: a long sequence must not pile up events.
    fn note_suspended(&mut self, run: &Run, tick: u64) {
        for thread in 0..run.names.len() {
            if let Phase::Running { place, .. } = run.states.get(thread) {
                let number = self.first + thread;
                if self.session.is_running(number) {
                    let running = Event::Running {
                        thread,
                        tick,
                        place,
                    };
                    let _ = self.events.send(running);
                    continue;
                }
                let woken = self.session.woken_in_vain(number);
                let suspended = Event::Suspended {
                    thread,
                    tick,
                    place,
                    woken: woken.as_ref().and_then(Waker::name),
                };
                let _ = self.events.send(suspended);
            }
        }
        self.collector.take_all(&self.received);
    }

    fn tick(&self, run: &Run, time: u64) {
        run.scope.clock.tick();
        let _ = self.events.send(Event::Ticked(time));
    }

    /// Lets the checks outside any thread look at the present tick.
    fn check_at_rest(&mut self, run: &Run) {
        run.rest.tick();
        let time = run.rest.time();
        let observer = run.names.len();
        let has_looked = |phases: &[Phase]| match phases[observer] {
            Phase::Waiting(next) => next > time,
            Phase::Finished(_) => true,
            Phase::Starting | Phase::Running { .. } => false,
        };
        self.session
            .let_run(&On(&run.states, has_looked), Duration::ZERO);
    }

    /// A thread has ended by a panic, and the others were stopped: what they
    /// would have done is not known.
    fn check_what_has_ended(&mut self, run: &Run) {
        let phases = (0..run.names.len()).map(|number| run.states.get(number));
        let ended = phases.filter(|phase| matches!(phase, Phase::Finished(_)));
        self.abandoned = (run.names.len() - ended.count()) as u64;
        self.collector.take_all(&self.received);
    }

    /// The verdict on liveness, and on what is left of the wake-up times.
    fn check_the_end(&mut self, run: &Run) {
        let phases = (0..run.names.len()).map(|number| run.states.get(number));
        let ended = phases.filter(|phase| matches!(phase, Phase::Finished(_)));
        self.abandoned = (run.names.len() - ended.count()) as u64;
        for (number, name) in run.names.iter().enumerate() {
            match (run.states.get(number), stays(self.sequence, name)) {
                (Phase::Finished(tick), None) => {
                    let thread = Some((name.as_str(), tick));
                    self.check_its_end(self.first + number, thread, "at its end");
                }
                (Phase::Finished(tick), Some(stays)) => {
                    let message = "it ended, but was to stay suspended".to_owned();
                    let mut failure = self.failure(ErrorKind::Liveness, message);
                    failure.thread = Some(name.clone());
                    failure.tick = tick;
                    failure.place = Place {
                        line: stays.line,
                        column: stays.column,
                    };
                    failure.expected = Some("suspended at the end".to_owned());
                    failure.actual = Some(format!("ended at tick {tick}"));
                    self.send(failure);
                }
                (Phase::Running { since, place }, None) => {
                    let suspension = self.session.suspension(self.first + number);
                    self.has_waited_in_vain(&suspension);
                    let message = suspension.state(Some(since));
                    let mut failure = self.failure(ErrorKind::Liveness, message);
                    failure.thread = Some(name.clone());
                    failure.tick = since;
                    failure.place = place;
                    let last = self.sequence.ticks + 1;
                    failure.expected = Some(format!("ended by tick {last}"));
                    failure.actual = Some("still in this call".to_owned());
                    suspension.describe(self.script, self.patience, &mut failure);
                    self.send(failure);
                }
                (Phase::Waiting(_) | Phase::Starting, None) => {
                    let message = "it never got to its code".to_owned();
                    let mut failure = self.failure(ErrorKind::Liveness, message);
                    failure.thread = Some(name.clone());
                    self.send(failure);
                }
                _ => {}
            }
        }
        self.check_the_checks(run);
        for list in self.sequence.wake_times {
            let left = run.lists.left(list.name);
            if left.is_empty() {
                continue;
            }
            let message = format!(
                "nobody woke at tick {} of `{}`",
                listed(&left, "and"),
                list.name
            );
            let mut failure = self.failure(ErrorKind::Value, message);
            failure.place = Place {
                line: list.line,
                column: list.column,
            };
            failure.expected = Some("every time is taken by the end".to_owned());
            failure.actual = Some(format!("left over: {}", listed(&left, "and")));
            self.send(failure);
        }
    }

    /// A thread that has done its code still drops its thread-locals, and what
    /// it owns. That comes to an end, too. A thread of the script has a name,
    /// and has done its code at a tick.
    fn check_its_end(&mut self, spawned: usize, thread: Option<(&str, u64)>, when: &str) {
        if self.session.has_ended(spawned, PATIENCE) {
            return;
        }
        let suspension = self.session.suspension(spawned);
        self.has_waited_in_vain(&suspension);
        let message = format!("{} in a destructor {when}", suspension.state(None));
        let mut failure = self.failure(ErrorKind::Liveness, message);
        if let Some((name, tick)) = thread {
            failure.thread = Some(name.to_owned());
            failure.tick = tick;
            failure.place = suspension.place.unwrap_or(failure.place);
            self.abandoned += 1;
        }
        failure.expected = Some("the thread ends".to_owned());
        failure.actual = Some("its code is done, but not what comes after it".to_owned());
        suspension.describe(self.script, self.patience, &mut failure);
        self.send(failure);
    }

    /// Notes that threads that still run were waited for and did not end.
    fn has_waited_in_vain(&self, suspension: &Suspension) {
        if suspension.running.is_some() {
            Patience::was_in_vain(self.script.path, self.sequence.name);
        }
    }

    /// A check outside any thread can hang in the component, too.
    fn check_the_checks(&mut self, run: &Run) {
        let observer = run.names.len();
        if observer >= run.states.count() {
            return;
        }
        if let Phase::Running { since, place } = run.states.get(observer) {
            let suspension = self.session.suspension(self.first + observer);
            self.has_waited_in_vain(&suspension);
            let state = suspension.state(Some(since));
            let message = format!("a check outside the threads, {state}");
            let mut failure = self.failure(ErrorKind::Liveness, message);
            failure.tick = since;
            failure.place = place;
            suspension.describe(self.script, self.patience, &mut failure);
            self.send(failure);
        }
    }

    fn failure(&self, kind: ErrorKind, message: String) -> Failure {
        Failure {
            kind,
            thread: None,
            tick: self.scope.clock.time(),
            place: Place {
                line: self.sequence.line,
                column: 1,
            },
            message,
            expected: None,
            actual: None,
            notes: Vec::new(),
            backtrace: None,
        }
    }

    /// Threads go on and on, and never come to rest.
    fn fail_endless(&self, when: &str) {
        let steps = self.session.endless().unwrap_or_default();
        let message = format!("a livelock: no end after {steps} steps {when}");
        self.fail(ErrorKind::Liveness, message);
    }

    fn fail(&self, kind: ErrorKind, message: String) {
        self.send(self.failure(kind, message));
    }

    fn send(&self, failure: Failure) {
        let _ = self.events.send(Event::Failed(Box::new(failure)));
    }
}

/// Threads that have come to certain phases.
struct On<'s, F>(&'s States, F);

impl<F: Fn(&[Phase]) -> bool> Watch for On<'_, F> {
    fn wait(&self, limit: Duration) -> bool {
        self.0.wait_until(Instant::now() + limit, &self.1)
    }
}

/// What a job returns, for somebody who waits.
struct Returned<R> {
    value: Mutex<Option<R>>,
    returned: Condvar,
}

impl<R> Default for Returned<R> {
    fn default() -> Self {
        Self {
            value: Mutex::new(None),
            returned: Condvar::new(),
        }
    }
}

impl<R> Returned<R> {
    fn set(&self, value: R) {
        *self.value.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        self.returned.notify_all();
    }

    fn take(&self) -> Option<R> {
        self.value
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl<R> Watch for Returned<R> {
    fn wait(&self, limit: Duration) -> bool {
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .returned
            .wait_timeout_while(value, limit, |value| value.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }
}

impl Run {
    /// The threads that a name means: one, or all replicas of one.
    pub(crate) fn threads_called(&self, name: &str) -> Vec<(usize, &str)> {
        let names = self.names.iter().map(String::as_str).enumerate();
        names
            .filter(|(_, thread)| is_called(thread, name))
            .collect()
    }
}

/// What a sequence says of a thread that is to stay suspended.
fn stays(sequence: &'static Sequence, thread: &str) -> Option<&'static Stays> {
    let mut stays = sequence.stays.iter();
    stays.find(|stays| is_called(thread, stays.thread))
}

/// True for `producer` and for `producer.3`, if the name is `producer`.
fn is_called(thread: &str, name: &str) -> bool {
    let replica = thread
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('.'));
    thread == name || replica.is_some_and(|index| index.bytes().all(|b| b.is_ascii_digit()))
}
