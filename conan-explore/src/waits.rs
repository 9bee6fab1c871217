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

/// What a thread waits for, and what is known of the lock in that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) waits: Waits,
    /// Which lock of std's it is.
    pub(crate) lock: Option<StdLock>,
    /// True if it waits at a condition variable of std's. It has released the
    /// mutex that it passed to that.
    pub(crate) has_released: bool,
}

/// A lock of std's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StdLock {
    Mutex,
    /// A reader-writer lock; readers and writers wait at different words.
    RwLock {
        writes: bool,
    },
    /// `Once`, `OnceLock` or `LazyLock`: the thread that holds it runs the
    /// initialisation.
    Once,
}

impl StdLock {
    /// The address of the lock, by that of the word that the thread waits at.
    pub(crate) fn address(self, word: usize) -> usize {
        match self {
            // The word of the readers comes first.
            Self::RwLock { writes: true } => word.saturating_sub(size_of::<u32>()),
            Self::RwLock { writes: false } | Self::Mutex | Self::Once => word,
        }
    }
}

/// What the thread with this backtrace waits for.
pub(crate) fn waiting(backtrace: &str) -> Waiting {
    let mut parks = false;
    for function in functions(backtrace) {
        let known = WAITING
            .iter()
            .find(|(library, module, _)| function.is_in(library, module));
        if let Some((library, module, waits)) = known {
            return Waiting {
                waits: *waits,
                lock: match (*library, *module) {
                    ("std::", "::mutex::") => Some(StdLock::Mutex),
                    ("std::", "::rwlock::") => Some(StdLock::RwLock {
                        writes: function.name.contains("write"),
                    }),
                    ("std::", "::once::") => Some(StdLock::Once),
                    _ => None,
                },
                has_released: (*library, *module) == ("std::", "::condvar::"),
            };
        }
        parks |= PARKING.iter().any(|part| function.is_in("std::", part));
    }
    Waiting {
        waits: if parks { Waits::Signal } else { Waits::Unknown },
        lock: None,
        has_released: false,
    }
}

/// How many initialisations by `Once`, `OnceLock` or `LazyLock` are on a stack.
pub(crate) fn initialisations(backtrace: &str) -> usize {
    let functions = functions(backtrace);
    let are_calls = functions.iter().filter(|function| {
        function.name.ends_with("::call") && function.is_in("std::", "::sync::once::")
    });
    are_calls.count()
}

/// The lines of the program in which the thread with this backtrace is: those that
/// are neither std's nor the engine's, the innermost first.
pub(crate) fn lines(backtrace: &str) -> Vec<&str> {
    let is_engines = |folder: &str| {
        let name = folder.split_once("-0.").map_or(folder, |(name, _)| name);
        name == "conan-kernel" || name == "conan-runtime"
    };
    let places = functions(backtrace).into_iter().map(|it| it.place);
    let of_program = places.filter(|place| {
        let is_std = place.is_empty() || place.starts_with("/rustc/");
        !is_std && !place.split('/').any(is_engines)
    });
    of_program.collect()
}

/// A function on a stack.
struct Function<'b> {
    name: &'b str,
    /// File, line and column.
    place: &'b str,
}

fn functions(backtrace: &str) -> Vec<Function<'_>> {
    let mut functions: Vec<Function<'_>> = Vec::new();
    for line in backtrace.lines() {
        let line = line.trim();
        if let Some(place) = line.strip_prefix("at ") {
            if let Some(last) = functions.last_mut() {
                last.place = place;
            }
        } else if let Some((number, name)) = line.split_once(':')
            && number.parse::<u32>().is_ok()
        {
            let name = name.trim().trim_start_matches(['<', '&']);
            functions.push(Function { name, place: "" });
        }
    }
    functions
}

impl Function<'_> {
    /// True for a function of this module, both with the `::` around them.
    fn is_in(&self, library: &str, module: &str) -> bool {
        if self.name.contains("::") {
            return self.name.starts_with(library) && self.name.contains(module);
        }
        // With line tables only, a function that is part of another one has no
        // more than its last name; but its file tells.
        let library = library.trim_end_matches(':');
        let module = module.trim_matches(':');
        let Some((folder, file)) = self.place.rsplit_once("/src/") else {
            return false;
        };
        let folder = folder.rsplit('/').next().unwrap_or(folder);
        let (name, version) = folder
            .rsplit_once('-')
            .filter(|(_, version)| version.starts_with(|c: char| c.is_ascii_digit()))
            .unwrap_or((folder, ""));
        let is_library = name.replace('-', "_") == library;
        let has_version = !version.is_empty() || library == "std";
        let mut parts = file.split(['/', '.']);
        is_library && has_version && (module.is_empty() || parts.any(|part| part == module))
    }
}

#[cfg(test)]
mod tests {
    use super::{StdLock, lines, waiting};
    use crate::failure::Waits;

    fn waits(backtrace: &str) -> Waits {
        waiting(backtrace).waits
    }

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
    fn a_writer_waits_behind_the_beginning_of_its_lock() {
        let lock = |function: &str| {
            let backtrace = format!("   4: <std::sys::sync::rwlock::futex::RwLock>::{function}\n");
            waiting(&backtrace).lock.expect("a lock")
        };
        assert_eq!(lock("read_contended").address(0x1000), 0x1000);
        assert_eq!(lock("write_contended").address(0x1004), 0x1000);
        assert_eq!(lock("write_contended"), StdLock::RwLock { writes: true });
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
    fn where_names_are_short_the_files_tell() {
        let registry = "/home/me/.cargo/registry/src/index";
        let lock = format!(
            "   4: lock_slow\n             at {registry}/parking_lot-0.12.3/src/raw_mutex.rs:262:17\n"
        );
        assert_eq!(waits(&lock), Waits::Lock);
        let receives = format!(
            "   4: recv<u32>\n             at {registry}/crossbeam-channel-0.5.15/src/flavors/list.rs:1:1\n"
        );
        assert_eq!(waits(&receives), Waits::Signal);
        let parks = "   4: park\n             at /rustc/59807616e1/library/std/src/sys/sync/thread_parking/futex.rs:1:1\n";
        assert_eq!(waits(parks), Waits::Signal);
        let own = "   4: lock\n             at ./src/mutex.rs:7:1\n   5: lock\n             at /home/me/std/src/poll.rs:1:1\n";
        assert_eq!(waits(own), Waits::Unknown);
    }

    #[test]
    fn the_lines_of_a_program_are_neither_stds_nor_the_engines() {
        let backtrace = "   3: syscall\n\
                         \x20            at ./conan-kernel/src/interpose.rs:83:32\n\
                         \x20  4: std::sys::sync::mutex::futex::Mutex::lock_contended\n\
                         \x20            at /rustc/59807616e1/library/std/src/sys/mutex.rs:1:1\n\
                         \x20  5: mine::lock\n\
                         \x20            at ./src/mine.rs:7:9\n\
                         \x20  6: mine::main\n\
                         \x20            at ./src/main.rs:3:1\n";
        assert_eq!(lines(backtrace), ["./src/mine.rs:7:9", "./src/main.rs:3:1"]);
        assert_eq!(lines(""), [""; 0]);
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        assert_eq!(waits("   1: my::mutex::lock\n"), Waits::Unknown);
        assert_eq!(waits(""), Waits::Unknown);
    }
}
