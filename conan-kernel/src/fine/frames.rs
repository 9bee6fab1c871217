//! Backtraces that were taken at a hook: which function it is in.
//!
//! With full debug information functions have their full names; with less of
//! it some have short ones, and only the source file tells where they belong.

/// Crates of this project's own that can be part of a driver.
const OURS: [&str; 4] = [
    "conan-kernel",
    "conan-explore",
    "conan-runtime",
    "conan-test",
];

/// A function in a backtrace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame<'b> {
    name: &'b str,
    /// File, line and column.
    place: Option<&'b str>,
}

impl Frame<'_> {
    /// True for a function of a crate of this project's own.
    pub(super) fn is_ours(&self) -> bool {
        OURS.iter().any(|name| self.is_of(name))
    }

    fn is_of(&self, name: &str) -> bool {
        if let Some(place) = self.place {
            return is_in(place, name);
        }
        let rest = self.path().strip_prefix(&name.replace('-', "_"));
        rest.is_some_and(|rest| rest.starts_with("::"))
    }

    /// True for the counting of references to what threads share.
    pub(super) fn counts_references(&self) -> bool {
        let is_arc = match self.place {
            Some(place) => place.contains("/alloc/src/sync.rs:"),
            None => self.path().starts_with("alloc::sync::"),
        };
        let name = self.name;
        let does = |what: &str| {
            let short = name.strip_prefix(what);
            name.ends_with(&format!(">::{what}")) || short.is_some_and(|rest| rest.starts_with('<'))
        };
        is_arc && (does("drop") || does("clone"))
    }

    fn is_library(&self) -> bool {
        const LIBRARY: [&str; 3] = ["std", "core", "alloc"];
        if let Some(place) = self.place {
            let is_in = |name: &&str| place.contains(&format!("/library/{name}/src/"));
            return place.starts_with("/rustc/") || LIBRARY.iter().any(is_in);
        }
        let crate_name = self.path().split("::").next();
        crate_name.is_some_and(|name| LIBRARY.contains(&name))
    }

    fn path(&self) -> &str {
        self.name.trim_start_matches(['<', '&'])
    }
}

/// True for a source file of this crate, beside others or from a registry.
fn is_in(place: &str, name: &str) -> bool {
    let Some((folder, _)) = place.rsplit_once("/src/") else {
        return false;
    };
    let folders = place.match_indices("/src/").map(|(end, _)| &place[..end]);
    let folders = folders.chain([folder]);
    folders
        .map(|folder| folder.rsplit('/').next().unwrap_or(folder))
        .any(|folder| {
            let rest = folder.strip_prefix(name);
            let version = rest.and_then(|rest| rest.strip_prefix('-'));
            rest == Some("")
                || version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
        })
}

/// The function that has the hook: those of the standard library that were
/// made part of it, and then itself.
pub(super) fn innermost(backtrace: &str) -> Vec<Frame<'_>> {
    let frames = frames(backtrace);
    // The engine's own functions come first, and before them what they call.
    let is_engine = |frame: &&Frame<'_>| frame.is_of("conan-kernel");
    let frames = frames.iter().skip_while(|frame| !is_engine(frame));
    let mut innermost = Vec::new();
    for frame in frames.skip_while(is_engine) {
        innermost.push(*frame);
        if !frame.is_library() {
            break;
        }
    }
    innermost
}

fn frames(backtrace: &str) -> Vec<Frame<'_>> {
    let mut frames: Vec<Frame<'_>> = Vec::new();
    for line in backtrace.lines() {
        let text = line.trim();
        if let Some(place) = text.strip_prefix("at ")
            && let Some(frame) = frames.last_mut()
        {
            frame.place = Some(place);
        } else if let Some((number, name)) = text.split_once(": ")
            && number.parse::<u32>().is_ok()
        {
            frames.push(Frame { name, place: None });
        }
    }
    frames
}

/// The line of source code that makes an access to memory (file, line and
/// column), by the backtrace that was taken there: the innermost that is not in
/// the standard library.
pub fn line_of_access(backtrace: &str) -> Option<String> {
    let frame = *innermost(backtrace).last()?;
    let place = frame.place.filter(|_| !frame.is_library());
    place.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{Frame, innermost, is_in, line_of_access};

    const ENGINE: &str = "\
   0: core::ops::function::FnOnce::call_once
             at /rustc/59807616e1/library/core/src/ops/function.rs:250:5
   1: hidden<std::backtrace::Backtrace>
             at /home/me/conan-kernel/src/bottom.rs:53:22
   2: conan_kernel::fine::arrive
             at /home/me/conan-kernel/src/fine/mod.rs:200:9
";

    const FULL: &str = "\
   3: <core::sync::atomic::AtomicU32>::fetch_add
             at /rustc/59807616e1/library/core/src/sync/atomic.rs:3167:26
   4: component::Counter::add
             at ./src/counter.rs:7:18
   5: component::main
             at ./src/main.rs:1:1
";

    const SHORT: &str = "\
   3: fetch_add
             at /rustc/59807616e1/library/core/src/sync/atomic.rs:3167:26
   4: add
             at ./src/counter.rs:7:18
   5: main
             at ./src/main.rs:1:1
";

    const NAMES: &str = "\
   0: <core::ops::function::FnOnce>::call_once
   1: conan_kernel::fine::arrive
   2: <core::sync::atomic::AtomicU32>::fetch_add
   3: component::Counter::add
   4: component::main
";

    #[test]
    fn the_function_with_the_hook_is_the_first_outside_the_library() {
        for rest in [FULL, SHORT] {
            let text = format!("{ENGINE}{rest}");
            assert_eq!(innermost(&text).len(), 2);
            let line = line_of_access(&text);
            assert_eq!(line.as_deref(), Some("./src/counter.rs:7:18"));
        }
        let names: Vec<_> = innermost(NAMES).iter().map(|frame| frame.name).collect();
        let expected = [
            "<core::sync::atomic::AtomicU32>::fetch_add",
            "component::Counter::add",
        ];
        assert_eq!(names, expected);
        assert_eq!(line_of_access(NAMES), None);
        assert_eq!(line_of_access(ENGINE), None);
        assert_eq!(line_of_access(""), None);
    }

    #[test]
    fn crates_are_known_by_their_folders() {
        for (place, ours) in [
            ("/home/me/conan-runtime/src/collect.rs:1:1", true),
            ("./conan-runtime/src/engine/mod.rs:1:1", true),
            (
                "/registry/src/index/conan-runtime-0.1.0/src/lib.rs:1:1",
                true,
            ),
            ("/home/me/conan-runtime-tests/src/lib.rs:1:1", false),
            ("/home/me/conan-runtime/component/src/lib.rs:1:1", false),
            ("src/lib.rs:1:1", false),
        ] {
            assert_eq!(is_in(place, "conan-runtime"), ours, "{place}");
        }
    }

    #[track_caller]
    fn check(name: &str, place: Option<&str>, ours: bool, counts: bool) {
        let frame = Frame { name, place };
        assert_eq!(frame.is_ours(), ours);
        assert_eq!(frame.counts_references(), counts);
    }

    #[test]
    fn code_of_our_own_is_known_by_name_too() {
        check("conan_runtime::collect::send", None, true, false);
        check(
            "<conan_explore::Panics as core::Drop>::drop",
            None,
            true,
            false,
        );
        check("conan_gallery::buffer::Buffer::put", None, false, false);
        check("conan_kernels::f", None, false, false);
    }

    #[test]
    fn counting_references_is_known_and_asking_for_the_count_is_something_else() {
        let arc = Some("/rustc/59807616e1/library/alloc/src/sync.rs:2811:32");
        let drops = "<alloc::sync::Arc<T,A> as core::ops::drop::Drop>::drop";
        check(drops, arc, false, true);
        check(drops, None, false, true);
        check("clone<component::Counter>", arc, false, true);
        check("alloc::sync::Arc<T,A>::strong_count", arc, false, false);
        check("strong_count<u8>", arc, false, false);
        check("drop<u8>", Some("./src/sync.rs:1:1"), false, false);
    }
}
