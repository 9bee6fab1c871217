//! What a thread waits for, read from its stack.
//!
//! The engine sees that a thread waits at an address, not what that is. The
//! names of the functions that it is in tell, as far as the libraries are
//! known that they belong to.

use crate::failure::Waits;

/// Modules of libraries whose functions wait, and what for. Of one library the
/// innermost function counts: a condition variable that takes its lock again
/// waits for the lock.
const WAITING: &[(&str, &str, Waits)] = &[
    ("std::", "::condvar::", Waits::Signal),
    ("std::", "::mutex::", Waits::Lock),
    ("std::", "::rwlock::", Waits::Lock),
    ("std::", "::reentrant_lock::", Waits::Lock),
    ("std::", "::once::", Waits::Lock),
    ("std::", "::barrier::", Waits::Signal),
    ("std::", "::mpmc::", Waits::Signal),
    ("std::", "::scoped::", Waits::Join(None)),
    ("parking_lot::", "::raw_mutex::", Waits::Lock),
    ("parking_lot::", "::raw_fair_mutex::", Waits::Lock),
    ("parking_lot::", "::raw_rwlock::", Waits::Lock),
    ("parking_lot::", "::once::", Waits::Lock),
    ("parking_lot::", "::condvar::", Waits::Signal),
    ("crossbeam_channel::", "::", Waits::Signal),
    ("crossbeam_utils::", "::parker::", Waits::Signal),
    ("flume::", "::", Waits::Signal),
    ("event_listener::", "::", Waits::Signal),
];

/// What a thread that parks waits for, if nothing further out says more.
const PARKING: &[&str] = &["::thread_parking::", "::park"];

/// What the thread with this backtrace waits for.
pub(crate) fn waits(backtrace: &str) -> Waits {
    let functions = backtrace.lines().filter_map(|line| {
        let (number, name) = line.split_once(':')?;
        number.trim().parse::<u32>().ok()?;
        Some(name.trim().trim_start_matches(['<', '&']))
    });
    let mut parks = false;
    for name in functions {
        let known = WAITING
            .iter()
            .find(|(library, module, _)| name.starts_with(library) && name.contains(module));
        if let Some((.., waits)) = known {
            return *waits;
        }
        parks |= name.starts_with("std::") && PARKING.iter().any(|part| name.contains(part));
    }
    if parks { Waits::Signal } else { Waits::Unknown }
}

#[cfg(test)]
mod tests {
    use super::waits;
    use crate::failure::Waits;

    #[test]
    fn the_innermost_function_counts() {
        let condvar = "   3: syscall\n\
                       \x20            at ./conan-kernel/src/interpose.rs:83:32\n\
                       \x20  4: <std::sys::sync::condvar::futex::Condvar>::wait\n\
                       \x20  5: std::sync::poison::mutex::Mutex<T>::lock\n\
                       \x20  6: core::ops::function::FnOnce::call_once\n";
        assert_eq!(waits(condvar), Waits::Signal);
        let again = "   3: syscall\n\
                     \x20  4: std::sys::sync::mutex::futex::Mutex::lock_contended\n\
                     \x20  5: std::sync::poison::condvar::Condvar::wait\n";
        assert_eq!(waits(again), Waits::Lock);
    }

    #[test]
    fn who_parks_is_asked_for_the_reason() {
        let parks = "   4: std::sys::sync::thread_parking::futex::Parker::park\n\
                     \x20  5: std::thread::functions::park\n";
        assert_eq!(waits(parks), Waits::Signal);
        let scope = format!("{parks}   6: std::thread::scoped::scope\n");
        assert_eq!(waits(&scope), Waits::Join(None));
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        assert_eq!(waits("   1: my::mutex::lock\n"), Waits::Unknown);
        assert_eq!(waits(""), Waits::Unknown);
    }
}
