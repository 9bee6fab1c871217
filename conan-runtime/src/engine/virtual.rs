//! The `virtual` engine: the threads run one at a time, in virtual time, on
//! the kernel. A tick takes no time at all, and a run is the same every time.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use conan_kernel::{Cause, Fifo, Reason, ThreadId, ThreadInfo, World, park, unpark};

use super::{Engine, Job, Session, Suspension, Waker, Watch, Witness};
use crate::backtrace::component_frame;
use crate::clock::Clock;
use crate::event::Place;

/// Virtual time.
#[derive(Debug)]
pub struct Virtual;

impl Engine for Virtual {
    fn name(&self) -> &'static str {
        "virtual"
    }

    fn open(&self, ticktime: Duration) -> Box<dyn Session> {
        let world = World::open(Fifo).expect("the engine is offered where it is available only");
        Box::new(VirtualSession {
            began: None,
            ticktime: nanoseconds(ticktime),
            threads: Vec::new(),
            world,
        })
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

struct VirtualSession {
    world: World,
    ticktime: u64,
    /// When the present tick began, in virtual time.
    began: Option<u64>,
    threads: Vec<ThreadId>,
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
        let end = began.saturating_add(self.ticktime);
        if !self.run_until(end, sequence) {
            // What falls due at the instant of the next tick comes after the
            // tick's own threads.
            self.world.advance_to(end);
        }
        self.began = Some(end);
    }

    fn last_chance(&mut self) {
        while self.world.linger() {
            let now = self.world.now();
            self.world.run(now);
        }
    }

    fn suspension(&mut self, thread: usize) -> Suspension {
        let Some(&id) = self.threads.get(thread) else {
            return Suspension::default();
        };
        let mut suspension = Suspension {
            location: self
                .world
                .backtrace(id)
                .and_then(|trace| component_frame(&trace)),
            notes: Vec::new(),
        };
        let threads = self.world.threads();
        let cause = threads
            .iter()
            .find(|info| info.id == id)
            .and_then(|info| info.blocked)
            .map(|blocked| blocked.cause);
        if let Some(Cause::Futex(address)) = cause {
            let others = threads.iter().filter(|info| {
                let same = info.blocked.map(|blocked| blocked.cause);
                info.id != id && same == Some(Cause::Futex(address))
            });
            let name = |info: &ThreadInfo| match &info.name {
                Some(name) => format!("thread {name}"),
                None => "a thread of the component".to_owned(),
            };
            let names: Vec<String> = others.map(name).collect();
            if !names.is_empty() {
                let names = names.join(", ");
                suspension.notes.push(format!("{names} waits for the same"));
            }
        }
        suspension
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

impl VirtualSession {
    /// Lets the threads run, and time with them, up to but not with `end`.
    /// True if `done` came first.
    fn run_until(&mut self, end: u64, done: &dyn Watch) -> bool {
        loop {
            self.world.run(end);
            if done.wait(Duration::ZERO) {
                return true;
            }
            let now = self.world.now();
            match self.world.next_deadline() {
                Some(deadline) if deadline <= now || deadline < end => {
                    self.world.advance_to(deadline);
                    self.world.fire_one();
                }
                _ => return false,
            }
        }
    }
}

/// What the kernel has seen.
#[derive(Debug)]
struct Kernel;

impl Witness for Kernel {
    fn at(&self, place: Place) {
        conan_kernel::set_tag(u64::from(place.line) << 32 | u64::from(place.column));
    }

    fn waker(&self) -> Option<Waker> {
        let (wake, thread) = conan_kernel::last_wake()?;
        let place = (wake.tag != 0).then_some(Place {
            line: (wake.tag >> 32) as u32,
            column: wake.tag as u32,
        });
        Some(Waker {
            place: place.filter(|_| thread.is_some()),
            thread,
            time_out: wake.timed_out,
        })
    }
}

/// A clock whose threads go on in the order in which the script has them.
#[derive(Debug, Default)]
struct OrderedClock {
    time: AtomicU64,
    waiting: Mutex<BTreeSet<(u64, Place, ThreadId)>>,
}

impl Clock for OrderedClock {
    fn await_time(&self, time: u64, place: Place) {
        let Some(thread) = conan_kernel::current_thread() else {
            return;
        };
        while self.time() < time {
            self.waiting().insert((time, place, thread));
            park();
        }
    }

    fn tick(&self) {
        let now = self.time.fetch_add(1, Ordering::SeqCst) + 1;
        let mut waiting = self.waiting();
        while let Some(&(time, _, thread)) = waiting.first() {
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
    fn waiting(&self) -> std::sync::MutexGuard<'_, BTreeSet<(u64, Place, ThreadId)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
