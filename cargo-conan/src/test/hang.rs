//! Where the threads of a hang are, for people: what each is in, the line of
//! the user's own code, and a few callers.

use std::fmt::Write as _;

use conan_preload::{Cause, Hang, Suspended};

/// Callers that are shown, at most.
const CALLERS: usize = 4;

/// The threads in words, and which of them wait for each other.
pub(super) fn text(hang: &Hang) -> String {
    let mut text: String = blocks(hang).iter().map(Block::text).collect();
    for (index, thread) in hang.threads.iter().enumerate() {
        // Each of them is in it: it is told once.
        if thread.cycle.first() == Some(&index) && thread.cycle.iter().min() == Some(&index) {
            text.push_str(&cycle(hang, &thread.cycle));
        }
    }
    text
}

/// `a` waits for `b`, which waits for `a`.
fn cycle(hang: &Hang, threads: &[usize]) -> String {
    let labels = threads.iter().chain(threads.first());
    let mut labels = labels.filter_map(|&thread| Label::of(hang, thread));
    let Some(first) = labels.next() else {
        return String::new();
    };
    let rest: Vec<_> = labels.map(|label| format!("waits for {label}")).collect();
    format!(
        "they wait for each other: {first} {}\n",
        rest.join(", which ")
    )
}

/// How a thread is called in a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Label {
    /// Its name, if it has one.
    pub(super) name: Option<String>,
    /// Its number in its process, in the order in which they were started.
    pub(super) number: usize,
}

impl Label {
    /// The label of the thread with this index in the hang.
    fn of(hang: &Hang, thread: usize) -> Option<Self> {
        let thread = hang.threads.get(thread)?;
        Some(Self {
            name: thread.name.clone(),
            number: thread.number,
        })
    }

    /// The name, or a text in its place.
    pub(super) fn plain(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => self.to_string(),
        }
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Some(name) => write!(f, "thread `{name}`"),
            None => write!(f, "unnamed thread {}", self.number),
        }
    }
}

/// A thread of which no more than the name is known, as sentences begin with
/// it.
pub(super) fn named(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("thread `{name}`"),
        None => "an unnamed thread".to_owned(),
    }
}

/// One block for each thread; the harness's own only if there is no other.
pub(super) fn blocks(hang: &Hang) -> Vec<Block> {
    let block = |thread| Block::of(thread, hang);
    let blocks: Vec<_> = hang.threads.iter().map(block).collect();
    let is_harness = |block: &Block| block.is_harness;
    if blocks.iter().all(is_harness) {
        return blocks;
    }
    blocks
        .into_iter()
        .filter(|block| !block.is_harness)
        .collect()
}

/// A suspended thread.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) thread: Label,
    /// What it is in: `std::sync::Mutex::lock`.
    pub(super) what: String,
    /// The threads of which one probably holds the lock that it waits for. It
    /// may be among them.
    pub(super) held_by: Vec<Label>,
    /// The way over those that it waits for back to itself.
    pub(super) cycle: Vec<Label>,
    /// Where the user's code called that: `src/lib.rs:7:9`, and in which
    /// function; then the callers of that.
    pub(super) places: Vec<(String, String)>,
    is_harness: bool,
}

impl Block {
    fn of(thread: &Suspended, hang: &Hang) -> Self {
        let labels = |threads: &[usize]| {
            let labels = threads.iter().map(|&thread| Label::of(hang, thread));
            labels.flatten().collect()
        };
        let frames = frames(&thread.backtrace);
        let is_harness = frames
            .iter()
            .any(|frame| frame.name.starts_with("test::run_tests"));
        // A thread that a library has started knows nothing of its users.
        let has_own = frames.iter().any(Frame::is_users);
        let is_shown = |frame: &Frame| frame.is_users() || !has_own && !frame.is_foreign();
        let own = frames.iter().position(is_shown);
        let what = match own {
            Some(index) => {
                let called = &frames[..index.max(1)];
                let waits = called.iter().rfind(|frame| !frame.only_passes_on());
                waits.or(called.last())
            }
            None => frames.iter().rfind(|frame| !frame.is_engines()),
        };
        let what = what.map(|frame| frame.name.clone()).unwrap_or_default();
        let what = match (&thread.cause, what.as_str()) {
            (Cause::Yield, _) => "yields for ever".to_owned(),
            (_, "") => "waits".to_owned(),
            (
                Cause::Join {
                    name: Some(name), ..
                },
                what,
            ) => {
                format!("{what}, for the end of `{name}`")
            }
            (
                Cause::Join {
                    number: Some(number),
                    ..
                },
                what,
            ) => {
                format!("{what}, for the end of unnamed thread {number}")
            }
            (Cause::Io { call, kind }, what) => {
                let kind = kind.as_ref().map(|kind| format!(" on a {kind}"));
                format!("{what}, in `{call}`{}", kind.unwrap_or_default())
            }
            (_, what) => what.to_owned(),
        };
        let what = as_written(&what);
        let users = frames.iter().skip(own.unwrap_or(frames.len()));
        let places = users
            .filter(|frame| is_shown(frame))
            .filter_map(|frame| Some((short(frame.place.as_ref()?), frame.name.clone())))
            .take(CALLERS);
        Self {
            thread: Label {
                name: thread.name.clone(),
                number: thread.number,
            },
            what,
            held_by: labels(&thread.held_by),
            cycle: labels(&thread.cycle),
            places: places.collect(),
            is_harness,
        }
    }

    /// As text, a line for each place.
    fn text(&self) -> String {
        let thread = &self.thread;
        let mut text = format!("{thread} is suspended for good: {}", self.what);
        let holder = |label: &Label| match label {
            label if label == thread => "by itself".to_owned(),
            label => format!("by {label}"),
        };
        let holders: Vec<_> = self.held_by.iter().map(holder).collect();
        if !holders.is_empty() {
            let _ = write!(text, ", probably held {}", holders.join(" or "));
        }
        text.push('\n');
        for (place, function) in &self.places {
            let _ = writeln!(text, "    at {place} in {function}");
        }
        text
    }
}

/// The file of a library from the registry begins with the library's name.
fn short(place: &str) -> String {
    let in_registry = place.split_once("/registry/src/");
    let in_library = in_registry.and_then(|(_, rest)| rest.split_once('/'));
    in_library.map_or(place, |(_, rest)| rest).to_owned()
}

/// std's own modules are not what its users write.
fn as_written(what: &str) -> String {
    const MODULES: [(&str, &str); 13] = [
        ("std::net::tcp::", "std::net::"),
        ("std::net::udp::", "std::net::"),
        ("std::os::unix::net::stream::", "std::os::unix::net::"),
        ("std::os::unix::net::listener::", "std::os::unix::net::"),
        ("std::sync::poison::mutex::", "std::sync::"),
        ("std::sync::poison::rwlock::", "std::sync::"),
        ("std::sync::poison::condvar::", "std::sync::"),
        ("std::sync::poison::once::", "std::sync::"),
        ("std::sync::barrier::", "std::sync::"),
        ("std::sync::once_lock::", "std::sync::"),
        ("std::thread::join_handle::", "std::thread::"),
        ("std::thread::functions::", "std::thread::"),
        ("std::thread::scoped::", "std::thread::"),
    ];
    let mut what = what.to_owned();
    for (module, written) in MODULES {
        if let Some(rest) = what.strip_prefix(module) {
            what = format!("{written}{rest}");
        }
    }
    what
}

/// A frame of a backtrace.
struct Frame {
    name: String,
    place: Option<String>,
}

impl Frame {
    /// With line tables only, a function that was inlined has lost its path;
    /// its file tells.
    fn complete(&mut self) {
        const FILES: [(&str, &str); 8] = [
            ("/std/src/sync/poison/mutex.rs", "std::sync::Mutex"),
            ("/std/src/sync/poison/rwlock.rs", "std::sync::RwLock"),
            ("/std/src/sync/poison/condvar.rs", "std::sync::Condvar"),
            ("/std/src/sync/poison/once.rs", "std::sync::Once"),
            ("/std/src/sync/barrier.rs", "std::sync::Barrier"),
            ("/std/src/sync/mpsc.rs", "std::sync::mpsc"),
            ("/std/src/thread/join_handle.rs", "std::thread::JoinHandle"),
            ("/std/src/thread/scoped.rs", "std::thread"),
        ];
        let place = self.place.as_deref().unwrap_or_default();
        let known = FILES.iter().find(|(file, _)| place.contains(file));
        if let Some((_, path)) = known
            && !self.name.contains("::")
        {
            self.name = format!("{path}::{}", self.name);
        }
    }

    /// True for what comes with the compiler, and for the engine.
    fn is_foreign(&self) -> bool {
        const FOREIGN: [&str; 5] = ["std::", "core::", "alloc::", "test::", "__rust"];
        let is_foreign = FOREIGN.iter().any(|part| self.name.starts_with(part));
        is_foreign || self.is_engines() || self.place.is_none()
    }

    /// True for what waits for nothing by itself: an iterator that asks a
    /// channel.
    fn only_passes_on(&self) -> bool {
        let place = self.place.as_deref().unwrap_or_default();
        ["core", "alloc"].iter().any(|library| {
            let path = format!("library/{library}/");
            self.name.starts_with(&format!("{library}::")) || place.contains(&path)
        })
    }

    fn is_engines(&self) -> bool {
        const ENGINE: [&str; 3] = ["conan_kernel::", "conan_explore::", "conan_preload::"];
        ENGINE.iter().any(|part| self.name.starts_with(part))
    }

    /// True for the user's own code, as against that of libraries.
    fn is_users(&self) -> bool {
        let is_library = self.place.as_ref().is_none_or(|place| {
            ["/rustc/", "library/"]
                .iter()
                .any(|part| place.starts_with(part))
                || place.contains("/.cargo/registry/")
                || place.contains("/registry/src/")
        });
        !self.is_foreign() && !is_library
    }
}

/// The frames of a backtrace as std prints it, from the one that blocks on:
/// without the engine's, and without generics.
fn frames(backtrace: &str) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for line in backtrace.lines() {
        let line = line.trim_start();
        if let Some(place) = line.strip_prefix("at ") {
            if let Some(frame) = frames.last_mut() {
                let place = place.strip_prefix("./").unwrap_or(place);
                frame.place = Some(place.to_owned());
            }
        } else if let Some((_, name)) = line.split_once(": ") {
            frames.push(Frame {
                name: plain(name),
                place: None,
            });
        }
    }
    frames.iter_mut().for_each(Frame::complete);
    // The last function of ours is the one that libc's caller called.
    let ours = frames
        .iter()
        .take_while(|frame| frame.is_engines() || is_libc(&frame.name));
    let ours = ours.count();
    frames.split_off(ours)
}

fn is_libc(name: &str) -> bool {
    const NAMES: [&str; 25] = [
        // Where the handler of a signal returns to.
        "__restore_rt",
        "read",
        "readv",
        "recv",
        "recvfrom",
        "recvmsg",
        "accept",
        "accept4",
        "connect",
        "write",
        "writev",
        "send",
        "sendto",
        "sendmsg",
        "poll",
        "ppoll",
        "select",
        "epoll_wait",
        "epoll_pwait",
        "syscall",
        "pthread_join",
        "sched_yield",
        "nanosleep",
        "clock_nanosleep",
        "clock_gettime",
    ];
    NAMES.contains(&name)
}

/// `<std::sync::mpsc::Receiver<u32>>::recv` is `std::sync::mpsc::Receiver::recv`.
fn plain(name: &str) -> String {
    // The type inside angle brackets at the front is the function's own.
    let (own, rest) = match name.strip_prefix('<') {
        Some(rest) => {
            let (own, rest) = rest.split_at(closing(rest).unwrap_or(rest.len()));
            let own = without_generics(own);
            let own = own.split(" as ").next().unwrap_or_default().to_owned();
            (own, rest.strip_prefix('>').unwrap_or(rest))
        }
        None => (String::new(), name),
    };
    let text = format!("{own}{}", without_generics(rest)).replace("::::", "::");
    let text = text.strip_suffix("::").unwrap_or(&text);
    // Names of the old mangling end in a hash.
    match text.rsplit_once("::h") {
        Some((text, hash)) if hash.len() == 16 => text.to_owned(),
        _ => text.to_owned(),
    }
}

fn without_generics(name: &str) -> String {
    let mut text = String::new();
    let mut depth = 0_usize;
    let mut previous = ' ';
    for character in name.chars() {
        match character {
            '<' => depth += 1,
            '>' if previous != '-' => depth = depth.saturating_sub(1),
            _ if depth == 0 => text.push(character),
            _ => {}
        }
        previous = character;
    }
    text
}

/// Where the bracket ends that was opened before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    let mut previous = ' ';
    for (index, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            '>' if previous != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(index);
        }
        previous = character;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn names_are_shown_without_generics() {
        for (name, expected) in [
            (
                "<std::sync::mpsc::Receiver<u32>>::recv",
                "std::sync::mpsc::Receiver::recv",
            ),
            (
                "a::f::<b::g::{closure#0}, fn() -> u8>::{closure#1}",
                "a::f::{closure#1}",
            ),
            ("<a::B as c::D<e>>::run", "a::B::run"),
            ("<a::B<<c::D as e::F>::G> as h::I>::run", "a::B::run"),
            ("a::b::h0123456789abcdef", "a::b"),
            (
                "std::thread::JoinHandle<T>::join",
                "std::thread::JoinHandle::join",
            ),
        ] {
            assert_eq!(plain(name), expected, "{name}");
        }
    }

    #[test]
    fn a_thread_of_a_library_is_shown_where_that_is() {
        let backtrace = "   0: conan_kernel::state::block\n   1: syscall\n   \
            2: <std::sync::poison::mutex::Mutex<u8>>::lock\n             at /rustc/1/library/std/src/mutex.rs:1:1\n   \
            3: pool::work\n             at /home/me/.cargo/registry/src/index/pool-1.0.0/src/lib.rs:7:9\n   \
            4: std::thread::lifecycle\n             at /rustc/1/library/std/src/thread.rs:1:1\n   \
            5: conan_kernel::interpose::begin\n";
        let hang = Hang {
            is_alive: false,
            threads: vec![Suspended {
                name: Some("worker".to_owned()),
                number: 1,
                cause: Cause::Wake,
                waited: Duration::ZERO,
                held_by: Vec::new(),
                cycle: Vec::new(),
                backtrace: backtrace.to_owned(),
            }],
        };
        assert_eq!(
            text(&hang),
            "thread `worker` is suspended for good: std::sync::Mutex::lock\n    \
             at pool-1.0.0/src/lib.rs:7:9 in pool::work\n"
        );
    }

    #[test]
    fn who_holds_a_lock_is_told_and_a_cycle_once() {
        let thread = |number, name: Option<&str>, held_by: &[usize], cycle: &[usize]| Suspended {
            name: name.map(str::to_owned),
            number,
            cause: Cause::Wake,
            waited: Duration::ZERO,
            held_by: held_by.to_vec(),
            cycle: cycle.to_vec(),
            backtrace: String::new(),
        };
        let hang = Hang {
            is_alive: false,
            threads: vec![
                thread(0, Some("main"), &[], &[]),
                thread(2, None, &[2], &[1, 2]),
                thread(3, None, &[1], &[2, 1]),
                thread(4, Some("third"), &[2, 3], &[]),
            ],
        };
        assert_eq!(
            text(&hang),
            "thread `main` is suspended for good: waits\n\
             unnamed thread 2 is suspended for good: waits, probably held by unnamed thread 3\n\
             unnamed thread 3 is suspended for good: waits, probably held by unnamed thread 2\n\
             thread `third` is suspended for good: waits, \
             probably held by unnamed thread 3 or by itself\n\
             they wait for each other: unnamed thread 2 waits for unnamed thread 3, \
             which waits for unnamed thread 2\n"
        );
    }

    #[test]
    fn a_block_has_what_it_is_in_the_line_and_the_callers() {
        let backtrace = "   0: conan_kernel::state::block\n   1: syscall\n   \
            2: std::sys::pal::unix::futex::futex_wait\n             at /rustc/1/library/std/src/futex.rs:73:21\n   \
            3: <std::sync::poison::mutex::Mutex<u8>>::lock\n             at /rustc/1/library/std/src/mutex.rs:1:1\n   \
            4: bank::transfer\n             at ./src/lib.rs:12:20\n   \
            5: bank::tests::both_ways::{closure#0}\n             at ./src/lib.rs:30:9\n   \
            6: core::ops::function::FnOnce::call_once\n             at /rustc/1/library/core/src/f.rs:1:1\n";
        let thread = Suspended {
            name: Some("left".to_owned()),
            number: 1,
            cause: Cause::Wake,
            waited: Duration::ZERO,
            held_by: Vec::new(),
            cycle: Vec::new(),
            backtrace: backtrace.to_owned(),
        };
        let hang = Hang {
            is_alive: false,
            threads: vec![thread],
        };
        assert_eq!(
            text(&hang),
            "thread `left` is suspended for good: std::sync::Mutex::lock\n    \
             at src/lib.rs:12:20 in bank::transfer\n    \
             at src/lib.rs:30:9 in bank::tests::both_ways::{closure#0}\n"
        );
    }
}
