//! The futex, emulated: the word is compared and the thread queued under the
//! engine's lock, so that no wake can fall between.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

use crate::decide::{self, Doing};
use crate::executable;
use crate::handover::Slot;
use crate::lock::Guard;
use crate::me::{self, Inside};
use crate::raw::{self, EAGAIN, EINTR, EINVAL, ETIMEDOUT, Timespec};
#[cfg(target_arch = "x86_64")]
use crate::spins;
use crate::state::{self, ANY_MANAGED, State};
use crate::thread::{Cause, Reason, ThreadId, Wake, WakeCall};
use crate::time;
use crate::turn::{self, Ended};

const COMMAND: usize = 0x7f;
const PRIVATE: usize = 128;
const WAIT: usize = 0;
const WAKE: usize = 1;
const WAIT_BITSET: usize = 9;
const WAKE_BITSET: usize = 10;
const CLOCK_REALTIME: usize = 256;

/// A signal has been handled, and the call goes on, as the system says it to
/// itself.
const RESTARTS: isize = -512;

/// A futex call of a managed thread; nothing if it is not emulated.
///
/// # Safety
///
/// The arguments must be those of a futex call.
pub(crate) unsafe fn managed(slot: &'static Slot, args: [usize; 6]) -> Option<isize> {
    let [address, operation, value, timeout, _, bits] = args;
    match operation & COMMAND {
        WAIT | WAIT_BITSET => {
            // SAFETY: a caller of futex passes a valid time or none.
            let timeout = unsafe { (timeout as *const Timespec).as_ref() };
            let is_bitset = operation & COMMAND == WAIT_BITSET;
            let mut bitset = u32::MAX;
            if is_bitset {
                bitset = bits as u32;
                if bitset == 0 {
                    return Some(EINVAL);
                }
            }
            let timeout = match timeout.map(|timeout| timeout.to_ns()) {
                Some(None) => return Some(EINVAL),
                Some(Some(ns)) => Some(ns),
                None => None,
            };
            // With a bitset the time is a point, without a length.
            let realtime = operation & CLOCK_REALTIME != 0;
            let until = timeout.map(|ns| (ns, is_bitset, realtime));
            // SAFETY: a caller of futex passes the address of a word.
            let word = unsafe { &*(address as *const AtomicU32) };
            loop {
                let result = wait(slot, word, value as u32, until, bitset);
                if result != RESTARTS {
                    return Some(result);
                }
            }
        }
        WAKE => Some(wake(Some(slot), args, value, u32::MAX)),
        WAKE_BITSET => Some(wake(Some(slot), args, value, bits as u32)),
        _ => None,
    }
}

fn wait(
    slot: &'static Slot,
    word: &AtomicU32,
    value: u32,
    until: Option<(u64, bool, bool)>,
    bitset: u32,
) -> isize {
    let _inside = Inside::enter();
    let address = word.as_ptr() as usize;
    let has_changed = || word.load(Ordering::SeqCst) != value;
    #[cfg(target_arch = "x86_64")]
    if decide::is_preempting() {
        spins::quicken(slot);
    }
    let mut state = state::lock();
    if state.stays_outside(slot.id) && has_changed() {
        return EAGAIN;
    }
    state = turn::come_in(state, slot);
    let number = state.thread(slot.id).course.number;
    state.fine.gives(number, address);
    state = decide::pause(state, slot, Doing::Wait(address));
    state = turn::come_in(state, slot);
    if has_changed() {
        state.fine.takes(number, address);
        state.step_outside(slot.id);
        return EAGAIN;
    }
    let deadline = until.map(|(ns, is_point, realtime)| match (is_point, realtime) {
        (false, _) => state.now.saturating_add(ns),
        (true, false) => ns,
        (true, true) => ns.saturating_sub(time::realtime_offset()),
    });
    if state.wakes_for_nothing(slot.id, address) {
        turn::wake_for_nothing(state, slot);
        return 0;
    }
    state.thread(slot.id).bitset = bitset;
    match turn::block(state, slot, Cause::Futex(address), deadline) {
        Ended::TimedOut => ETIMEDOUT,
        Ended::Interrupted(true) if deadline.is_none() => RESTARTS,
        Ended::Interrupted(_) => EINTR,
        // A thread that was released looks at the word again by itself.
        Ended::Woken | Ended::Released => 0,
    }
}

/// The wait of a thread that had been let go.
fn wait_as_before(slot: &'static Slot, word: &AtomicU32, value: u32, bitset: u32) -> isize {
    if bitset == 0 {
        return EINVAL;
    }
    let _inside = Inside::enter();
    let mut state = state::lock();
    if word.load(Ordering::SeqCst) != value {
        return EAGAIN;
    }
    me::come_back();
    state
        .free_threads
        .remove(&slot.number.load(Ordering::Relaxed));
    state.thread(slot.id).bitset = bitset;
    state.left_behind += 1;
    state.begin_wait(slot.id, Cause::Futex(word.as_ptr() as usize), None);
    turn::wait_for_turn(state, slot);
    0
}

/// Wakes managed threads, then others, up to `count` together.
fn wake(slot: Option<&'static Slot>, args: [usize; 6], count: usize, bitset: u32) -> isize {
    if bitset == 0 {
        return EINVAL;
    }
    let _inside = Inside::enter();
    // Whoever comes to wait from now on has seen what was changed. At a shared
    // word a thread of another process may wait.
    let is_outsider = is_outsider_at(args[0]);
    let is_private = args[1] & PRIVATE != 0;
    let mut state = begin_wake(slot, args[0], is_outsider);
    let woken = wake_managed(&mut state, slot, args[0], count, bitset);
    let mut others = 0;
    if woken < count && (is_outsider || !is_private) {
        drop(state);
        others = wake_outside(slot, args, count - woken);
        state = match slot {
            Some(slot) => turn::enter_briefly(slot),
            None => state::lock(),
        };
    }
    if let Some(slot) = slot
        && woken > 0
    {
        state = decide::pause(state, slot, Doing::Continue);
    }
    drop(state);
    if others < 0 && woken == 0 {
        others
    } else {
        woken as isize + others.max(0)
    }
}

/// Locks the state for a wake; other threads may run before it.
fn begin_wake(
    slot: Option<&'static Slot>,
    address: usize,
    is_outsider: bool,
) -> Guard<'static, State> {
    let Some(slot) = slot else {
        return state::lock();
    };
    let mut state = turn::enter_briefly(slot);
    // A thread outside that waits here must not be kept waiting: it may be
    // about to become one of ours.
    if is_outsider || !decide::is_preempting() {
        return state;
    }
    let number = state.thread(slot.id).course.number;
    state.fine.gives(number, address);
    decide::pause(state, slot, Doing::Wake(address))
}

fn wake_managed(
    state: &mut State,
    slot: Option<&'static Slot>,
    address: usize,
    count: usize,
    bitset: u32,
) -> usize {
    let by = slot.map(|slot| slot.id);
    let tag = by.map_or(0, |id| state.thread(id).tag);
    let at = state.now;
    let wake = Wake {
        by,
        tag,
        timed_out: false,
        at,
    };
    let (mut woken, mut woke) = (0, None);
    while woken < count {
        let left = count - woken;
        let Some(one) = wake_one(state, address, bitset, wake, left) else {
            break;
        };
        woke = Some(one);
        woken += 1;
    }
    state.remember_wake_call(address, WakeCall { by, tag, at, woke });
    if slot.is_none()
        && let Some(thread) = woke
        && !me::is_owner()
        && !executable::has_static_at(address)
    {
        state.note_inexact(thread, Reason::WokenFromOutside);
    }
    // Nobody who has the turn looks for them.
    if woken > 0 && slot.is_none_or(|slot| state.stays_outside(slot.id)) {
        state::ring();
    }
    woken
}

/// Makes the call for threads that are not managed.
fn wake_outside(slot: Option<&'static Slot>, mut args: [usize; 6], count: usize) -> isize {
    args[2] = count;
    // SAFETY: the caller's own call, for fewer threads.
    let others = unsafe { raw::syscall(raw::FUTEX, args) };
    // At a lock of the whole program a thread outside has waited for its turn,
    // not for a question.
    if let Some(slot) = slot
        && others > 0
        && !executable::has_static_at(args[0])
    {
        state::lock().woke_outside = Some(slot.id);
    }
    others
}

/// Wakes one of the waiters; `left` is how many may still be woken.
fn wake_one(
    state: &mut State,
    address: usize,
    bitset: u32,
    wake: Wake,
    left: usize,
) -> Option<ThreadId> {
    let queue = state.queues.get(&address)?;
    let matches = |id: &&ThreadId| state.threads[id.0].bitset & bitset != 0;
    let first = queue.iter().find(matches).copied()?;
    // Most often all of them are woken, and no list need be made.
    let chosen = if state.decides() && left < queue.len() {
        let matching: Vec<_> = queue.iter().filter(matches).copied().collect();
        matching[state.whom(&matching, left, wake.by)]
    } else {
        first
    };
    state.end_wait(chosen, wake);
    Some(chosen)
}

/// A futex call of a thread outside: it may have to wake managed ones.
///
/// # Safety
///
/// The arguments must be those of a futex call.
pub(crate) unsafe fn unmanaged(args: [usize; 6]) -> isize {
    let [address, operation, value, timeout, _, bits] = args;
    // A pool's worker that has served a thread outside is idle again: whoever
    // needs it next, in a world or not, will find it where it was. One that
    // waits for real time stays free.
    if let (Some(slot), WAIT | WAIT_BITSET, 0) = (me::free(), operation & COMMAND, timeout) {
        // SAFETY: a caller of futex passes the address of a word.
        let word = unsafe { &*(address as *const AtomicU32) };
        let bitset = if operation & COMMAND == WAIT {
            u32::MAX
        } else {
            bits as u32
        };
        return wait_as_before(slot, word, value as u32, bitset);
    }
    if ANY_MANAGED.load(Ordering::SeqCst) {
        match operation & COMMAND {
            WAKE => return wake(None, args, value, u32::MAX),
            WAKE_BITSET => return wake(None, args, value, bits as u32),
            _ => {}
        }
    }
    let waits = matches!(operation & COMMAND, WAIT | WAIT_BITSET);
    let _waiting = waits.then(|| waiters_at(args[0]).enter(args[0]));
    // SAFETY: the caller's own call.
    unsafe { raw::syscall(raw::FUTEX, args) }
}

/// Where threads outside wait, in groups by address. A wake by a managed
/// thread goes on to the kernel only if there is one: a waiter enters before
/// the kernel compares the word, and a waker looks after it has changed it.
static OUTSIDE_WAITERS: [Waiters; 256] = [const { Waiters::new() }; 256];

/// The waiters of one group. Nothing is allocated here: it may be the allocator
/// that waits.
struct Waiters {
    addresses: [AtomicUsize; 4],
    /// Those for whom there was no room.
    others: AtomicU32,
}

fn waiters_at(address: usize) -> &'static Waiters {
    &OUTSIDE_WAITERS[(address >> 2) % OUTSIDE_WAITERS.len()]
}

fn is_outsider_at(address: usize) -> bool {
    let waiters = waiters_at(address);
    fence(Ordering::SeqCst);
    let mut known = waiters.addresses.iter();
    known.any(|known| known.load(Ordering::SeqCst) == address)
        || waiters.others.load(Ordering::SeqCst) > 0
}

impl Waiters {
    const fn new() -> Self {
        Self {
            addresses: [const { AtomicUsize::new(0) }; 4],
            others: AtomicU32::new(0),
        }
    }

    fn enter(&self, address: usize) -> Waiting<'_> {
        let enters = |place: &&AtomicUsize| {
            place
                .compare_exchange(0, address, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
        };
        if let Some(place) = self.addresses.iter().find(enters) {
            return Waiting::Known(place);
        }
        self.others.fetch_add(1, Ordering::SeqCst);
        Waiting::Other(&self.others)
    }
}

/// While this lives, a thread outside waits, or is about to.
enum Waiting<'w> {
    Known(&'w AtomicUsize),
    Other(&'w AtomicU32),
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        match self {
            Self::Known(place) => place.store(0, Ordering::SeqCst),
            Self::Other(count) => {
                count.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}
