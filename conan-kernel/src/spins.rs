//! Loops that spin before they wait.
//!
//! std's locks look at their word a hundred times, with a pause after each,
//! before they wait. Where one thread runs at a time nothing can change
//! meanwhile, and a hundred pauses can take longer than all else in a small
//! world. A search that likes to interrupt threads that hold locks would spend
//! much of its time so.
//!
//! So in a loop of this kind `pause` becomes a `nop` of the same length. To a
//! processor both mean to do nothing, and one of them takes its time over it;
//! no result of any program can depend on which it is. The loop is looked for
//! in the code that has come to wait, as what it is made of shows: a change of
//! std's may cost speed, and nothing else.

use std::fs::OpenOptions;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::executable;
use crate::handover::Slot;

/// So many waits of a process are looked at: there are only a few functions
/// that spin, and whoever uses them comes to them soon.
const LOOKS: u32 = 48;

/// How much of a stack may lie between here and the function that waits, in
/// words.
const DEPTH: usize = 160;

/// How far its loops may be from where it waits, in bytes.
const NEAR: usize = 400;

/// Looks that are left.
static LEFT: AtomicU32 = AtomicU32::new(LOOKS);

/// To be called by a managed thread that is about to wait.
pub(crate) fn quicken(slot: &'static Slot) {
    // One thread runs at a time; if two do look at once, no harm is done.
    let left = LEFT.load(Ordering::Relaxed);
    if left > 0 {
        LEFT.store(left - 1, Ordering::Relaxed);
        let code = executable::code();
        slot.bottom.words(DEPTH, |word| {
            if code.contains(&word) {
                quicken_near(word, &code);
            }
        });
    }
}

/// Looks at the code around an address that may be where a function goes on
/// after it has waited.
fn quicken_near(address: usize, code: &Range<usize>) {
    let start = code.start.max(address.saturating_sub(NEAR));
    let end = code.end.min(address.saturating_add(NEAR));
    let near = executable::bytes_of_code(start..end);
    for at in pauses(near) {
        // Where a program may not change its code, loops stay as they are.
        if write(start + at, NOP).is_err() {
            return;
        }
    }
}

/// The first byte of `pause`, and of a `nop` with the same second byte: a
/// thread that runs there sees the one or the other.
const PAUSE: u8 = 0xf3;
const NOP: u8 = 0x66;
const SECOND: u8 = 0x90;

/// Through the file that stands for it, a process may write to its code.
fn write(address: usize, byte: u8) -> io::Result<()> {
    let memory = OpenOptions::new().write(true).open("/proc/self/mem")?;
    memory.write_all_at(&[byte], address as u64)
}

/// Where loops begin that begin with a pause.
fn pauses(code: &[u8]) -> impl Iterator<Item = usize> {
    let pairs = code.windows(2).enumerate();
    let pauses = pairs.filter(|(_, pair)| *pair == [PAUSE, SECOND]);
    pauses
        .map(|(at, _)| at)
        .filter(|&at| is_loop(&code[at + 2..]))
}

/// True if instructions follow that do nothing but look and count, and the
/// last of them goes back to the pause before them.
fn is_loop(code: &[u8]) -> bool {
    let mut at = 0;
    while let Some(instruction) = Instruction::read(&code[at..]) {
        at += instruction.length;
        if let Some(distance) = instruction.goes_by
            && at as isize + 2 + distance == 0
        {
            return true;
        }
    }
    false
}

/// An instruction, as far as it is known here.
struct Instruction {
    length: usize,
    /// How far it goes on from its end, if it does on some condition.
    goes_by: Option<isize>,
}

impl Instruction {
    /// Reads one of the few of which such loops are made.
    fn read(code: &[u8]) -> Option<Self> {
        let plain = |length| Self {
            length,
            goes_by: None,
        };
        // A prefix that widens registers, or names the other eight.
        let prefix = usize::from(matches!(code.first()?, 0x40..=0x4f));
        let code = &code[prefix..];
        let operands = |code: &[u8]| Some(1 + operands(*code.get(1)?)?);
        match code.first()? {
            // Moves, comparisons of all kinds, addresses.
            0x85 | 0x89 | 0x8b | 0x8d | 0x39 | 0x3b => Some(plain(prefix + operands(code)?)),
            // Arithmetic with a small number, and with a large one.
            0x83 => Some(plain(prefix + operands(code)? + 1)),
            0x81 => Some(plain(prefix + operands(code)? + 4)),
            0x25 | 0x3d | 0xa9 => Some(plain(prefix + 5)),
            // One more, and one less.
            0xff if code.get(1)? & 0xf0 == 0xc0 => Some(plain(prefix + 2)),
            // Goes on elsewhere: near, and far.
            0x70..=0x7f => Some(Self {
                length: prefix + 2,
                goes_by: Some(isize::from(code.get(1)?.cast_signed())),
            }),
            0x0f if code.get(1)? & 0xf0 == 0x80 => Some(plain(prefix + 6)),
            _ => None,
        }
    }
}

/// The length of what names two operands: registers, or a register and what
/// another one points to.
fn operands(byte: u8) -> Option<usize> {
    let (mode, register) = (byte >> 6, byte & 7);
    match (mode, register) {
        (3, _) | (0, 0..=3 | 6 | 7) => Some(1),
        (1, 0..=3 | 5..=7) => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, RwLock};

    use super::pauses;
    use crate::executable;
    use crate::{Point, Strategy, World, point};

    /// Whoever could go on does not.
    struct Interrupts;

    impl Strategy for Interrupts {
        fn decide(&mut self, point: &Point<'_>) -> usize {
            point.options.len() - 1
        }

        fn preempts(&self) -> bool {
            true
        }
    }

    fn loops() -> usize {
        pauses(executable::bytes_of_code(executable::code())).count()
    }

    /// If it fails, std's locks have become other ones: explorations are right
    /// all the same, but slower than they were.
    #[test]
    fn the_locks_of_std_do_not_pause_once_threads_have_waited_for_them() {
        let before = loops();
        let locks = Arc::new((Mutex::new(()), RwLock::new(())));
        let mut world = World::open(Interrupts).expect("an engine");
        for name in ["one", "other"] {
            let locks = Arc::clone(&locks);
            let job = move || {
                let held = (locks.0.lock(), locks.1.read());
                point();
                drop(held);
                let held = locks.1.write();
                point();
                drop(held);
            };
            world.spawn(name, job).expect("a thread");
        }
        world.run(u64::MAX);
        assert!(loops() + 4 <= before, "{} of {before} are left", loops());
    }

    #[track_caller]
    fn check(code: &[u8], expected: &[usize]) {
        assert_eq!(pauses(code).collect::<Vec<_>>(), expected);
    }

    /// The two loops of std's mutex, and two of its read-write lock, as they
    /// are in 1.95.
    #[test]
    fn the_loops_of_the_locks_of_std_are_known() {
        check(
            b"\x90\xf3\x90\x8b\x03\x83\xf8\x01\x75\x07\x85\xc9\x8d\x49\x01\x75\xf0\x85\xc0",
            &[1],
        );
        check(
            b"\xf3\x90\x8b\x03\x8d\x51\x01\x83\xf8\x01\x75\x84\x85\xc9\x89\xd1\x75\xee",
            &[0],
        );
        check(
            b"\xf3\x90\x8b\x03\x8d\x72\x01\x3d\xff\xff\xff\x3f\x0f\x85\x0b\xff\xff\xff\x85\xd2\x89\xf2\x75\xe8",
            &[0],
        );
        check(
            b"\xf3\x90\x8b\x03\x85\xc0\x78\x11\x89\xc2\x81\xe2\xff\xff\xff\x3f\x74\x07\x85\xc9\x8d\x49\x01\x75\xe7",
            &[0],
        );
    }

    #[test]
    fn what_is_no_such_loop_stays_as_it_is() {
        // Nothing goes back to it.
        check(b"\xf3\x90\x8b\x03\xc3", &[]);
        // Something goes back, but not to it.
        check(b"\xf3\x90\x8b\x03\x75\xfb", &[]);
        // A call is in between.
        check(b"\xf3\x90\xff\xd0\x85\xc0\x75\xf8", &[]);
        // It is part of a number.
        check(b"\xb9\xf3\x90\x00\x00\x85\xc0\x75\xfa", &[]);
        check(b"\xf3\x90", &[]);
        check(b"\xf3", &[]);
        check(b"", &[]);
    }
}
