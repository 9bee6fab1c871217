//! Worlds: managed threads and their clock, in the hands of an owner.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::{io, thread};

use crate::aboard::Aboard;
use crate::clocks::real_clock;
use crate::crew::{self, Crew, Idle, Job};
use crate::fine::Race;
use crate::handover::{Slot, handover};
use crate::interpose::{await_begin, enter_managed};
use crate::lock_holders::Evidence;
use crate::me::{self, Inside};
use crate::raw;
use crate::running::{Progress, running};
use crate::schedule::Strategy;
use crate::selfcheck::{Unavailable, available};
use crate::signals;
use crate::state::{self, BELL, SWITCHES};
use crate::thread::{Blocked, Cause, Inexact, Phase, Reason, ThreadId, ThreadInfo, Wake, WakeCall};
use crate::time::{self, CLOCK_MONOTONIC};
use crate::turn;
use crate::watchdog::{self, ALONE_NS, BUSY_NS, PERIOD_NS};

/// How many periods the owner waits for threads that have left its hands and
/// use no processor.
const OUTSIDE_PERIODS: u32 = 25;
/// How much processor time of theirs, in nanoseconds, the owner waits for.
const COMPUTING_NS: u64 = 2_000_000_000;

/// How many periods it waits for the answer of a thread outside that one of
/// its own has woken.
const ANSWER_PERIODS: u32 = 5;
/// And how many more, at most, while threads outside run.
const LATE_ANSWERS: u32 = 50;

/// How often it lingers at most for a lock of the whole program.
const STATICS_ROUNDS: u32 = 250;

/// How long it lingers, in nanoseconds of real time.
const LINGER_NS: u64 = 2_000_000;

/// Why a world stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Every thread is blocked or has ended.
    Quiescent,
    /// Threads only yield, or go on and on, and time may not creep any further.
    Yielding,
    /// There have been as many steps as there may be.
    OutOfSteps,
    /// The execution has [failed](crate::has_failed), and the threads had the
    /// time to come to their ends.
    Failed,
}

/// A set of managed threads and their clock. The thread that opens a world is
/// its owner; it is not managed itself.
#[derive(Debug)]
pub struct World {
    /// What threads that have left have done since they are waited for.
    progress: Progress,
    outside_switches: u32,
    answer_periods: u32,
    late_answers: u32,
    /// How often threads that had left were waited for and did not come back.
    in_vain: u32,
    crew: Option<Arc<Crew>>,
    /// Threads of the crew that have nothing to do.
    idle: Vec<Idle>,
    /// Threads that may not have begun.
    starting: Vec<ThreadId>,
    _aboard: Aboard,
}

impl World {
    /// Opens a world; waits until no other one is open.
    pub fn open(strategy: impl Strategy + 'static) -> Result<Self, Unavailable> {
        available()?;
        let turn = Aboard::take_turn();
        settle();
        let _inside = Inside::enter();
        state::lock().open(strategy);
        Ok(Self::of(Aboard::go(turn)))
    }

    /// The world that a process is, in which a thread has the turn. Returns when
    /// nobody has it any more.
    pub(crate) fn of_process() -> Self {
        Self::of(Aboard::follow())
    }

    fn of(aboard: Aboard) -> Self {
        me::set_owner(true);
        Self {
            progress: Progress::default(),
            outside_switches: 0,
            answer_periods: 0,
            late_answers: 0,
            in_vain: 0,
            crew: None,
            idle: Vec::new(),
            starting: Vec::new(),
            _aboard: aboard,
        }
    }

    /// Threads of the world's owner come from a crew, and go back to it.
    #[must_use]
    pub fn with_crew(mut self, crew: &Arc<Crew>) -> Self {
        self.crew = Some(Arc::clone(crew));
        self.idle = crew.take();
        self
    }

    /// Starts a managed thread. It runs when its turn comes.
    pub fn spawn(
        &mut self,
        name: &str,
        job: impl FnOnce() + Send + 'static,
    ) -> io::Result<ThreadId> {
        self.spawn_job(name, Box::new(job))
    }

    /// The same for what no longer shows its type: all that follows is compiled
    /// once, and not for each job.
    fn spawn_job(&mut self, name: &str, job: Job) -> io::Result<ThreadId> {
        if self.crew.is_none() {
            return self.start(name, |slot| {
                move || {
                    enter_managed(slot);
                    job();
                }
            });
        }
        let mut idle = self.idle.iter();
        if let Some(place) = idle.position(|(of, _)| of == name) {
            let (name, slot) = self.idle.swap_remove(place);
            slot.berth.give(job);
            let _inside = Inside::enter();
            let mut state = state::lock();
            state.enlist(slot, name);
            state.make_ready(slot.id);
            return Ok(slot.id);
        }
        self.start(name, |slot| {
            slot.berth.give(job);
            move || crew::serve(slot)
        })
    }

    /// Starts a thread of the system's that becomes a managed one. What std
    /// does before is nobody's business: its locks are shared with all other
    /// threads.
    fn start<B: FnOnce() + Send + 'static>(
        &mut self,
        name: &str,
        body: impl FnOnce(&'static Slot) -> B,
    ) -> io::Result<ThreadId> {
        let slot = {
            let _inside = Inside::enter();
            state::lock().register(Some(name))
        };
        me::set_spawning(slot);
        let body = body(slot);
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(body);
        let _inside = Inside::enter();
        let mut state = state::lock();
        if spawned.is_ok() {
            state.make_ready(slot.id);
            self.starting.push(slot.id);
        } else {
            state.was_refused = true;
            state.has_not_started(slot);
        }
        spawned.map(|_| slot.id)
    }

    /// Lets the threads run until none is ready, at the present time. Where
    /// threads only yield, or go on and on, time creeps, but not beyond `horizon`.
    pub fn run(&mut self, horizon: u64) -> Stopped {
        for thread in self.starting.drain(..) {
            await_begin(slot(thread));
        }
        {
            let _inside = Inside::enter();
            state::lock().turns = 0;
        }
        loop {
            {
                let _inside = Inside::enter();
                let mut state = state::lock();
                state.horizon = horizon;
                state.fine.rests();
                let next = state.choose();
                drop(state);
                if let Some(next) = next {
                    handover().run(next);
                }
            }
            if let Some(stopped) = self.has_stopped() {
                return stopped;
            }
            if self.wait_for_outsiders() || self.wait_at_statics() {
                continue;
            }
            let _inside = Inside::enter();
            return state::lock().rests();
        }
    }

    /// Why no thread runs, if nobody outside need be waited for.
    fn has_stopped(&self) -> Option<Stopped> {
        let _inside = Inside::enter();
        let state = state::lock();
        if state.is_out_of_steps() {
            return Some(Stopped::OutOfSteps);
        }
        if state.is_cut_short() {
            return Some(Stopped::Failed);
        }
        let is_alone = state.outside == 0
            && state.woke_outside.is_none()
            && state.at_statics.is_empty()
            && self.answer_periods == 0;
        (is_alone && state.ready.is_empty()).then(|| state.rests())
    }

    /// Allows for so many steps from the opening of the world on: turns, and
    /// scheduling points at which a thread could go on. There is no limit
    /// otherwise.
    pub fn limit_steps(&mut self, limit: u64) {
        let _inside = Inside::enter();
        state::lock().deciding.limit = limit;
    }

    /// A thread of this world is going to compute or poll for long: it is known
    /// from an earlier world. So it is let go as soon where it is alone as where
    /// others are ready.
    pub fn expect_busy(&mut self) {
        let _inside = Inside::enter();
        state::lock().alone_ns = BUSY_NS;
    }

    /// How many steps there have been.
    pub fn steps(&self) -> u64 {
        let _inside = Inside::enter();
        state::lock().deciding.steps
    }

    /// Before the world counts as at rest: threads that have left the engine's
    /// hands may come back, and threads outside may answer a wake. True if
    /// there may be something to run.
    fn wait_for_outsiders(&mut self) -> bool {
        let bell = BELL.load(Ordering::Acquire);
        {
            let _inside = Inside::enter();
            let mut state = state::lock();
            // One has come back, or was woken from outside, after the last
            // one had stopped.
            if !state.ready.is_empty() {
                return true;
            }
            if let Some(thread) = state.woke_outside.take() {
                state.note_inexact(thread, Reason::WokeOutside);
                self.answer_periods = ANSWER_PERIODS;
                self.late_answers = 0;
            }
            let switches = SWITCHES.load(Ordering::Relaxed);
            if state.outside == 0 || switches != self.outside_switches {
                self.progress = Progress::default();
                self.outside_switches = switches;
            }
            self.progress.look(&state);
            // One that kept everybody waiting in vain is waited for less the
            // next time.
            let less = self.in_vain.min(8);
            let is_patient = state.outside > 0
                && self.progress.spent < COMPUTING_NS >> less
                && self.progress.idle <= OUTSIDE_PERIODS >> less;
            if is_patient {
                // Real input and output that ends by itself is waited for.
            } else if self.answer_periods > 0 {
                // On a busy machine it takes its time.
                if self.answer_periods > 1
                    || self.late_answers == LATE_ANSWERS
                    || !watchdog::is_any_other_running()
                {
                    self.answer_periods -= 1;
                } else {
                    self.late_answers += 1;
                }
            } else {
                self.in_vain += u32::from(state.outside > 0);
                return false;
            }
        }
        raw::wait(&BELL, bell, Some(PERIOD_NS));
        true
    }

    /// A lock of the whole program, such as that of standard output, is not
    /// held for long: whoever waits for one gets a moment of real time, once,
    /// before virtual time moves. True if there may be something to run.
    fn wait_at_statics(&mut self) -> bool {
        {
            let _inside = Inside::enter();
            let mut state = state::lock();
            let begun = std::mem::take(&mut state.at_statics);
            let waits = |id: &ThreadId| {
                let thread = &state.threads[id.0];
                thread.is_member && matches!(thread.phase, Phase::Blocked(_))
            };
            if !begun.iter().any(waits) {
                return false;
            }
        }
        // One that has such a lock runs, or would if it had a processor.
        let mut idle = 0;
        for _ in 0..STATICS_ROUNDS {
            if self.linger() {
                return true;
            }
            // It may have been about to wake one when we looked.
            idle = if watchdog::is_any_other_running() {
                0
            } else {
                idle + 1
            };
            if idle == 3 {
                break;
            }
        }
        false
    }

    /// Gives threads outside a moment of real time to wake one of this world's:
    /// it may wait for a lock that one of them holds. True if one has.
    pub fn linger(&mut self) -> bool {
        let bell = BELL.load(Ordering::Acquire);
        let is_ready = || {
            let _inside = Inside::enter();
            !state::lock().ready.is_empty()
        };
        if !is_ready() {
            raw::wait(&BELL, bell, Some(LINGER_NS));
        }
        is_ready()
    }

    /// The present virtual time in nanoseconds.
    pub fn now(&self) -> u64 {
        let _inside = Inside::enter();
        state::lock().now
    }

    /// When the next timed wait or sleep gives up.
    pub fn next_deadline(&self) -> Option<u64> {
        let _inside = Inside::enter();
        state::lock().next_deadline()
    }

    /// Moves time on to `time`, if it is not there already.
    pub fn advance_to(&mut self, time: u64) {
        let _inside = Inside::enter();
        let mut state = state::lock();
        state.now = state.now.max(time);
    }

    /// Ends the first wait that is due. True if there was one.
    pub fn fire_one(&mut self) -> bool {
        let _inside = Inside::enter();
        state::lock().fire_one()
    }

    /// What is known of every thread of this world.
    pub fn threads(&self) -> Vec<ThreadInfo> {
        let _inside = Inside::enter();
        let state = state::lock();
        let own = state.members.iter().map(|id| &state.threads[id.0]);
        own.map(|thread| ThreadInfo {
            id: thread.slot.id,
            name: thread.name.clone(),
            is_component: thread.is_component,
            is_finished: thread.phase == Phase::Finished,
            blocked: match thread.phase {
                Phase::Blocked(blocked) => Some(blocked),
                _ => None,
            },
            running: running(thread),
            last_wake: thread.last_wake,
            tag: thread.tag,
            number: thread.course.number,
            missed: match thread.phase {
                Phase::Blocked(Blocked {
                    cause: Cause::Futex(address),
                    ..
                }) => state.missed_at(address),
                _ => None,
            },
        })
        .collect()
    }

    /// True if all of these threads have come to their ends.
    pub fn have_ended(&self, threads: &[ThreadId]) -> bool {
        let _inside = Inside::enter();
        let state = state::lock();
        let mut threads = threads.iter().map(|id| &state.threads[id.0]);
        threads.all(|thread| thread.phase == Phase::Finished)
    }

    /// How many threads of this world have not ended. If the world were closed now,
    /// it would leave them behind.
    pub fn unfinished(&self) -> usize {
        let _inside = Inside::enter();
        let state = state::lock();
        let own = state.members.iter().map(|id| &state.threads[id.0]);
        own.filter(|thread| thread.phase != Phase::Finished).count()
    }

    /// True if a thread of this world is blocked.
    pub fn is_anyone_blocked(&self) -> bool {
        let _inside = Inside::enter();
        let state = state::lock();
        let mut own = state.members.iter().map(|id| &state.threads[id.0]);
        own.any(|thread| matches!(thread.phase, Phase::Blocked(_)))
    }

    /// The backtrace of a blocked thread.
    pub fn backtrace(&self, id: ThreadId) -> Option<String> {
        let _inside = Inside::enter();
        let slot = {
            let mut state = state::lock();
            let thread = state.thread(id);
            matches!(thread.phase, Phase::Blocked(_)).then_some(thread.slot)
        }?;
        slot.backtrace()
    }

    /// What the stack of each blocked thread says about the lock at this
    /// address. Nothing is known of guards that are elsewhere, such as on the
    /// heap.
    pub fn lock_evidence(&self, lock: usize) -> Vec<(ThreadId, Evidence)> {
        let _inside = Inside::enter();
        let slots: Vec<_> = {
            let state = state::lock();
            let own = state.members.iter().map(|id| &state.threads[id.0]);
            let blocked = own.filter(|thread| matches!(thread.phase, Phase::Blocked(_)));
            blocked.map(|thread| thread.slot).collect()
        };
        let evidence = slots.into_iter().map(|slot| (slot.id, slot.evidence(lock)));
        evidence.collect()
    }

    /// True if a thread waits for a lock in a static variable that was locked
    /// already when an earlier world was closed that left threads behind, and
    /// no thread of this world points to it. Then it is one of those that has
    /// the lock, and never gives it back.
    pub fn waits_for_what_was_left(&self, id: ThreadId) -> bool {
        let address = {
            let _inside = Inside::enter();
            let state = state::lock();
            match state.threads[id.0].phase {
                Phase::Blocked(Blocked {
                    cause: Cause::Futex(address),
                    ..
                }) if state.left_behind > 0
                    && state.statics.word(address).is_some_and(|word| word != 0) =>
                {
                    address
                }
                _ => return false,
            }
        };
        !self.is_pointed_to(address)
    }

    /// True if a blocked thread points to the lock at whose word others wait, and
    /// does not wait there itself. Writers may wait at the word behind the lock's
    /// first one.
    fn is_pointed_to(&self, word: usize) -> bool {
        let first = word.saturating_sub(size_of::<u32>());
        let waits_there = |id: ThreadId| {
            let _inside = Inside::enter();
            match state::lock().threads[id.0].phase {
                Phase::Blocked(blocked) => match blocked.cause {
                    Cause::Futex(other) => other.abs_diff(word) <= size_of::<u32>(),
                    _ => false,
                },
                _ => false,
            }
        };
        let mut evidence = [word, first]
            .into_iter()
            .flat_map(|lock| self.lock_evidence(lock));
        evidence.any(|(id, evidence)| evidence.pointer && !waits_there(id))
    }

    /// How the last wait of a thread came to its end.
    pub fn last_wake_of(&self, id: ThreadId) -> Option<Wake> {
        let _inside = Inside::enter();
        state::lock().thread(id).last_wake
    }

    /// The last wake in this world at an address where a thread waits.
    pub fn last_wake_call(&self, address: usize) -> Option<WakeCall> {
        let _inside = Inside::enter();
        state::lock().last_wake_call(address)
    }

    /// The data races that have been seen, in code with hooks.
    pub fn races(&self) -> Vec<Race> {
        let told = {
            let _inside = Inside::enter();
            state::lock().races()
        };
        told.into_iter().map(|race| race()).collect()
    }

    /// True if the system has refused to start a thread of this world. What the
    /// threads have done since says nothing about the program.
    pub fn was_refused(&self) -> bool {
        let _inside = Inside::enter();
        state::lock().was_refused
    }

    /// Why the run was not exact so far; nothing if it was.
    pub fn inexact(&self) -> Vec<Inexact> {
        let _inside = Inside::enter();
        let state = state::lock();
        let mut inexact = state.inexact.clone();
        if signals::came_from_outside()
            && let Some(&thread) = state.members.first()
        {
            let reason = Reason::Signal;
            let tag = 0;
            inexact.push(Inexact {
                thread,
                reason,
                tag,
            });
        }
        inexact
    }
}

impl Drop for World {
    /// Abandons the owner's threads that have not ended: they stay parked for
    /// the life of the process. Threads of the component that wait for a wake
    /// may be woken by a later world, or by nobody.
    fn drop(&mut self) {
        me::set_owner(false);
        let _inside = Inside::enter();
        let mut state = state::lock();
        let mut rested = state.close();
        drop(state);
        if let Some(crew) = &self.crew {
            rested.append(&mut self.idle);
            crew.put(rested);
        }
    }
}

/// Gives the workers that have just served a thread outside the time to come
/// back: afterwards a world would not know of them.
fn settle() {
    let _inside = Inside::enter();
    for _ in 0..1000 {
        if !state::lock().is_any_free_running() {
            return;
        }
        raw::yield_now();
    }
}

fn slot(thread: ThreadId) -> &'static Slot {
    let _inside = Inside::enter();
    state::lock().thread(thread).slot
}

impl state::State {
    fn rests(&self) -> Stopped {
        if self.yielded.is_empty() {
            Stopped::Quiescent
        } else {
            Stopped::Yielding
        }
    }

    /// Begins a world.
    pub(crate) fn open(&mut self, strategy: impl Strategy + 'static) {
        assert!(!self.open, "a thread has one world at a time");
        self.open = true;
        self.deciding.begin(&strategy);
        self.fine.begin(strategy.preempts());
        self.races.clear();
        self.strategy = Some(Box::new(strategy));
        self.now = if self.is_process {
            time::of_process()
        } else {
            self.now.max(real_clock(CLOCK_MONOTONIC))
        };
        self.begun = self.now;
        self.inexact.clear();
        signals::forget_outside();
        self.forget_wake_calls();
        self.at_statics.clear();
        self.alone_ns = ALONE_NS;
        self.was_refused = false;
        self.woke_outside = None;
    }

    /// Returns the threads of a crew that have nothing to do.
    fn close(&mut self) -> Vec<(String, &'static Slot)> {
        let mut rested = Vec::with_capacity(self.members.len());
        let mut leaves = false;
        self.open = false;
        self.strategy = None;
        self.deciding.end();
        self.current = None;
        self.ready.clear();
        self.yielded.clear();
        self.io.forget();
        let threads = &self.threads;
        self.by_pthread
            .retain(|_, id| threads[id.0].phase != Phase::Finished);
        for id in std::mem::take(&mut self.members) {
            let thread = self.thread(id);
            let phase = thread.phase;
            let is_component = thread.is_component;
            thread.is_member = false;
            thread.joiners.clear();
            if let Some(timer) = thread.timer.take() {
                self.timers.remove(&timer);
            }
            let waits_at = match phase {
                Phase::Blocked(Blocked {
                    cause: Cause::Futex(address),
                    ..
                }) => Some(address),
                _ => None,
            };
            if phase == Phase::Finished {
                let thread = self.thread(id);
                if thread.slot.berth.is_taken() {
                    let name = thread.name.take().unwrap_or_default();
                    rested.push((name, thread.slot));
                } else {
                    self.free.insert(id);
                }
                continue;
            }
            self.left_behind += 1;
            leaves = true;
            // A pool's idle worker may be woken again by whoever uses the pool.
            if is_component && waits_at.is_some() {
                continue;
            }
            self.thread(id).phase = Phase::Abandoned;
            if phase == Phase::Outside {
                self.outside -= 1;
            }
            if let Some(address) = waits_at {
                self.leave_queue(address, id);
            }
        }
        if leaves && !self.is_process {
            self.statics.save();
        }
        rested
    }
}

/// How many threads earlier worlds of this process have left behind. They keep
/// what they hold, such as locks, and their places in the system, until the
/// process ends.
pub fn left_behind() -> usize {
    let _inside = Inside::enter();
    state::lock().left_behind
}

/// Runs code of the calling thread as if the thread were not managed: what it
/// blocks on is taken to be held by somebody outside, for a short time.
pub fn aside<R>(code: impl FnOnce() -> R) -> R {
    let _inside = Inside::enter();
    code()
}

/// True if the calling thread is a managed one that another managed thread has
/// started.
pub fn is_component() -> bool {
    me::slot().is_some_and(|slot| {
        let _inside = Inside::enter();
        state::lock().thread(slot.id).is_component
    })
}

/// The managed thread that calls this, if it is one.
pub fn current_thread() -> Option<ThreadId> {
    me::slot().map(|slot| slot.id)
}

/// The number of the calling managed thread in its world: 0 is the first that
/// was started.
pub fn current_number() -> Option<usize> {
    let slot = me::slot()?;
    let _inside = Inside::enter();
    Some(state::lock().thread(slot.id).course.number)
}

/// Suspends the calling managed thread until the owner of its world calls
/// [`unpark`]. Does nothing on other threads.
pub fn park() {
    if let Some(slot) = me::managed() {
        let _inside = Inside::enter();
        let state = turn::enter(slot);
        turn::block(state, slot, Cause::Park, None);
    }
}

/// How the last wait of the calling managed thread came to its end, and the
/// name of the thread that ended it.
pub fn last_wake() -> Option<(Wake, Option<String>)> {
    let slot = me::managed()?;
    let _inside = Inside::enter();
    let mut state = turn::enter(slot);
    let wake = state.thread(slot.id).last_wake?;
    let name = wake.by.and_then(|by| state.thread(by).name.clone());
    Some((wake, name))
}

/// Makes a thread ready that waits in [`park`].
pub fn unpark(id: ThreadId) {
    let _inside = Inside::enter();
    let mut state = state::lock();
    let phase = state.thread(id).phase;
    if matches!(
        phase,
        Phase::Blocked(Blocked {
            cause: Cause::Park,
            ..
        })
    ) {
        let at = state.now;
        let wake = Wake {
            by: None,
            tag: 0,
            timed_out: false,
            at,
        };
        state.end_wait(id, wake);
    }
}

/// Says something about the calling thread, for whoever looks at it later. What
/// woke it before is forgotten.
pub fn set_tag(tag: u64) {
    if let Some(slot) = me::managed() {
        let _inside = Inside::enter();
        let mut state = turn::enter(slot);
        let thread = state.thread(slot.id);
        thread.tag = tag;
        thread.last_wake = None;
    }
}
