//! Random numbers of a managed process: those that a seed stands for, so that
//! one run of it is like the other. `HashMap`s are in the same order each time,
//! and a scheduler that steals at random steals from the same.
//!
//! What asks the system goes through `getrandom`, `getentropy` or one of the
//! two devices. They are good enough for tests, and for nothing that is secret.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::io;
use crate::me;
use crate::process;
use crate::raw;
use crate::real::{Real, anchored};

static REAL_GETRANDOM: Real = Real::new(c"getrandom");
static REAL_GETENTROPY: Real = Real::new(c"getentropy");
static REAL_OPEN: Real = Real::new(c"open");
static REAL_OPEN64: Real = Real::new(c"open64");
static REAL_OPENAT: Real = Real::new(c"openat");
static REAL_OPENAT64: Real = Real::new(c"openat64");

type GetRandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;
type GetEntropy = unsafe extern "C" fn(*mut c_void, usize) -> c_int;
type Open = unsafe extern "C" fn(*const c_char, c_int, c_uint) -> c_int;
type OpenAt = unsafe extern "C" fn(c_int, *const c_char, c_int, c_uint) -> c_int;

/// Where the random numbers of a managed process come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// They are those that this number stands for.
    Seed(u64),
    /// The system: no two runs that draw any are the same.
    System,
}

static SOURCE: OnceLock<Source> = OnceLock::new();

/// How many words were drawn. Threads outside may draw at the same time.
static DRAWN: AtomicU64 = AtomicU64::new(0);

/// True once the system's numbers were drawn.
static IS_BY_CHANCE: AtomicBool = AtomicBool::new(false);

/// What the numbers of this process are; to be said before it is managed.
pub(crate) fn draw_from(source: Source) {
    let _ = SOURCE.set(source);
}

/// True if the process has drawn what the next run will not.
pub(crate) fn is_by_chance() -> bool {
    IS_BY_CHANCE.load(Ordering::Relaxed)
}

/// What the monotonic clock says when the process begins, in nanoseconds; nothing
/// if that is the system's affair. Some draw random numbers from it: of each seed
/// it has another one. Nobody can tell what it is, but only how it moves on.
pub(crate) fn start_of_time() -> Option<u64> {
    const TEN_DAYS_NS: u64 = 10 * 24 * 3600 * 1_000_000_000;
    match SOURCE.get() {
        Some(Source::Seed(seed)) => Some(TEN_DAYS_NS + word(*seed, u64::MAX) % TEN_DAYS_NS),
        Some(Source::System) | None => None,
    }
}

/// The seed, if the calling thread is to draw from one.
fn seed() -> Option<u64> {
    if !process::is_managed() || me::managed().is_none() {
        return None;
    }
    match SOURCE.get() {
        Some(Source::Seed(seed)) => Some(*seed),
        Some(Source::System) => {
            IS_BY_CHANCE.store(true, Ordering::Relaxed);
            None
        }
        None => None,
    }
}

/// Fills a buffer; false if that is the system's affair.
///
/// # Safety
///
/// The buffer must have this size.
unsafe fn fill(buffer: *mut c_void, size: usize) -> bool {
    let Some(seed) = seed() else {
        return false;
    };
    if size > 0 {
        // SAFETY: the caller vouches for it; bytes have no alignment.
        let buffer = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), size) };
        for part in buffer.chunks_mut(8) {
            let word = word(seed, DRAWN.fetch_add(1, Ordering::Relaxed)).to_le_bytes();
            part.copy_from_slice(&word[..part.len()]);
        }
    }
    true
}

/// A word of the sequence that a seed stands for (`SplitMix64`).
fn word(seed: u64, place: u64) -> u64 {
    let step = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = seed.wrapping_add(step);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// `getrandom` by its number, for those who call it so.
///
/// # Safety
///
/// As for the call itself.
pub(crate) unsafe fn by_number(number: isize, args: [usize; 6]) -> Option<isize> {
    // SAFETY: the caller vouches for the arguments.
    (number == raw::GETRANDOM)
        .then(|| unsafe { getrandom(args[0] as _, args[1], args[2] as c_uint) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, size: usize, flags: c_uint) -> isize {
    const KNOWN: c_uint = 7;
    // SAFETY: the caller's own buffer.
    if flags & !KNOWN == 0 && !buffer.is_null() && unsafe { fill(buffer, size) } {
        return size as isize;
    }
    // SAFETY: libc's function of this name and type.
    let real: GetRandom = unsafe { mem::transmute(REAL_GETRANDOM.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(buffer, size, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(buffer: *mut c_void, size: usize) -> c_int {
    const MOST: usize = 256;
    // SAFETY: the caller's own buffer.
    if size <= MOST && unsafe { fill(buffer, size) } {
        return 0;
    }
    // SAFETY: libc's function of this name and type.
    let real: GetEntropy = unsafe { mem::transmute(REAL_GETENTROPY.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(buffer, size) }
}

/// A descriptor was opened, if the number is none of an error.
///
/// # Safety
///
/// The path must end with a zero.
unsafe fn opened(path: *const c_char, number: c_int) -> c_int {
    if number >= 0 && me::managed().is_some() {
        // SAFETY: the caller vouches for it; the system has read it, too.
        let path = unsafe { CStr::from_ptr(path) };
        if matches!(path.to_bytes(), b"/dev/urandom" | b"/dev/random") {
            io::is_random_device(number);
        }
    }
    number
}

/// What was read from a random device becomes what the seed stands for.
///
/// # Safety
///
/// So much must have been read into the buffer.
pub(crate) unsafe fn was_read(descriptor: c_int, buffer: *mut c_void, size: isize) {
    if size > 0 && io::is_any_random_device() && io::reads_random_device(descriptor) {
        // SAFETY: the caller vouches for it.
        unsafe { fill(buffer, size as usize) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: libc's function of this name; its last argument is variadic there
    // and arrives in the same register.
    let real: Open = unsafe { mem::transmute(REAL_OPEN.get()) };
    // SAFETY: the caller's own call.
    unsafe { opened(path, real(path, flags, mode)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: as for `open`.
    let real: Open = unsafe { mem::transmute(REAL_OPEN64.get()) };
    // SAFETY: the caller's own call.
    unsafe { opened(path, real(path, flags, mode)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    // SAFETY: as for `open`.
    let real: OpenAt = unsafe { mem::transmute(REAL_OPENAT.get()) };
    // SAFETY: the caller's own call.
    unsafe { opened(path, real(folder, path, flags, mode)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat64(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    // SAFETY: as for `open`.
    let real: OpenAt = unsafe { mem::transmute(REAL_OPENAT64.get()) };
    // SAFETY: the caller's own call.
    unsafe { opened(path, real(folder, path, flags, mode)) }
}

/// The addresses of all functions that take libc's place here.
pub(crate) fn anchor() -> usize {
    anchored(&[
        getrandom as *const () as usize,
        getentropy as *const () as usize,
        open as *const () as usize,
        open64 as *const () as usize,
        openat as *const () as usize,
        openat64 as *const () as usize,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_stands_for_its_numbers_and_for_no_others() {
        // The first numbers of the published generator.
        assert_eq!(word(0, 0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(word(0, 1), 0x6e78_9e6a_a1b9_65f4);
        assert_ne!(word(1, 0), word(0, 0));
    }
}
