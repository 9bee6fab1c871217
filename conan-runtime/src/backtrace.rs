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

/// Where the component blocks: the first frame with a source line that is
/// neither std's nor ours, as `file:line:column`.
#[cfg(conan_kernel)]
pub(crate) fn component_frame(text: &str) -> Option<String> {
    let mut foreign = false;
    for line in text.lines() {
        if begins_frame(line) {
            let parts = [
                "std::",
                "core::",
                "alloc::",
                "conan_kernel",
                "conan_runtime",
                "__rust",
            ];
            let name = line
                .split_once(": ")
                .map_or("", |(_, name)| name.trim_start());
            let name = name.trim_start_matches('<');
            let libc = [
                "syscall",
                "clone",
                "start_thread",
                "pthread_",
                "sched_yield",
                "nanosleep",
            ];
            let all = parts.iter().chain(&libc);
            foreign = !all.into_iter().any(|part| name.starts_with(part));
        } else if foreign
            && let Some(place) = line.trim_start().strip_prefix("at ")
            && !place.starts_with("/rustc/")
            && !is_in_our_sources(place)
        {
            return Some(place.strip_prefix("./").unwrap_or(place).to_owned());
        }
    }
    None
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
