//! Not exact, but never stuck: what to do about a thread that holds the turn
//! and does not come back.

use std::fs;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::handover::handover;
use crate::me::Inside;
use crate::raw::{self, SignalMask};
use crate::state::{self, SWITCHES, State};
use crate::thread::{Inexact, Phase, Reason};

/// How often the owner looks, in nanoseconds of real time.
pub(crate) const PERIOD_NS: u64 = 20_000_000;

/// Looks in which a thread was blocked before it is left alone.
const BLOCKED_LOOKS: u32 = 2;
/// The same if it waits for a lock of the C library's own, and others run: on a
/// busy machine whoever has that waits long for a processor.
const LOCKED_LOOKS: u32 = 50;
/// Nanoseconds on a processor before a running one is, while others are ready.
/// Not real time: on a busy machine a thread waits long for its processor.
pub(crate) const BUSY_NS: u64 = 100_000_000;
/// The same in a process that polls, as is known already: it would do nothing
/// else for most of its time.
const BUSY_AGAIN_NS: u64 = 2_000_000;
/// How often to look then.
const PERIOD_AGAIN_NS: u64 = 1_000_000;
/// The same in a process in which that has happened so often.
pub(crate) const OFTEN: usize = 10;
const BUSY_OFTEN_NS: u64 = 300_000;
const PERIOD_OFTEN_NS: u64 = 150_000;
/// The same while nobody else is.
pub(crate) const ALONE_NS: u64 = 2_000_000_000;

/// 1 while the thread below looks.
static AWAKE: AtomicU32 = AtomicU32::new(0);
/// Periods without any hand-over after which it goes to sleep.
const QUIET_PERIODS: u32 = 50;

/// Makes sure that somebody looks every period from now on, where the owner
/// of the world cannot.
pub(crate) fn attend() {
    static STARTED: Once = Once::new();
    if AWAKE.load(Ordering::Relaxed) == 1 {
        return;
    }
    let _inside = Inside::enter();
    STARTED.call_once(|| {
        thread::Builder::new()
            .name("conan watchdog".to_owned())
            .spawn(watch)
            .expect("the system starts another thread");
    });
    AWAKE.store(1, Ordering::SeqCst);
    raw::wake_all(&AWAKE);
}

fn watch() {
    let _inside = Inside::enter();
    // A handler of the program's must not find the engine's lock held here.
    SignalMask::block_all();
    let mut watchdog = Watchdog::default();
    let (mut switches, mut quiet) = (0, 0);
    let mut period = PERIOD_NS;
    loop {
        if AWAKE.load(Ordering::SeqCst) == 0 {
            raw::wait(&AWAKE, 0, None);
            continue;
        }
        raw::pause(period);
        let mut state = state::lock();
        watchdog.look(&mut state);
        if state.is_process && state.polls() {
            period = if state.inexact.len() > OFTEN {
                PERIOD_OFTEN_NS
            } else {
                PERIOD_AGAIN_NS
            };
        }
        let now = SWITCHES.load(Ordering::Relaxed);
        quiet = if state.open || now != switches {
            0
        } else {
            quiet + 1
        };
        switches = now;
        if quiet > QUIET_PERIODS {
            quiet = 0;
            // Under the lock: a world that opens comes to `attend` later.
            AWAKE.store(0, Ordering::SeqCst);
        }
    }
}

/// A watch over the thread that has the turn.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    switches: u32,
    blocked_looks: u32,
    used_before: Option<u64>,
}

impl Watchdog {
    /// To be called every period. Takes the turn from a thread that keeps it
    /// too long.
    pub(crate) fn look(&mut self, state: &mut State) {
        let switches = SWITCHES.load(Ordering::Relaxed);
        if switches != self.switches {
            *self = Self {
                switches,
                ..Self::default()
            };
        }
        let Some(id) = state.current else { return };
        let slot = state.thread(id).slot;
        let Some(number) = handover().number(slot) else {
            // The system has not let it begin yet.
            return;
        };
        if slot.is_in_system() {
            return;
        }
        let running = is_running(number);
        let polls = state.is_process && state.polls();
        // Where one polls, it may be for what another does after its sleep.
        let sleepers = polls && state.next_deadline().is_some();
        let alone = state.ready.is_empty() && state.yielded.is_empty() && !sleepers;
        let too_long = if running {
            self.blocked_looks = 0;
            let used = time_used(number);
            let used = used.saturating_sub(*self.used_before.get_or_insert(used));
            let busy = match (state.is_process, polls) {
                (true, true) if state.inexact.len() > OFTEN => BUSY_OFTEN_NS,
                (true, true) => BUSY_AGAIN_NS,
                _ => BUSY_NS,
            };
            used >= if alone { state.alone_ns } else { busy }
        } else {
            let lock = futex_of(number);
            if lock == Some(state::lock_address()) {
                // We have it ourselves, in order to look.
                return;
            }
            self.blocked_looks += 1;
            self.blocked_looks >= LOCKED_LOOKS
                || self.blocked_looks >= BLOCKED_LOOKS
                    && !(lock.is_some() && is_any_other_running())
        };
        if !too_long {
            return;
        }
        state.thread(id).kept_turn += u32::from(running);
        state.goes_outside(id);
        let reason = if running {
            Reason::Running
        } else {
            Reason::Blocked
        };
        state.note_inexact(id, reason);
        let next = state.choose();
        handover().bypass(next);
    }
}

impl State {
    /// True if a thread has computed or polled for long before.
    pub(crate) fn polls(&self) -> bool {
        let is_running = |inexact: &Inexact| inexact.reason == Reason::Running;
        self.inexact.iter().any(is_running)
    }

    /// True if a thread that was let go runs.
    pub(crate) fn is_any_free_running(&self) -> bool {
        self.free_threads.iter().any(|&number| is_running(number))
    }

    /// True if a thread that has left the engine's hands runs.
    pub(crate) fn is_computing(&self) -> bool {
        self.outside > 0
            && self.members.iter().any(|id| {
                let thread = &self.threads[id.0];
                thread.phase == Phase::Outside
                    && handover().number(thread.slot).is_some_and(is_running)
            })
    }
}

/// True if any thread of the process runs besides the calling one.
pub(crate) fn is_any_other_running() -> bool {
    let own = raw::thread_number();
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return false;
    };
    tasks
        .filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok())
        .any(|number: u32| number != own && is_running(number))
}

/// Nanoseconds that a thread has had a processor for.
pub(crate) fn time_used(number: u32) -> u64 {
    // The system's name for the clock of one thread.
    let clock = (!number << 3 | 6) as i32;
    crate::clocks::real_clock(clock)
}

/// Where a thread waits in the system's own futex, if it does. That of std and
/// of the crates over it never gets there: it is emulated.
fn futex_of(number: u32) -> Option<usize> {
    let call = fs::read_to_string(format!("/proc/self/task/{number}/syscall")).ok()?;
    let mut words = call.split(' ');
    let is_futex = words.next()?.parse() == Ok(raw::FUTEX);
    let address = words.next()?.strip_prefix("0x")?;
    let address = usize::from_str_radix(address, 16).ok()?;
    is_futex.then_some(address)
}

/// True if the system says that a thread runs or is ready to.
pub(crate) fn is_running(number: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/self/task/{number}/stat")) else {
        return false;
    };
    // The name before the state is in parentheses and may hold anything.
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.trim_start().chars().next());
    // Waiting for the disk, to load a page of the program, ends by itself.
    matches!(state, Some('R' | 'D'))
}
