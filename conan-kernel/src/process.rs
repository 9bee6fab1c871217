//! The whole process as one world: its first thread is managed, and so is
//! every thread that comes of it. The owner is a thread of our own, which
//! moves time on whenever nothing else moves.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{io, thread};

use crate::clocks::real_clock;
use crate::handover::{Slot, handover};
use crate::io::{remember_inherited, wait_really};
use crate::me::{self, Inside};
use crate::memory;
use crate::polling;
use crate::random;
use crate::raw::{self, Nearby};
use crate::schedule::Strategy;
use crate::selfcheck::{Unavailable, available_as_library};
use crate::signals;
use crate::state::{self, ANY_MANAGED, BELL, State};
use crate::thread::{Phase, Reason};
use crate::time::CLOCK_MONOTONIC;
use crate::turn;
use crate::watchdog::{PERIOD_NS, is_running, time_used};
use crate::world::World;

/// Threads that do nothing but yield for so long of virtual time, with no
/// time-out ahead, wait for something that never comes.
const YIELDED_LONG_ENOUGH_NS: u64 = 24 * 3600 * 1_000_000_000;

/// So many time-outs, over so long of virtual time, are of threads that only
/// keep time: what the others wait for never comes.
const MANY_TIMEOUTS: u64 = 10_000_000;
const LONG_NS: u64 = 3600 * 1_000_000_000;

/// How long threads that only yield give those outside, in nanoseconds of
/// real time.
const YIELD_PAUSE_NS: u64 = 100_000;

/// So much of real time passes at once at most: after more the machine has let
/// nobody run, those outside neither.
const STARVED_NS: u64 = 100_000_000;

/// The same while all threads outside poll: that they ask is what counts.
const NOT_ASKED_NS: u64 = 5_000_000;

/// How long one that polls may be kept from it by a busy machine, in
/// nanoseconds of real time, before time passes all the same.
const LONG_STARVED_NS: u64 = 2_000_000_000;

/// How often threads outside are looked at, in nanoseconds of real time.
const LOOK_NS: u64 = 500_000;

/// So many times as fast as real time passes virtual time while all threads
/// outside poll.
const HASTE: u64 = 50;

/// How long, in nanoseconds of real time, descriptors are asked before every
/// thread counts as suspended for good: a signal may be on its way.
const GRACE_NS: u64 = 50_000_000;

/// What the children of another program had used that was here before this one.
static USED_BEFORE: AtomicU64 = AtomicU64::new(0);

/// True once the process was taken over.
static IS_MANAGED: AtomicBool = AtomicBool::new(false);

/// What came of a managed process so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Virtual nanoseconds that have passed.
    pub passed: u64,
    /// The threads that made the run inexact, by their names, and why; each
    /// once.
    pub inexact: Vec<(Option<String>, Reason)>,
    /// A digest of who ran when: the same for the same run.
    pub trace: u64,
}

/// Why nothing will come of a process any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hang {
    /// Every thread is blocked, with no time-out ahead.
    Blocked,
    /// Threads do nothing but yield.
    Yielding,
    /// Threads do nothing but wait for time to pass.
    Ticking,
}

/// Makes the calling thread a managed one, for the life of the process. It
/// must be the only one. All decisions are the strategy's. When nothing can
/// move any more, `hung` looks at the world and says with which code the
/// process ends.
pub fn manage_process(
    strategy: impl Strategy + 'static,
    hung: impl FnOnce(&World, Hang) -> i32 + Send + 'static,
) -> Result<(), Unavailable> {
    available_as_library()?;
    let _inside = Inside::enter();
    remember_inherited();
    USED_BEFORE.store(raw::used_by_children(), Ordering::Relaxed);
    // SAFETY: the functions may be called around `fork`, and between that and
    // `exec`.
    unsafe {
        pthread_atfork(
            Some(memory::before_fork),
            Some(memory::after_fork),
            Some(leave_child_alone),
        );
    }
    let slot = begin(strategy);
    slot.number.store(raw::thread_number(), Ordering::Relaxed);
    // SAFETY: has no arguments.
    let handle = unsafe { pthread_self() };
    slot.berth.handle.store(handle, Ordering::Relaxed);
    me::adopt(slot);
    handover().adopt(slot);
    signals::inherit(slot);
    let owner = Nearby::start(|nearby| {
        let owner = thread::Builder::new().name("conan owner".to_owned());
        owner.spawn(move || {
            nearby.inspect(Nearby::spread);
            own(hung);
        })
    });
    owner.expect("the system starts another thread");
    Ok(())
}

/// Makes a world of the process; the calling thread has the turn.
fn begin(strategy: impl Strategy + 'static) -> &'static Slot {
    let mut state = state::lock();
    state.is_process = true;
    state.open(strategy);
    IS_MANAGED.store(true, Ordering::Relaxed);
    let slot = state.register(Some("main"));
    state.make_ready(slot.id);
    state.look_ahead();
    state.choose();
    slot
}

/// True while the whole process is a world.
#[inline]
pub(crate) fn is_managed() -> bool {
    IS_MANAGED.load(Ordering::Relaxed)
}

/// What came of the process so far; nothing if it is not managed.
pub fn account() -> Option<Account> {
    if !is_managed() {
        return None;
    }
    let _inside = Inside::enter();
    let state = state::lock();
    let mut inexact = Vec::new();
    for one in &state.inexact {
        let one = (state.threads[one.thread.0].name.clone(), one.reason);
        if !inexact.contains(&one) {
            inexact.push(one);
        }
    }
    if signals::came_from_outside() {
        inexact.push((None, Reason::Signal));
    }
    let before = USED_BEFORE.load(Ordering::Relaxed);
    if raw::has_children() || raw::used_by_children() != before {
        inexact.push((None, Reason::Process));
    }
    if random::is_by_chance() {
        inexact.push((None, Reason::Random));
    }
    Some(Account {
        passed: state.now - state.begun,
        inexact,
        trace: state.trace,
    })
}

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
    fn pthread_self() -> usize;
    fn _exit(code: c_int) -> !;
}

/// A child has one thread, a copy of the one that called `fork`, and none of
/// ours.
extern "C" fn leave_child_alone() {
    memory::after_fork();
    IS_MANAGED.store(false, Ordering::Relaxed);
    ANY_MANAGED.store(false, Ordering::Relaxed);
    me::dismiss();
}

fn own(hung: impl FnOnce(&World, Hang) -> i32) {
    let world = World::of_process();
    let hang = drive();
    let _inside = Inside::enter();
    let code = hung(&world, hang);
    // SAFETY: nothing of this process is needed any more.
    unsafe { _exit(code) }
}

/// Runs the world until nothing can move any more.
fn drive() -> Hang {
    // When threads outside were last waited for, in real time.
    let mut looked = None;
    let mut happened = 0;
    // For how long one that polls has not got to it, in real time.
    let mut starved = 0;
    let mut timeouts = 0;
    loop {
        let bell = BELL.load(Ordering::Acquire);
        let _inside = Inside::enter();
        let mut state = state::lock();
        state.look_ahead();
        let next = state.choose();
        drop(state);
        if let Some(next) = next {
            handover().run(next);
        }
        let mut state = state::lock();
        if !state.ready.is_empty() {
            continue;
        }
        if state.outside > 0 {
            let pace = state.pace(&mut happened);
            let pause = state.pause();
            drop(state);
            let before = looked.unwrap_or_else(|| real_clock(CLOCK_MONOTONIC));
            raw::wait(&BELL, bell, Some(pause));
            let now = real_clock(CLOCK_MONOTONIC);
            looked = Some(now);
            let real = now.saturating_sub(before);
            let passed = match pace {
                Pace::Real => real.min(STARVED_NS),
                Pace::Asking(haste) => real.min(NOT_ASKED_NS).max(haste),
                // But for ever they cannot all be waited for.
                Pace::Starved if starved > LONG_STARVED_NS => real.min(NOT_ASKED_NS),
                Pace::Starved => 0,
            };
            starved = match pace {
                Pace::Starved => starved.saturating_add(real),
                _ => 0,
            };
            state::lock().keep_up(passed);
            continue;
        }
        // The same for those behind descriptors.
        let waiting = state.wait_for_outside();
        let awaiting = state.wait_for_signals();
        // Or a child may send a signal, and its handler set things going.
        let may_come = signals::may_come() && raw::has_children();
        if !waiting.is_empty() || !awaiting.is_empty() || may_come {
            for thread in waiting {
                state.note_inexact_once(thread, Reason::Io);
            }
            for thread in awaiting {
                state.note_inexact_once(thread, Reason::Blocked);
            }
            let pause = state.pause();
            drop(state);
            let before = looked.unwrap_or_else(|| real_clock(CLOCK_MONOTONIC));
            wait_really(pause);
            let now = real_clock(CLOCK_MONOTONIC);
            looked = Some(now);
            let passed = now.saturating_sub(before);
            state::lock().keep_up(passed.min(STARVED_NS));
            continue;
        }
        looked = None;
        let Some(deadline) = state.next_deadline() else {
            let is_quiet = state.io.is_quiet() && state.awaiting == 0 && !signals::may_come();
            drop(state);
            if !is_quiet {
                let found = wait_really(GRACE_NS);
                let mut state = state::lock();
                for &thread in &found {
                    state.note_inexact_once(thread, Reason::Io);
                }
                if !found.is_empty() || state.take_signals() {
                    continue;
                }
            }
            let state = state::lock();
            return if state.yielded.is_empty() {
                Hang::Blocked
            } else {
                Hang::Yielding
            };
        };
        state.jump_to(deadline);
        timeouts += 1;
        if timeouts > MANY_TIMEOUTS && state.now - state.begun > LONG_NS {
            return Hang::Ticking;
        }
    }
}

/// How time passes while threads are outside.
enum Pace {
    /// As real time does.
    Real,
    /// All of them poll: by so much at least.
    Asking(u64),
    /// All of them poll, but one has not, for the lack of a processor: what it
    /// asks for would come and be over.
    Starved,
}

impl State {
    /// Threads that only yield let time creep so far.
    fn look_ahead(&mut self) {
        self.horizon = self.now.saturating_add(YIELDED_LONG_ENOUGH_NS);
    }

    /// How long nothing happens, at most, while there are threads outside.
    fn pause(&self) -> u64 {
        if !self.yielded.is_empty() {
            return YIELD_PAUSE_NS;
        }
        let ahead = self
            .next_deadline()
            .map_or(u64::MAX, |deadline| deadline.saturating_sub(self.now));
        let looks = self.polls() || self.outside > 0 && !self.io.is_quiet();
        let period = if looks { LOOK_NS } else { PERIOD_NS };
        ahead.clamp(1, period)
    }

    /// Whether all threads outside only ask for what comes with time. Then it
    /// passes as they have used processor time, so that each of them has asked
    /// often since something has happened.
    fn pace(&mut self, happened: &mut u64) -> Pace {
        if !self.polls() || self.next_deadline().is_none() {
            return Pace::Real;
        }
        let mut is_any_starved = false;
        let is_later = std::mem::replace(happened, self.happened) == self.happened;
        let (members, threads) = (&self.members, &self.threads);
        let outside = || {
            let threads = members.iter().map(|id| &threads[id.0]);
            let outside = threads.filter(|thread| thread.phase == Phase::Outside);
            outside.map(|thread| thread.slot)
        };
        for slot in outside() {
            if let Some(number) = handover().number(slot) {
                slot.looks.has_run(number, time_used(number));
                // It does so as soon as it gets a processor.
                polling::look_at(number);
                is_any_starved |= slot.looks.credit() == 0 && is_running(number);
            } else {
                // The system has not let it begin yet.
                slot.looks.has_left();
                is_any_starved = true;
            }
            if !is_later {
                slot.looks.spend(slot.looks.credit());
            }
        }
        if !outside().all(|slot| slot.looks.polls()) {
            return Pace::Real;
        }
        if is_any_starved {
            return Pace::Starved;
        }
        let credit = outside().map(|slot| slot.looks.credit()).min();
        let credit = credit.unwrap_or_default();
        outside().for_each(|slot| slot.looks.spend(credit));
        Pace::Asking(credit.saturating_mul(HASTE))
    }

    /// While threads are outside, in real time, virtual time passes no faster,
    /// and does not catch up: a time-out that waits for their work must not
    /// come early, not even on a busy machine.
    fn keep_up(&mut self, passed: u64) {
        let limit = self.next_deadline().unwrap_or(u64::MAX);
        let due = self.now.saturating_add(passed).min(limit);
        self.now = self.now.max(due);
        self.fire_one();
        let mut yielded = std::mem::take(&mut self.yielded);
        self.ready.append(&mut yielded);
    }
}

/// The calling managed thread has a new name. True if that concerns a thread
/// of the system's that is not its own.
///
/// # Safety
///
/// The name must end with a zero.
pub(crate) unsafe fn set_name(slot: &'static Slot, name: *const c_char) -> bool {
    let _inside = Inside::enter();
    // SAFETY: the caller vouches for it.
    let name = unsafe { std::ffi::CStr::from_ptr(name) };
    let name = name.to_string_lossy().into_owned();
    let mut state = turn::enter(slot);
    // The owner of any other world has named its threads itself.
    if state.is_process {
        state.thread(slot.id).name = Some(name);
    }
    drop(state);
    slot.number.load(Ordering::Relaxed) != raw::thread_number()
}

/// Says something on standard error, whoever else holds it.
pub(crate) fn say(text: &str) {
    use io::Write;
    let _inside = Inside::enter();
    let _ = io::stderr().write_all(text.as_bytes());
}
