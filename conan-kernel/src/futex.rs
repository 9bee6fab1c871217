//! The futex, emulated: the word is compared and the thread queued under the
//! engine's lock, so that no wake can fall between.

use std::sync::atomic::{AtomicU32, Ordering, fence};

use crate::handover::Slot;
use crate::me::{self, Inside};
use crate::raw::{self, EAGAIN, EINVAL, ETIMEDOUT, Timespec};
use crate::state::{self, ANY_MANAGED, Cause, State, ThreadId, Wake, WakeCall};
use crate::time;

const COMMAND: usize = 0x7f;
const PRIVATE: usize = 128;
const WAIT: usize = 0;
const WAKE: usize = 1;
const WAIT_BITSET: usize = 9;
const WAKE_BITSET: usize = 10;
const CLOCK_REALTIME: usize = 256;

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
            Some(wait(slot, word, value as u32, until, bitset))
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
    let mut state = state::enter(slot);
    if word.load(Ordering::SeqCst) != value {
        return EAGAIN;
    }
    let deadline = until.map(|(ns, is_point, realtime)| match (is_point, realtime) {
        (false, _) => state.now.saturating_add(ns),
        (true, false) => ns,
        (true, true) => ns.saturating_sub(time::realtime_offset()),
    });
    state.thread(slot.id).bitset = bitset;
    let cause = Cause::Futex(word.as_ptr() as usize);
    match state::block(state, slot, cause, deadline) {
        Some(Wake {
            timed_out: true, ..
        }) => ETIMEDOUT,
        // A thread that was released looks at the word again by itself.
        Some(_) | None => 0,
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
    state.begin_wait(slot.id, Cause::Futex(word.as_ptr() as usize), None);
    state::wait_for_turn(state, slot);
    0
}

/// Wakes managed threads, then others, up to `count` together.
fn wake(slot: Option<&'static Slot>, mut args: [usize; 6], count: usize, bitset: u32) -> isize {
    if bitset == 0 {
        return EINVAL;
    }
    let mut woken = 0;
    {
        let _inside = Inside::enter();
        let mut state = match slot {
            Some(slot) => state::enter_briefly(slot),
            None => state::lock(),
        };
        let by = slot.map(|slot| slot.id);
        let tag = by.map_or(0, |id| state.thread(id).tag);
        let at = state.now;
        let wake = Wake {
            by,
            tag,
            timed_out: false,
            at,
        };
        let mut woke = None;
        while woken < count {
            let Some(one) = wake_one(&mut state, args[0], bitset, wake) else {
                break;
            };
            woke = Some(one);
            woken += 1;
        }
        state.remember_wake_call(args[0], WakeCall { by, tag, at, woke });
        if woken > 0 && slot.is_none_or(|slot| state.stays_outside(slot.id)) {
            state::ring();
        }
    }
    // At a shared word a thread of another process may wait.
    let is_private = args[1] & PRIVATE != 0;
    if woken == count || (is_private && !waiters_at(args[0]).is_any()) {
        return woken as isize;
    }
    args[2] = count - woken;
    // SAFETY: the caller's own call, for fewer threads.
    let others = unsafe { raw::syscall(raw::FUTEX, args) };
    if let Some(slot) = slot
        && others > 0
    {
        let _inside = Inside::enter();
        state::lock().woke_outside = Some(slot.id);
    }
    if others < 0 && woken == 0 {
        others
    } else {
        woken as isize + others.max(0)
    }
}

fn wake_one(state: &mut State, address: usize, bitset: u32, wake: Wake) -> Option<ThreadId> {
    let queue = state.queues.get(&address)?;
    let matching: Vec<_> = queue
        .iter()
        .copied()
        .filter(|id| state.threads[id.0].bitset & bitset != 0)
        .collect();
    if matching.is_empty() {
        return None;
    }
    let index = match &mut state.strategy {
        Some(strategy) => strategy.wake(&matching),
        None => 0,
    };
    state.end_wait(matching[index], wake);
    Some(matching[index])
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
    let _waiting = waits.then(|| waiters_at(args[0]).enter());
    // SAFETY: the caller's own call.
    unsafe { raw::syscall(raw::FUTEX, args) }
}

/// How many threads outside wait at the addresses that share a place in the
/// table. A wake by a managed thread goes on to the kernel only if there is
/// one: a waiter counts itself before the kernel compares the word, and a
/// waker looks after it has changed the word.
static OUTSIDE_WAITERS: [Waiters; 256] = [const { Waiters(AtomicU32::new(0)) }; 256];

struct Waiters(AtomicU32);

fn waiters_at(address: usize) -> &'static Waiters {
    &OUTSIDE_WAITERS[(address >> 2) % OUTSIDE_WAITERS.len()]
}

impl Waiters {
    fn is_any(&self) -> bool {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::SeqCst) > 0
    }

    fn enter(&self) -> Waiting<'_> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Waiting(self)
    }
}

struct Waiting<'w>(&'w Waiters);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}
