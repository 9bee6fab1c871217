//! The `virtual` engine: the threads run one at a time, in virtual time, on
//! the kernel. A tick takes no time at all, and a run is the same every time.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use conan_explore::{Raced, WaitFor};
use conan_kernel::{Crew, Fifo, Reason, Stopped, Strategy, ThreadId, World, park, unpark};

use super::suspended::Threads;
use super::{Engine, Job, Patience, Session, Suspension, Waker, Watch, Witness};
use crate::clock::Clock;
use crate::event::{ErrorKind, Failure, Place};

/// Virtual time.
#[derive(Debug)]
pub struct Virtual;

thread_local! {
    static CREW: RefCell<Option<Arc<Crew>>> = const { RefCell::new(None) };
}

/// Runs many sequences with the same threads: starting threads takes longer
/// than everything else. What a component prints in them goes where it goes
/// in the first.
pub(super) fn with_same_threads<R>(run: impl FnOnce() -> R) -> R {
    let before = CREW.replace(Some(Arc::new(Crew::new())));
    let result = conan_kernel::stay_aboard(run);
    CREW.set(before);
    result
}

impl Engine for Virtual {
    fn name(&self) -> &'static str {
        "virtual"
    }

    fn open(&self, ticktime: Duration) -> Box<dyn Session> {
        Box::new(VirtualSession::open(Fifo, ticktime))
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

pub(super) struct VirtualSession {
    pub(super) world: World,
    ticktime: u64,
    /// When the present tick began, in virtual time.
    began: Option<u64>,
    /// When the first one did.
    first: Option<u64>,
    threads: Vec<ThreadId>,
    is_endless: bool,
    is_cut_short: bool,
    /// Who waits for whom, once it was asked for; until something moves.
    rest: Option<WaitFor>,
}

impl Session for VirtualSession {
    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(OrderedClock::default())
    }

    fn witness(&self) -> Arc<dyn Witness> {
        Arc::new(Kernel)
    }

    fn spawn(&mut self, name: &str, job: Job) -> io::Result<()> {
        let thread = self.world.spawn(name, job)?;
        self.threads.push(thread);
        Ok(())
    }

    fn let_run(&mut self, done: &dyn Watch, limit: Duration) {
        let end = self.world.now().saturating_add(nanoseconds(limit));
        self.run_until(end, done);
    }

    fn come_to_rest(&mut self, sequence: &dyn Watch) {
        let began = self.began.unwrap_or_else(|| self.world.now());
        self.first.get_or_insert(began);
        let end = began.saturating_add(self.ticktime);
        if !self.run_until(end, sequence) {
            // What falls due at the instant of the next tick comes after the
            // tick's own threads.
            self.world.advance_to(end);
        }
        self.began = Some(end);
    }

    fn has_ended(&mut self, thread: usize, limit: Duration) -> bool {
        let Some(&id) = self.threads.get(thread) else {
            return true;
        };
        let end = self.world.now().saturating_add(nanoseconds(limit));
        while !self.world.have_ended(&[id]) {
            self.rest = None;
            let may_go_on = self.run_now(end);
            if self.world.have_ended(&[id]) {
                return true;
            }
            if !may_go_on || !self.advance(end) {
                return false;
            }
        }
        true
    }

    fn last_chance(&mut self, done: &dyn Watch, patience: Patience) {
        self.rest = None;
        while self.world.linger() {
            let now = self.world.now();
            self.world.run(now);
        }
        let mut patience = conan_kernel::Patience {
            processor: patience.processor,
            call: patience.call,
        };
        while !done.wait(Duration::ZERO) && self.world.await_running(&mut patience) {
            let now = self.world.now();
            self.world.run(now);
        }
    }

    fn is_running(&self, thread: usize) -> bool {
        let id = self.threads.get(thread);
        id.is_some_and(|&id| self.world.running(id).is_some())
    }

    fn suspension(&mut self, thread: usize) -> Suspension {
        let Some(&id) = self.threads.get(thread) else {
            return Suspension::default();
        };
        let wait_for = self.rest.take();
        let wait_for = wait_for.unwrap_or_else(|| WaitFor::new(&self.world));
        let suspension = self.suspension_of(id, &wait_for);
        self.rest = Some(wait_for);
        suspension
    }

    fn woken_in_vain(&self, thread: usize) -> Option<Waker> {
        let id = *self.threads.get(thread)?;
        let wake = self.world.last_wake_of(id)?;
        // The tick that has just ended.
        let is_now = self.tick_of(wake.at) + 1 == self.tick_of(self.began?);
        let is_known = wake.by.is_some() || wake.timed_out;
        (is_now && is_known).then(|| Threads(self.world.threads()).waker(wake))
    }

    fn races(&self) -> Vec<Failure> {
        let races = self.world.races().into_iter();
        let failures = races.map(|race| {
            let is_of_script = |tag| place(tag).is_some();
            let tags = [race.first.tag, race.second.tag];
            let tag = tags.into_iter().find(|tag| is_of_script(*tag));
            Failure {
                kind: ErrorKind::Race,
                thread: race.first.name.clone(),
                tick: self.tick_of(self.world.now()),
                place: tag.and_then(place).unwrap_or(Place { line: 1, column: 1 }),
                message: Raced::from(race).in_words(),
                expected: None,
                actual: None,
                notes: Vec::new(),
                backtrace: None,
            }
        });
        failures.collect()
    }

    fn endless(&self) -> Option<u64> {
        self.is_endless.then(|| self.world.steps())
    }

    fn is_cut_short(&self) -> bool {
        self.is_cut_short
    }

    fn unfinished(&self) -> usize {
        self.world.unfinished()
    }

    fn was_refused(&self) -> bool {
        self.world.was_refused()
    }

    fn inexact(&self) -> Vec<String> {
        let mut sentences: Vec<String> = Vec::new();
        for inexact in self.world.inexact() {
            let sentence = match inexact.reason {
                Reason::Running => {
                    "a thread computed or polled for long without blocking or yielding"
                }
                Reason::Blocked => "a thread blocked in something that the engine does not see",
                Reason::WokeOutside => "a thread woke one that the engine does not manage",
                Reason::WokenFromOutside => {
                    "a thread was woken by one that the engine does not manage"
                }
                Reason::Io => "a thread had to do with somebody outside, at a descriptor",
                Reason::Signal => "a signal came from outside",
                Reason::Process => "the process started another one",
                Reason::Room => "a thread filled the buffers of a connection",
                Reason::Random => "random numbers of the system were drawn",
            };
            let line = inexact.tag >> 32;
            let place = if line == 0 {
                String::new()
            } else {
                format!(", at line {line} of the script")
            };
            let sentence = format!("{sentence}{place}");
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
        sentences
    }
}

/// The place of the script that a thread has said it is at.
pub(super) fn place(tag: u64) -> Option<Place> {
    (tag != 0).then_some(Place {
        line: (tag >> 32) as u32,
        column: tag as u32,
    })
}

impl VirtualSession {
    /// Begins a sequence whose schedule this strategy decides.
    pub(super) fn open(strategy: impl Strategy + 'static, ticktime: Duration) -> Self {
        let mut world =
            World::open(strategy).expect("the engine is offered where it is available only");
        if let Some(crew) = CREW.with_borrow(Clone::clone) {
            world = world.with_crew(&crew);
        }
        Self {
            world,
            ticktime: nanoseconds(ticktime),
            began: None,
            first: None,
            threads: Vec::new(),
            is_endless: false,
            is_cut_short: false,
            rest: None,
        }
    }

    /// The tick of a point in virtual time.
    pub(super) fn tick_of(&self, time: u64) -> u64 {
        let Some(first) = self.first else { return 0 };
        match time.checked_sub(first) {
            Some(since) => since / self.ticktime.max(1) + 1,
            None => 0,
        }
    }

    /// Lets the threads run, and time with them, up to but not with `end`.
    /// True if `done` came first.
    fn run_until(&mut self, end: u64, done: &dyn Watch) -> bool {
        self.rest = None;
        loop {
            let may_go_on = self.run_now(end);
            if done.wait(Duration::ZERO) {
                return true;
            }
            if !may_go_on || !self.advance(end) {
                return false;
            }
        }
    }

    /// Lets the threads run at the present time. False if they may take no more
    /// steps at all.
    fn run_now(&mut self, end: u64) -> bool {
        let stopped = self.world.run(end);
        self.is_endless |= stopped == Stopped::OutOfSteps;
        self.is_cut_short |= stopped == Stopped::Failed;
        !self.is_endless && !self.is_cut_short
    }

    /// Ends the first wait that ends before `end`. False if there is none.
    fn advance(&mut self, end: u64) -> bool {
        let now = self.world.now();
        match self.world.next_deadline() {
            Some(deadline) if deadline <= now || deadline < end => {
                self.world.advance_to(deadline);
                self.world.fire_one();
                true
            }
            _ => false,
        }
    }
}

/// What the kernel has seen.
#[derive(Debug)]
pub(super) struct Kernel;

impl Witness for Kernel {
    fn at(&self, place: Place) {
        conan_kernel::set_tag(u64::from(place.line) << 32 | u64::from(place.column));
    }

    fn waker(&self) -> Option<Waker> {
        let (wake, thread) = conan_kernel::last_wake()?;
        Some(Waker {
            place: place(wake.tag).filter(|_| thread.is_some()),
            thread,
            time_out: wake.timed_out,
        })
    }
}

/// A clock whose threads go on in the order in which the script has them.
#[derive(Debug, Default)]
struct OrderedClock {
    time: AtomicU64,
    waiting: Mutex<BTreeSet<(u64, Place, usize, ThreadId)>>,
}

impl Clock for OrderedClock {
    fn await_time(&self, time: u64, place: Place) {
        let Some(thread) = conan_kernel::current_thread() else {
            return;
        };
        // Replicas of a thread are at the same place.
        let number = conan_kernel::current_number().unwrap_or_default();
        while self.time() < time {
            self.waiting().insert((time, place, number, thread));
            park();
        }
    }

    fn tick(&self) {
        let now = self.time.fetch_add(1, Ordering::SeqCst) + 1;
        let mut waiting = self.waiting();
        while let Some(&(time, _, _, thread)) = waiting.first() {
            if time > now {
                break;
            }
            waiting.pop_first();
            unpark(thread);
        }
    }

    fn time(&self) -> u64 {
        self.time.load(Ordering::SeqCst)
    }
}

impl OrderedClock {
    fn waiting(&self) -> std::sync::MutexGuard<'_, BTreeSet<(u64, Place, usize, ThreadId)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
