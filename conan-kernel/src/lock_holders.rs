//! What the stack of a blocked thread says about a lock: whether the thread
//! holds a guard of it.
//!
//! A lock that is free is taken without a system call, and std does not write
//! down which thread has it. But a guard is a pointer to its lock, and is most
//! often on the stack of the thread that holds it. So a blocked thread looks
//! for such pointers on its own stack. What it finds is evidence, not proof: a
//! guard that has been dropped leaves its bytes behind, and a reference to the
//! lock is a pointer, too.
//!
//! Only frames outside the engine count. The engine's own frames are on top of
//! memory that the program has just used, and are full of what it left there.

use std::hint::black_box;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use crate::bottom::Bottom;
use crate::stack::{self, Frame};

/// How much of a stack is cleared before it is used again, in bytes.
const CLEARED: usize = 8 * 1024;

/// How many bytes after a lock the data that it protects can begin.
const DATA: RangeInclusive<usize> = 8..=64;

/// True once a stack was searched.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// What the stack of a blocked thread says about a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not exclude each other"
)]
pub struct Evidence {
    /// The function that made the system call keeps a pointer to the lock. If it
    /// waits at a condition variable, the thread has released the lock for as
    /// long as it waits.
    pub in_call: bool,
    /// There is a pointer to the lock.
    pub pointer: bool,
    /// A function keeps a pointer to the lock in a register during its call, as
    /// optimised code does with guards.
    pub register: bool,
    /// There is a pointer to the lock that has beside it what std's guards
    /// have: a flag, or a pointer to the data.
    pub guard: bool,
    /// There is a guard as std returns it, in a frame outside the function that
    /// has called the one that made the system call: `{ is_poisoned, guard }`.
    pub returned_guard: bool,
    /// The call that the thread is in has returned a guard of the lock before,
    /// where it is going to return one now. That one is gone.
    pub is_repeated: bool,
}

impl Evidence {
    fn to_bits(self) -> u8 {
        let bits = [
            self.in_call,
            self.pointer,
            self.register,
            self.guard,
            self.returned_guard,
            self.is_repeated,
        ];
        let bits = bits.into_iter().enumerate();
        bits.map(|(place, bit)| u8::from(bit) << place).sum()
    }

    fn from_bits(bits: u8) -> Self {
        let bit = |place: u8| bits & (1 << place) != 0;
        Self {
            in_call: bit(0),
            pointer: bit(1),
            register: bit(2),
            guard: bit(3),
            returned_guard: bit(4),
            is_repeated: bit(5),
        }
    }
}

/// A question that the owner of a world asks a blocked thread, and the answer.
#[derive(Default)]
pub(crate) struct LockQuery {
    /// The address of the lock; 0 if nothing is asked.
    lock: AtomicUsize,
    answer: AtomicU8,
}

impl LockQuery {
    /// Asks for the lock at this address.
    pub(crate) fn ask(&self, lock: usize) {
        IS_USED.store(true, Ordering::Relaxed);
        self.answer.store(0, Ordering::Relaxed);
        self.lock.store(lock, Ordering::Relaxed);
    }

    /// Answers on the thread itself, if it was asked. False if it was not.
    pub(crate) fn answer(&self, bottom: &Bottom) -> bool {
        let lock = self.lock.swap(0, Ordering::Relaxed);
        if lock == 0 {
            return false;
        }
        let evidence = search(lock, bottom);
        self.answer.store(evidence.to_bits(), Ordering::Relaxed);
        true
    }

    /// What the thread has answered.
    pub(crate) fn evidence(&self) -> Evidence {
        Evidence::from_bits(self.answer.load(Ordering::Relaxed))
    }
}

/// Searches the calling thread's stack.
fn search(lock: usize, bottom: &Bottom) -> Evidence {
    let frames = stack::program_frames(bottom);
    let innermost = frames.first().map_or(0, |frame| frame.top);
    let caller = frames.get(1).map_or(innermost, |frame| frame.top);
    let outer = frames.get(2).map_or(caller, |frame| frame.top);
    let mut evidence = Evidence {
        register: frames.iter().skip(1).any(|frame| frame.keeps(lock) > 0),
        ..Evidence::default()
    };
    // In the innermost frame: what the function itself keeps, and the registers
    // that it has saved for its caller.
    let mut kept = frames.first().map_or(0, |frame| frame.keeps(lock));
    // The last three words, and the address of the second one.
    let (mut last, mut place) = ([0; 3], 0);
    bottom.each_word(innermost, |address, word| {
        last = [last[1], last[2], word];
        let [before, pointer, behind] = last;
        if pointer == lock {
            evidence.pointer = true;
            if place < caller {
                kept += 1;
            } else {
                evidence.guard |= is_guard(lock, before, behind);
            }
        }
        let is_returned = is_returned(lock, [before, pointer, behind]);
        evidence.returned_guard |= is_returned && place >= outer;
        place = address;
    });
    evidence.is_repeated = is_repeated(lock, &frames, bottom);
    evidence.pointer |= kept > 0;
    evidence.in_call = kept > frames.get(1).map_or(0, |frame| frame.keeps(lock));
    evidence
}

/// True if the function that has called std to lock is about to return a guard
/// to a place where there is one already: `{ is_poisoned: bool, guard }`.
fn is_repeated(lock: usize, frames: &[Frame], bottom: &Bottom) -> bool {
    let [_, locking, caller, outer, ..] = frames else {
        return false;
    };
    let mut places = Vec::new();
    let mut words = Vec::new();
    bottom.each_word(locking.top, |address, word| {
        if address < caller.top {
            places.push(word);
        } else if address < outer.top {
            words.push(word);
        }
    });
    let has_guard = |place: &usize| {
        let offset = place.checked_sub(caller.top)? / size_of::<usize>();
        let result = words.get(offset..offset + 3)?;
        Some(is_returned(lock, [result[0], result[1], result[2]]))
    };
    places.iter().any(|place| has_guard(place) == Some(true))
}

/// True if a pointer to a lock, and the words before and behind it, can be a
/// guard of std's: `{ lock, was_panicking: bool }` for a mutex or a writer,
/// `{ data, lock }` in some order for a reader.
fn is_guard(lock: usize, before: usize, behind: usize) -> bool {
    is_flag(lock, behind) || is_data(lock, before) || is_data(lock, behind)
}

/// True if three words can be what std's functions return that lock.
fn is_returned(lock: usize, [is_poisoned, first, second]: [usize; 3]) -> bool {
    let is_guard =
        first == lock && is_guard(lock, 0, second) || second == lock && is_data(lock, first);
    is_poisoned <= 1 && is_guard
}

/// True if a word can begin with a flag. Of a pointer to what the lock is a part
/// of, such as that of an `Arc`, the first byte can be 0, too.
fn is_flag(lock: usize, word: usize) -> bool {
    let is_around = lock.checked_sub(word).is_some_and(|it| DATA.contains(&it));
    word & 0xff <= 1 && !is_around
}

/// True if a word points to the data of a lock.
fn is_data(lock: usize, word: usize) -> bool {
    word.checked_sub(lock).is_some_and(|it| DATA.contains(&it))
}

/// Clears the part of the stack that comes next, so that nothing is found there
/// that another thread has left; only where it might matter.
pub(crate) fn clear_ahead() {
    if IS_USED.load(Ordering::Relaxed) {
        clear();
    }
}

#[inline(never)]
fn clear() {
    black_box([0_u8; CLEARED]);
}
