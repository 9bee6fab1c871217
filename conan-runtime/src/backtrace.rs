//! A panic's backtrace, without the frames that say nothing.

use std::backtrace::Backtrace;
use std::env;

/// The frames between the panic and our own code; all of them if the user
/// asks for a full backtrace, as with std.
pub(crate) fn shown(backtrace: &Backtrace) -> String {
    let text = backtrace.to_string();
    if env::var("RUST_BACKTRACE").is_ok_and(|level| level == "full") {
        return text;
    }
    short(&text)
}

fn short(text: &str) -> String {
    let mut frames: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        match frames.last_mut() {
            Some(frame) if !begins_frame(line) => frame.push(line),
            _ => frames.push(vec![line]),
        }
    }
    let is_panic = |frame: &Vec<&str>| {
        ["core::panicking::", "rust_begin_unwind"]
            .iter()
            .any(|part| frame[0].contains(part))
    };
    let is_ours = |frame: &&Vec<&str>| {
        let parts = [
            "AssertUnwindSafe",
            "conan_runtime::",
            "core::ops::function::FnOnce",
        ];
        !parts.iter().any(|part| frame[0].contains(part))
    };
    let start = frames.iter().rposition(is_panic).map_or(0, |last| last + 1);
    let kept = frames[start..].iter().take_while(is_ours);
    kept.flatten().map(|line| format!("{line}\n")).collect()
}

/// Where the component blocks, as `file:line:column`: in the innermost frame of
/// the user's own code. If that has called a library from the registry, the line
/// of the library is added: `src/lib.rs:12:5 (in lock_api-0.4.14/src/mutex.rs:223:18)`.
/// Without a frame of the user's, it is the innermost one of a library.
#[cfg(conan_kernel)]
pub(crate) fn component_frame(text: &str) -> Option<String> {
    let places: Vec<_> = component_places(text).collect();
    let own = places.iter().position(|place| is_users(place));
    let Some(own) = own else {
        return places.first().map(|place| shortened(place));
    };
    let place = shortened(places[own]);
    Some(match places[..own].last() {
        Some(library) => format!("{place} (in {})", shortened(library)),
        None => place,
    })
}

/// The places of the frames that are neither std's nor ours, the innermost one
/// first.
#[cfg(conan_kernel)]
fn component_places(text: &str) -> impl Iterator<Item = &str> {
    let mut foreign = false;
    text.lines().filter_map(move |line| {
        if begins_frame(line) {
            foreign = is_foreign(line);
            return None;
        }
        let place = line.trim_start().strip_prefix("at ")?;
        // Libraries that std is made of have places of their own.
        let is_stds = place.starts_with("/rustc/") || place.starts_with("/rust/deps/");
        (foreign && !is_stds && !is_in_our_sources(place)).then_some(place)
    })
}

/// True for a frame of a function that is neither std's nor ours nor libc's.
#[cfg(conan_kernel)]
fn is_foreign(line: &str) -> bool {
    const PARTS: [&str; 12] = [
        "std::",
        "core::",
        "alloc::",
        "conan_kernel",
        "conan_runtime",
        "__rust",
        "syscall",
        "clone",
        "start_thread",
        "pthread_",
        "sched_yield",
        "nanosleep",
    ];
    let name = line
        .split_once(": ")
        .map_or("", |(_, name)| name.trim_start());
    let name = name.trim_start_matches('<');
    !PARTS.iter().any(|part| name.starts_with(part))
}

/// True for code of the package or its workspace: of no library from a registry
/// or a repository, and of no script.
#[cfg(conan_kernel)]
fn is_users(place: &str) -> bool {
    let is_library = ["/registry/src/", "/git/checkouts/"]
        .iter()
        .any(|part| place.contains(part));
    !is_library && !place.contains(".conan")
}

/// A place in a library from a registry begins with the library's name.
#[cfg(conan_kernel)]
fn shortened(place: &str) -> String {
    let in_registry = place.split_once("/registry/src/");
    let in_library = in_registry.and_then(|(_, rest)| rest.split_once('/'));
    let place = in_library.map_or(place, |(_, rest)| rest);
    place.strip_prefix("./").unwrap_or(place).to_owned()
}

/// With little debug information, an inlined function's name is without its
/// crate's; the file tells.
#[cfg(conan_kernel)]
pub(crate) fn is_in_our_sources(place: &str) -> bool {
    let mut folders = place.split('/');
    folders.any(|folder| {
        ["conan-kernel", "conan-runtime"].iter().any(|ours| {
            let rest = folder.strip_prefix(ours);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    })
}

/// `  12: name::of::function`
fn begins_frame(line: &str) -> bool {
    let number = line.trim_start().split(':').next().unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(conan_kernel)]
    #[test]
    fn the_component_blocks_in_the_first_frame_that_is_neither_stds_nor_ours() {
        let text = "   0: hidden<Backtrace>\n             at /home/me/conan/conan-kernel/src/bottom.rs:45:22\n   \
            1: hidden<Backtrace>\n             at /home/me/conan-kernel-0.1.0/src/bottom.rs:45:22\n   \
            2: std::sys::futex_wait\n             at /rustc/abc/library/std/src/futex.rs:1:1\n   \
            3: latch::Latch::wait\n             at ./src/lib.rs:26:37\n   \
            4: main\n             at ./src/main.rs:1:1\n";
        assert_eq!(component_frame(text).as_deref(), Some("src/lib.rs:26:37"));
    }

    #[cfg(conan_kernel)]
    #[test]
    fn the_users_line_is_named_before_that_of_a_library() {
        let registry = "/home/me/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f";
        let library = format!(
            "   0: parking_lot_core::park\n             at {registry}/parking_lot_core-0.9.12/src/thread_parker/linux.rs:112:13\n   \
            1: lock_api::mutex::Mutex<R,T>::lock\n             at {registry}/lock_api-0.4.14/src/mutex.rs:223:18\n"
        );
        let own = "   2: pool::Pool::take\n             at ./src/lib.rs:12:5\n";
        let script = "   3: run::plan\n             at /home/me/scripts/pool.conan:7:9\n";
        assert_eq!(
            component_frame(&format!("{library}{own}{script}")).as_deref(),
            Some("src/lib.rs:12:5 (in lock_api-0.4.14/src/mutex.rs:223:18)")
        );
        // A script that calls the library itself says nothing that is not known.
        assert_eq!(
            component_frame(&format!("{library}{script}")).as_deref(),
            Some("parking_lot_core-0.9.12/src/thread_parker/linux.rs:112:13")
        );
        assert_eq!(
            component_frame(script).as_deref(),
            Some("/home/me/scripts/pool.conan:7:9")
        );
        let std = "   0: hashbrown::raw::RawTable<T,A>::reserve\n             \
            at /rust/deps/hashbrown-0.16.1/src/raw/mod.rs:1365:5\n";
        assert_eq!(
            component_frame(&format!("{std}{own}")).as_deref(),
            Some("src/lib.rs:12:5")
        );
    }

    #[test]
    fn only_the_frames_of_the_component_and_the_script_are_left() {
        let text = "   0: conan_runtime::panics::remember\n             at a.rs:1:1\n   \
            1: rust_begin_unwind\n   2: core::panicking::panic_fmt\n   3: queue::pop\n             \
            at src/queue.rs:7:9\n   4: <core::panic::unwind_safe::AssertUnwindSafe<F>>::call_once\n   \
            5: conan_runtime::panics::catch\n";
        assert_eq!(
            short(text),
            "   3: queue::pop\n             at src/queue.rs:7:9\n"
        );
    }
}
