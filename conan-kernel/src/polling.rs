//! Threads outside that poll: what a look at their stacks tells.
//!
//! A thread that runs and runs may compute, or it may wait, by asking again
//! and again. Time must not hurry past the work of the one; of the other it
//! may. A thread is looked at from time to time, by a signal in whose handler
//! it walks its own stack; if it is mostly in functions that ask without
//! waiting, such as `try_recv`, it polls.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::executable;
use crate::me;
use crate::signals::{self, ON_ITS_STACK, RESTART, WITH_CONTEXT};
use crate::stack;

/// Functions that ask without waiting, as they are called in the crates that
/// have them. `try_` alone is not enough: `try_fold` asks nobody.
const ASKING: [&str; 14] = [
    "try_recv",
    "try_send",
    "try_select",
    "try_ready",
    "try_iter",
    "try_lock",
    "try_read",
    "try_write",
    "try_pop",
    "try_push",
    "try_acquire",
    "try_wait",
    "is_finished",
    "spin_loop",
];

/// Looks after which there is an opinion.
const ENOUGH_LOOKS: u32 = 4;

/// Nobody has more: it shall have asked since something has happened.
const MUCH_CREDIT_NS: u64 = 5_000_000;

/// A signal that nobody uses: it was for a coprocessor's stack.
const SIGNAL: c_int = 16;

/// What was seen of a thread.
#[derive(Default)]
pub(crate) struct Looks {
    all: AtomicU32,
    asking: AtomicU32,
    /// The thread of the system's that it was on at the last look, and how much
    /// processor time that had used.
    number: AtomicU32,
    used: AtomicU64,
    /// How many looks there had been then.
    seen: AtomicU32,
    /// Processor time in which it has asked, and no time has passed for it.
    credit: AtomicU64,
}

impl Looks {
    /// Another thread is at this place.
    pub(crate) fn forget(&self) {
        self.all.store(0, Ordering::Relaxed);
        self.asking.store(0, Ordering::Relaxed);
        self.credit.store(0, Ordering::Relaxed);
    }

    fn note(&self, asks: bool) {
        self.all.fetch_add(1, Ordering::Relaxed);
        self.asking.fetch_add(u32::from(asks), Ordering::Relaxed);
    }

    /// True if the thread mostly asks.
    pub(crate) fn polls(&self) -> bool {
        let (all, asking) = (&self.all, &self.asking);
        let (all, asking) = (all.load(Ordering::Relaxed), asking.load(Ordering::Relaxed));
        all >= ENOUGH_LOOKS && asking * 2 >= all
    }

    /// What the thread of the system's has used that it is on. That counts for
    /// its credit if it has also looked at its stack since the last call: on a
    /// machine that is not real, one that runs may stand still.
    pub(crate) fn has_run(&self, number: u32, used: u64) {
        let stayed = self.number.swap(number, Ordering::Relaxed) == number;
        let more = used.saturating_sub(self.used.swap(used, Ordering::Relaxed));
        let all = self.all.load(Ordering::Relaxed);
        let looked = self.seen.swap(all, Ordering::Relaxed) != all;
        if stayed && looked {
            let credit = self.credit().saturating_add(more).min(MUCH_CREDIT_NS);
            self.credit.store(credit, Ordering::Relaxed);
        }
    }

    /// It is on no thread of the system's for now: what the next one has used
    /// is not its own.
    pub(crate) fn has_left(&self) {
        self.number.store(0, Ordering::Relaxed);
    }

    pub(crate) fn credit(&self) -> u64 {
        self.credit.load(Ordering::Relaxed)
    }

    pub(crate) fn spend(&self, part: u64) {
        self.credit.fetch_sub(part, Ordering::Relaxed);
    }
}

unsafe extern "C" {
    fn getpid() -> c_int;
    fn tgkill(process: c_int, thread: c_int, signal: c_int) -> c_int;
}

/// How deep to look.
const DEEP: u32 = 100;

/// Where the functions are that ask; nothing if threads cannot be looked at.
static PLACES: OnceLock<Option<Vec<Range<usize>>>> = OnceLock::new();

/// Makes a thread of the system's look at its own stack. The caller is inside
/// the engine.
pub(crate) fn look_at(number: u32) {
    let places = PLACES.get_or_init(|| {
        let places = find_places().ok().filter(|places| !places.is_empty())?;
        is_prepared().then_some(places)
    });
    if places.is_some() {
        // SAFETY: the handler is in place; a thread that has ended gets none.
        unsafe { tgkill(getpid(), number as c_int, SIGNAL) };
    }
}

/// True if the signal is ours.
fn is_prepared() -> bool {
    let flags = WITH_CONTEXT | ON_ITS_STACK | RESTART;
    // SAFETY: a handler that is told what was interrupted.
    unsafe { signals::handle(SIGNAL, looked_at as *const () as usize, flags) }
}

/// What a thread does when it is looked at. It may be anywhere but inside the
/// engine: nothing here takes a lock or allocates.
extern "C" fn looked_at(_: c_int, _: *mut c_void, _: *mut c_void) {
    if let Some(slot) = me::managed()
        && let Some(Some(places)) = PLACES.get()
    {
        let (mut frames, mut asks) = (0, false);
        stack::walk(|address| {
            let next = places.partition_point(|place| place.end <= address);
            let place = places.get(next);
            asks = place.is_some_and(|place| place.contains(&address));
            frames += 1;
            !asks && frames <= DEEP
        });
        slot.looks.note(asks);
    }
}

/// Reads the executable's table of symbols.
fn find_places() -> io::Result<Vec<Range<usize>>> {
    const SYMBOLS: u32 = 2;
    const FUNCTION: u8 = 2;
    let file = File::open("/proc/self/exe")?;
    let read = |offset: u64, size: u64| {
        let mut bytes = vec![0; size as usize];
        file.read_exact_at(&mut bytes, offset).map(|()| bytes)
    };
    let head = read(0, 64)?;
    let (offset, count) = (number(&head, 40, 8), number(&head, 60, 2));
    let sections = read(offset, count * 64)?;
    let section = |index: u64| sections.get(index as usize * 64..);
    let mut places = Vec::new();
    for one in sections.chunks_exact(64) {
        let names = section(number(one, 40, 4));
        if number(one, 4, 4) as u32 != SYMBOLS || names.is_none() {
            continue;
        }
        let names = names.unwrap_or_default();
        let names = read(number(names, 24, 8), number(names, 32, 8))?;
        let symbols = read(number(one, 24, 8), number(one, 32, 8))?;
        for symbol in symbols.chunks_exact(24) {
            let name = names
                .get(number(symbol, 0, 4) as usize..)
                .unwrap_or_default();
            let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
            if symbol[4] & 0xf == FUNCTION && asks(name) {
                let start = executable::base() + number(symbol, 8, 8) as usize;
                places.push(start..start + number(symbol, 16, 8) as usize);
            }
        }
    }
    places.sort_by_key(|place| place.start);
    Ok(places)
}

fn asks(name: &[u8]) -> bool {
    let is_in = |word: &&str| name.windows(word.len()).any(|part| part == word.as_bytes());
    ASKING.iter().any(is_in)
}

/// A number of so many bytes; 0 beyond the end.
fn number(bytes: &[u8], offset: usize, size: usize) -> u64 {
    let mut number = [0; 8];
    if let Some(found) = bytes.get(offset..offset + size) {
        number[..size].copy_from_slice(found);
    }
    u64::from_le_bytes(number)
}
