//! The frames of the program's own code in a backtrace.

use std::fmt::Write;

/// So many are shown, at most.
const SHOWN: usize = 8;

/// A function, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The name.
    pub name: String,
    /// `src/lib.rs:7:9`, if that is known.
    pub place: Option<String>,
}

impl Frame {
    /// False for frames of std, of libc and of the engine.
    fn is_of_program(&self) -> bool {
        const STDS: [&str; 5] = ["std::", "core::", "alloc::", "test::", "__rust"];
        const LIBCS: [&str; 6] = [
            "abort",
            "raise",
            "pthread_kill",
            "start_thread",
            "clone",
            "clone3",
        ];
        // Of those the place begins with this, where libc's debug information is there.
        const LIBCS_SOURCES: [&str; 5] = ["./nptl/", "./stdlib/", "./signal/", "./misc/", "./csu/"];
        let name = self.name.trim_start_matches('<');
        if name == "unknown>" || LIBCS.contains(&name) {
            return false;
        }
        if STDS.iter().any(|start| name.starts_with(start)) || name.starts_with("conan_kernel::") {
            return false;
        }
        let Some(place) = &self.place else {
            return !name.starts_with("__");
        };
        let is_libcs = LIBCS_SOURCES.iter().any(|start| place.starts_with(start));
        !is_libcs && !place.starts_with("/rustc/") && !is_in_engines_sources(place)
    }
}

/// With little debug information, an inlined function's name is without its crate's;
/// the file tells.
fn is_in_engines_sources(place: &str) -> bool {
    place.split('/').any(|folder| {
        let rest = folder.strip_prefix("conan-kernel");
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}

/// The frames of the program's own code in a backtrace, as std prints it.
pub(super) fn of_program(backtrace: &str) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for line in backtrace.lines() {
        let line = line.trim_start();
        if let Some(place) = line.strip_prefix("at ") {
            if let Some(frame) = frames.last_mut() {
                frame.place = Some(place.to_owned());
            }
        } else if let Some((_, name)) = line.split_once(": ") {
            let name = name.trim_start().to_owned();
            frames.push(Frame { name, place: None });
        }
    }
    frames.retain(Frame::is_of_program);
    frames
}

/// The innermost of these frames, a line each. A function that calls itself is there
/// once.
pub(super) fn text(frames: &[Frame]) -> String {
    let mut text = String::new();
    let mut shown: Vec<&Frame> = frames.iter().collect();
    shown.dedup();
    for Frame { name, place } in shown.iter().take(SHOWN) {
        let _ = match place {
            Some(place) => {
                let place = place.strip_prefix("./").unwrap_or(place);
                writeln!(text, "    at {place} in {name}")
            }
            None => writeln!(text, "    in {name}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Frame, of_program, text};

    const BACKTRACE: &str = "   0: write_frames
             at /home/me/conan-kernel-0.1.0/src/crash/trace.rs:58:16
   1: <unknown>
   2: __GI_abort
             at ./stdlib/abort.c:79:7
   3: std::process::abort
             at /rustc/0/library/std/src/process.rs:2533:5
   4: a::deep
             at ./src/a.rs:7:1
   5: a::deep
             at ./src/a.rs:7:1
   6: <a::Deep as core::ops::Drop>::drop
   7: <core::panic::AssertUnwindSafe<F> as core::ops::FnOnce<()>>::call_once
             at /rustc/0/library/core/src/panic/unwind_safe.rs:274:9
   8: abort_all
             at /b/src/lib.rs:1:2
";

    #[test]
    fn the_frames_of_std_of_libc_and_of_the_engine_are_left_out() {
        assert_eq!(
            text(&of_program(BACKTRACE)),
            "    at src/a.rs:7:1 in a::deep\n    \
             in <a::Deep as core::ops::Drop>::drop\n    \
             at /b/src/lib.rs:1:2 in abort_all\n"
        );
    }

    #[test]
    fn there_are_no_more_than_some() {
        let frame = |number| Frame {
            name: format!("a::f{number}"),
            place: None,
        };
        let frames: Vec<_> = (0..40).map(frame).collect();
        assert_eq!(text(&frames).lines().count(), 8);
    }
}
