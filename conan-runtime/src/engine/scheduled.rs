//! The `virtual` engine under a schedule: everything that could go another way
//! is decided by a search.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use conan_explore::Schedule;
use conan_kernel::{Point, Strategy};

use super::r#virtual::{Kernel, VirtualSession};
use super::{Engine, Job, Patience, Session, Suspension, Waker, Watch, Witness};
use crate::clock::Clock;
use crate::event::{Failure, Place};
use crate::explore::Steps;

/// An engine for one execution.
#[derive(Debug)]
pub(crate) struct Scheduled {
    /// Who decides.
    pub(crate) schedule: Schedule,
    /// So many steps at most.
    pub(crate) limit: u64,
    /// True if threads are known to compute or poll for long.
    pub(crate) is_busy: bool,
    /// Where the steps are noted, if somebody wants to read them.
    pub(crate) steps: Option<Arc<Steps>>,
}

impl Engine for Scheduled {
    fn name(&self) -> &'static str {
        "virtual"
    }

    fn is_exploring(&self) -> bool {
        true
    }

    fn open(&self, ticktime: Duration) -> Box<dyn Session> {
        let schedule = self.schedule.clone();
        let mut session = match &self.steps {
            None => VirtualSession::open(schedule, ticktime),
            Some(steps) => {
                let steps = Arc::clone(steps);
                VirtualSession::open(Noting { schedule, steps }, ticktime)
            }
        };
        session.world.limit_steps(self.limit);
        if self.is_busy {
            session.world.expect_busy();
        }
        Box::new(ScheduledSession {
            session,
            steps: self.steps.clone(),
        })
    }
}

struct ScheduledSession {
    session: VirtualSession,
    steps: Option<Arc<Steps>>,
}

impl Session for ScheduledSession {
    fn clock(&self) -> Arc<dyn Clock> {
        self.session.clock()
    }

    fn witness(&self) -> Arc<dyn Witness> {
        match &self.steps {
            None => Arc::new(Judging),
            Some(steps) => Arc::new(NotingWitness(Arc::clone(steps))),
        }
    }

    fn spawn(&mut self, name: &str, job: Job) -> io::Result<()> {
        let job: Job = match &self.steps {
            None => job,
            Some(steps) => {
                let (steps, name) = (Arc::clone(steps), name.to_owned());
                Box::new(move || {
                    let number = conan_kernel::current_number().unwrap_or_default();
                    steps.name(number, &name);
                    job();
                })
            }
        };
        self.session.spawn(name, job)?;
        // One after the other: in which order threads come to the clock makes
        // no difference, and need not be explored.
        let now = self.session.world.now();
        self.session.world.run(now);
        Ok(())
    }

    fn let_run(&mut self, done: &dyn Watch, limit: Duration) {
        self.session.let_run(done, limit);
    }

    fn come_to_rest(&mut self, sequence: &dyn Watch) {
        if let Some(steps) = &self.steps {
            steps.tick();
        }
        self.session.come_to_rest(sequence);
    }

    fn has_ended(&mut self, thread: usize, limit: Duration) -> bool {
        self.session.has_ended(thread, limit)
    }

    fn last_chance(&mut self, done: &dyn Watch, patience: Patience) {
        self.session.last_chance(done, patience);
    }

    fn is_running(&self, thread: usize) -> bool {
        self.session.is_running(thread)
    }

    fn suspension(&mut self, thread: usize) -> Suspension {
        self.session.suspension(thread)
    }

    fn woken_in_vain(&self, thread: usize) -> Option<Waker> {
        self.session.woken_in_vain(thread)
    }

    fn races(&self) -> Vec<Failure> {
        self.session.races()
    }

    fn endless(&self) -> Option<u64> {
        self.session.endless()
    }

    fn is_cut_short(&self) -> bool {
        self.session.is_cut_short()
    }

    fn unfinished(&self) -> usize {
        self.session.unfinished()
    }

    fn was_refused(&self) -> bool {
        self.session.was_refused()
    }

    fn inexact(&self) -> Vec<String> {
        self.session.inexact()
    }
}

/// A schedule whose steps are noted.
struct Noting {
    schedule: Schedule,
    steps: Arc<Steps>,
}

impl Strategy for Noting {
    fn decide(&mut self, point: &Point<'_>) -> usize {
        let chosen = if point.options.len() < 2 {
            0
        } else {
            self.schedule.decide(point).min(point.options.len() - 1)
        };
        self.steps.decided(point, chosen);
        chosen
    }

    fn preempts(&self) -> bool {
        self.schedule.preempts()
    }

    fn is_spurious(&self) -> bool {
        self.schedule.is_spurious()
    }

    fn has_more(&self) -> bool {
        self.schedule.has_more()
    }

    fn watches(&self) -> bool {
        true
    }
}

/// An execution that has failed for sure need not go on: there are others.
#[derive(Debug)]
struct Judging;

impl Witness for Judging {
    fn at(&self, place: Place) {
        Kernel.at(place);
    }

    fn has_panicked(&self) {
        conan_kernel::has_failed();
    }

    fn waker(&self) -> Option<Waker> {
        Kernel.waker()
    }
}

/// Notes what the threads of the script come to.
#[derive(Debug)]
struct NotingWitness(Arc<Steps>);

impl Witness for NotingWitness {
    fn at(&self, place: Place) {
        Kernel.at(place);
        let number = conan_kernel::current_number().unwrap_or_default();
        self.0.at(number, place);
    }

    fn has_panicked(&self) {
        Judging.has_panicked();
    }

    fn begins_block(&self) {
        let number = conan_kernel::current_number().unwrap_or_default();
        self.0.begins_block(number);
    }

    fn waker(&self) -> Option<Waker> {
        Kernel.waker()
    }
}
