//! Programs of threads, each execution in a world of its own.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use conan_kernel::{Crew, Stopped, ThreadId, ThreadInfo, Unavailable, World};

use crate::failure::{Failure, Holder, Panic, Stuck, Suspended, Waits, shown};
use crate::panics::{Keeping, Panics};
use crate::program::{Outcome, Program, Verdict};
use crate::schedule::Schedule;
use crate::token::MOST_DECISIONS;
use crate::wait_for::WaitFor;

/// Steps of an execution, if nothing else is said.
const STEPS: u64 = 100_000;

/// How often time may bring something about, while none of the program's own
/// threads goes on, before these count as suspended for good.
const PATIENCE: u32 = 1000;

/// A program of threads, set up anew for each execution.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use conan_explore::{Dfs, End, Explorer, Threads};
///
/// let program = Threads::new(|stage| {
///     let locks = Arc::new((Mutex::new(()), Mutex::new(())));
///     let turned = Arc::clone(&locks);
///     stage.spawn("a", move || {
///         let _one = locks.0.lock();
///         conan_kernel::point();
///         let _other = locks.1.lock();
///     });
///     stage.spawn("b", move || {
///         let _one = turned.1.lock();
///         let _other = turned.0.lock();
///     });
/// });
/// let exploration = Explorer::new(Dfs::new()).explore(&program);
/// let End::Failed(found) = exploration.end else {
///     panic!("two locks in two orders")
/// };
/// assert!(found.failure.to_string().contains("they wait for each other"));
/// ```
#[derive(Debug)]
pub struct Threads<S> {
    setup: S,
    /// To start a thread takes longer than most executions.
    crew: Arc<Crew>,
    steps: u64,
    ignores_component_panics: bool,
}

impl<S: Fn(&mut Stage)> Threads<S> {
    /// The threads that `setup` starts. They have to come to their ends.
    pub fn new(setup: S) -> Self {
        Self {
            setup,
            crew: Arc::default(),
            steps: STEPS,
            ignores_component_panics: false,
        }
    }

    /// Executions with more steps than this do not come to an end, as far as
    /// anybody can tell; 100,000 otherwise.
    #[must_use]
    pub fn steps(mut self, steps: u64) -> Self {
        self.steps = steps.min(MOST_DECISIONS as u64);
        self
    }

    /// Lets panics pass in threads that the program's own threads have
    /// started. They may be part of what is tested.
    #[must_use]
    pub fn ignore_component_panics(mut self) -> Self {
        self.ignores_component_panics = true;
        self
    }
}

/// Where an execution is set up.
#[derive(Debug)]
pub struct Stage {
    // Goes before the world: after it, another execution may keep its own.
    keeping: Keeping,
    world: World,
    own: Vec<ThreadId>,
    checks: Vec<Check>,
    /// A thread could not be started.
    was_refused: bool,
    /// A thread of an earlier execution has what one of these waits for.
    disturbed: Option<String>,
    ignores_component_panics: bool,
}

type Verified = Result<(), String>;

struct Check(Box<dyn FnOnce() -> Verified + Send>);

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Check")
    }
}

impl Stage {
    fn open(schedule: Schedule, crew: &Arc<Crew>, ignores: bool) -> Result<Self, Unavailable> {
        let world = World::open(schedule.in_hand())?;
        Ok(Self {
            world: world.with_crew(crew),
            keeping: Panics::keep(ignores),
            own: Vec::new(),
            checks: Vec::new(),
            was_refused: false,
            disturbed: None,
            ignores_component_panics: ignores,
        })
    }

    /// Runs what has been set up.
    fn verdict(mut self) -> Verdict<Failure> {
        let failure = if self.was_refused {
            None
        } else {
            let failure = self.run();
            let mut races = self.world.races().into_iter();
            let raced = races.next().map(|race| Failure::Raced(race.into()));
            raced.or(failure)
        };
        let is_exact = self.world.inexact().is_empty();
        if let Some(reason) = self.disturbed {
            return impossible(reason);
        }
        // A check or a thread of the component may have been refused, too.
        let outcome = if self.was_refused || self.world.was_refused() {
            Outcome::Refused
        } else {
            failure.map_or(Outcome::Passed, Outcome::Failed)
        };
        Verdict { outcome, is_exact }
    }

    /// Starts a thread of the program. It runs after the setup.
    pub fn spawn(&mut self, name: &str, job: impl FnOnce() + Send + 'static) {
        let panics: Panics = self.keeping.panics().clone();
        let spawned = self.world.spawn(name, move || panics.catch(job));
        self.has_spawned(&spawned);
    }

    fn has_spawned(&mut self, spawned: &io::Result<ThreadId>) {
        match spawned {
            Ok(thread) => self.own.push(*thread),
            Err(_) => self.was_refused = true,
        }
    }

    /// Looks at what has come of it, when all threads have come to their ends.
    pub fn check(&mut self, check: impl FnOnce() -> Result<(), String> + Send + 'static) {
        self.checks.push(Check(Box::new(check)));
    }

    fn run(&mut self) -> Option<Failure> {
        let Ok(others_go_on) = self.run_threads() else {
            return self.panic().or(Some(Failure::Endless(self.world.steps())));
        };
        self.panic()
            .or_else(|| self.suspended(others_go_on))
            .or_else(|| self.run_checks())
    }

    /// Lets the threads run until the program's own have ended, or nothing can
    /// make them go on: true if others can.
    fn run_threads(&mut self) -> Result<bool, Stopped> {
        let mut idle = 0;
        let mut before = Vec::new();
        loop {
            let stopped = self.world.run(u64::MAX);
            if matches!(stopped, Stopped::OutOfSteps | Stopped::Failed) {
                return Err(stopped);
            }
            if self.world.have_ended(&self.own) {
                return Ok(false);
            }
            let own = self.own_of(self.world.threads());
            let Some(deadline) = self.world.next_deadline() else {
                return Ok(false);
            };
            let now: Vec<_> = own.map(|info| info.blocked).collect();
            idle = if now == before { idle + 1 } else { 0 };
            before = now;
            if idle > PATIENCE {
                return Ok(true);
            }
            self.world.advance_to(deadline);
            self.world.fire_one();
        }
    }

    fn own_of(&self, threads: Vec<ThreadInfo>) -> impl Iterator<Item = ThreadInfo> {
        let own = &self.own;
        threads.into_iter().filter(|info| own.contains(&info.id))
    }

    fn panic(&self) -> Option<Failure> {
        let caught = self.keeping.caught();
        if caught.is_empty() {
            return None;
        }
        let threads = self.world.threads();
        let counts = caught.into_iter().find_map(|caught| {
            let info = threads.iter().find(|info| info.id == caught.thread)?;
            let is_own = self.own.contains(&caught.thread);
            let counts = if is_own {
                caught.has_escaped
            } else {
                !self.ignores_component_panics
            };
            counts.then(|| Panic {
                thread: info.name.clone(),
                message: caught.message,
                location: caught.location,
            })
        });
        counts.map(Failure::Panicked)
    }

    /// The program's own threads that have not ended; and those of a component
    /// that wait for a lock. A component's thread that waits for a signal may
    /// be an idle worker.
    fn suspended(&mut self, others_go_on: bool) -> Option<Failure> {
        if !self.world.is_anyone_blocked() {
            return None;
        }
        let threads = self.world.threads();
        let left: Vec<_> = threads
            .iter()
            .filter(|info| info.blocked.is_some())
            .collect();
        if left.is_empty() {
            return None;
        }
        let wait_for = WaitFor::new(&self.world);
        let is_stuck = |info: &&&ThreadInfo| {
            self.own.contains(&info.id) || wait_for.waits(info.id) == Waits::Lock
        };
        let left: Vec<_> = left.iter().filter(is_stuck).collect();
        let stuck: Vec<_> = left
            .iter()
            .map(|info| stuck(info, &threads, &wait_for))
            .collect();
        if stuck.is_empty() {
            return None;
        }
        let waits = |info: &&&&ThreadInfo| self.world.waits_for_what_was_left(info.id);
        if let Some(info) = left.iter().find(waits) {
            self.disturbed = Some(format!(
                "{} waits for a lock in a static variable that a thread of an earlier execution \
                 has, which is suspended for good; each needs a process of its own",
                shown(info.name.as_deref())
            ));
            return None;
        }
        let cycle = left.iter().find_map(|info| wait_for.cycle(info.id));
        let cycle = cycle.unwrap_or_default();
        let cycle = cycle.into_iter().filter_map(|id| holder(id, &threads));
        Some(Failure::Suspended(Suspended::new(
            stuck,
            cycle.collect(),
            others_go_on,
        )))
    }

    /// Each on a thread of its own: it may find a lock that nobody gives back.
    fn run_checks(&mut self) -> Option<Failure> {
        for Check(check) in std::mem::take(&mut self.checks) {
            let wrong = Arc::new(Mutex::new(None));
            let out = Arc::clone(&wrong);
            self.spawn("check", move || {
                let verified = check();
                *out.lock().unwrap_or_else(PoisonError::into_inner) = verified.err();
            });
            let failure = match self.run_threads() {
                Err(Stopped::Failed) => self.panic(),
                Err(_) => Some(Failure::Endless(self.world.steps())),
                Ok(others_go_on) => self.panic().or_else(|| self.suspended(others_go_on)),
            };
            let wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(failure) = failure.or(wrong.map(Failure::Wrong)) {
                return Some(failure);
            }
        }
        None
    }
}

impl<S: Fn(&mut Stage)> Program for Threads<S> {
    type Failure = Failure;

    fn execute(&self, schedule: Schedule) -> Verdict<Failure> {
        let opened = Stage::open(schedule, &self.crew, self.ignores_component_panics);
        let mut stage = match opened {
            Ok(stage) => stage,
            Err(reason) => return impossible(reason.to_string()),
        };
        stage.world.limit_steps(self.steps);
        (self.setup)(&mut stage);
        stage.verdict()
    }

    fn are_alike(&self, one: &Failure, other: &Failure) -> bool {
        one.is_like(other)
    }
}

fn stuck(info: &ThreadInfo, threads: &[ThreadInfo], wait_for: &WaitFor) -> Stuck {
    let holders = wait_for.holders(info.id).cloned().unwrap_or_default();
    Stuck {
        number: info.number,
        name: info.name.clone(),
        waits: wait_for.waits(info.id),
        held_by: holders
            .threads
            .iter()
            .filter_map(|&id| holder(id, threads))
            .collect(),
        is_certain: holders.is_certain,
        has_missed: info.missed.is_some(),
        backtrace: wait_for.backtrace(info.id).map(str::to_owned),
    }
}

fn holder(id: ThreadId, threads: &[ThreadInfo]) -> Option<Holder> {
    let info = threads.iter().find(|info| info.id == id)?;
    Some(Holder {
        number: info.number,
        name: info.name.clone(),
    })
}

fn impossible(reason: String) -> Verdict<Failure> {
    Verdict {
        outcome: Outcome::Impossible(reason),
        is_exact: true,
    }
}
