//! Places in the code that access memory, by the address to which their hook
//! returns.

use std::backtrace::Backtrace;

/// Room for so many; a power of two.
const ROOM: usize = 1 << 13;

/// Crates whose threads' meetings are nobody's business. Parts of them may be
/// compiled with hooks: generic functions are compiled where they are used.
const OURS: [&str; 4] = [
    "conan_kernel",
    "conan_explore",
    "conan_runtime",
    "conan_test",
];

/// A place in the code.
#[derive(Debug)]
struct Site {
    /// 0 where there is none.
    address: usize,
    standing: Standing,
}

#[derive(Debug, Default)]
enum Standing {
    /// It has met no other.
    #[default]
    Alone,
    /// It has met another one. The next thread that comes along tells, by its
    /// stack, what it is.
    Met(Option<Backtrace>),
    /// It is a scheduling point.
    Adopted,
    /// It is none, whomever it meets.
    Passed,
}

/// All that have been seen.
pub(super) struct Sites {
    table: Vec<Site>,
    known: usize,
    waiting: usize,
    adopted: usize,
}

/// A site that may be adopted.
#[derive(Debug)]
pub(super) struct Candidate {
    place: usize,
    backtrace: Backtrace,
}

impl Candidate {
    /// True if it can be a scheduling point.
    fn is_fit(&self) -> bool {
        !is_housekeeping(&self.backtrace.to_string())
    }
}

impl Sites {
    pub(super) const fn new() -> Self {
        Self {
            table: Vec::new(),
            known: 0,
            waiting: 0,
            adopted: 0,
        }
    }

    pub(super) fn begin(&mut self) {
        let none = || Site {
            address: 0,
            standing: Standing::Alone,
        };
        if self.table.is_empty() {
            self.table.resize_with(ROOM, none);
        }
    }

    pub(super) fn forget(&mut self) {
        *self = Self::new();
    }

    /// The sites that have met and have told what they are.
    pub(super) fn candidates(&mut self) -> Vec<Candidate> {
        let sites = self.table.iter_mut().enumerate();
        let told = sites.filter_map(|(place, site)| match &mut site.standing {
            Standing::Met(told) => told.take().map(|backtrace| Candidate { place, backtrace }),
            _ => None,
        });
        told.collect()
    }

    /// Settles what becomes of a candidate.
    pub(super) fn settle(&mut self, candidate: &Candidate, is_fit: bool) {
        self.waiting -= 1;
        self.adopted += usize::from(is_fit);
        self.table[candidate.place].standing = if is_fit {
            Standing::Adopted
        } else {
            Standing::Passed
        };
    }

    pub(super) fn adopted(&self) -> usize {
        self.adopted
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(super) fn is_adopted(&self, address: usize) -> bool {
        let known = self.place_of(address).map(|place| &self.table[place]);
        known.is_some_and(|site| matches!(site.standing, Standing::Adopted))
    }

    /// A thread is at a site: if that has met another one and nobody has told
    /// what it is, this one does.
    pub(super) fn visit(&mut self, address: usize, tell: impl FnOnce() -> Backtrace) {
        let Some(place) = self.place_of(address) else {
            return;
        };
        if let Standing::Met(told @ None) = &mut self.table[place].standing {
            *told = Some(tell());
        }
    }

    /// The number of a site. Nothing if there is no room for another one.
    pub(super) fn number(&mut self, address: usize) -> Option<u32> {
        let place = self.place_of(address)?;
        if self.table[place].address == 0 {
            // A table that is nearly full is slow.
            if self.known > ROOM * 3 / 4 {
                return None;
            }
            self.known += 1;
            self.table[place].address = address;
        }
        Some(place as u32)
    }

    /// A site has met another one.
    pub(super) fn meets(&mut self, number: u32) {
        if let Some(site) = self.table.get_mut(number as usize)
            && let Standing::Alone = site.standing
        {
            site.standing = Standing::Met(None);
            self.waiting += 1;
        }
    }

    /// Where a site is, or would be.
    fn place_of(&self, address: usize) -> Option<usize> {
        let start = super::scatter(address);
        (0..self.table.len())
            .map(|step| start.wrapping_add(step) % ROOM)
            .find(|&place| [0, address].contains(&self.table[place].address))
    }
}

/// Which of the candidates can be scheduling points. Looks up the names of
/// functions, which takes its time.
pub(super) fn fit(candidates: Vec<Candidate>) -> Vec<(Candidate, bool)> {
    let judged = candidates.into_iter().map(|candidate| {
        let is_fit = candidate.is_fit();
        (candidate, is_fit)
    });
    judged.collect()
}

/// True for code of this project's own; and for the counting of references,
/// which all threads that share something do, in whatever order.
fn is_housekeeping(backtrace: &str) -> bool {
    let functions = innermost(backtrace);
    let is_ours = functions.last().is_some_and(|name| {
        let name = name.trim_start_matches(['<', '&']);
        let crate_name = name.split("::").next();
        crate_name.is_some_and(|name| OURS.contains(&name))
    });
    is_ours
        || functions.iter().any(|name| {
            let counts = ["<alloc::sync::Arc<", "<alloc::sync::Weak<"];
            counts.iter().any(|counts| name.starts_with(counts))
                && (name.ends_with(">::drop") || name.ends_with(">::clone"))
        })
}

/// The function that has the hook: those of the standard library that were
/// made part of it, and then itself.
fn innermost(backtrace: &str) -> Vec<&str> {
    let functions = backtrace.lines().filter_map(|line| {
        let (number, name) = line.split_once(": ")?;
        number.trim().parse::<u32>().ok()?;
        Some(name.trim())
    });
    let path = |name: &str| name.trim_start_matches(['<', '&']).to_owned();
    let is_engine = |name: &&str| path(name).starts_with("conan_kernel::");
    let is_library = |name: &&str| {
        let path = path(name);
        let library = ["std::", "core::", "alloc::"];
        library.iter().any(|library| path.starts_with(library))
    };
    // The engine's own functions come first, and before them what they call.
    let functions = functions.skip_while(|name| !is_engine(name));
    let mut functions = functions.skip_while(is_engine);
    let mut innermost = Vec::new();
    for name in functions.by_ref() {
        innermost.push(name);
        if !is_library(&name) {
            break;
        }
    }
    innermost
}

#[cfg(test)]
mod tests {
    use super::{innermost, is_housekeeping};

    const ENGINE: &str = "\
   0: std::backtrace::Backtrace::force_capture
             at /rustc/library/std/src/backtrace.rs:312:9
   1: conan_kernel::fine::arrive
             at ./conan-kernel/src/fine/mod.rs:200:9
   2: conan_kernel::fine::hooks::bits_32::fetch_add
             at ./conan-kernel/src/fine/hooks.rs:230:1
";

    fn backtrace(functions: &[&str]) -> String {
        let frames = functions.iter().enumerate().map(|(index, name)| {
            let number = index + 3;
            format!("{number:4}: {name}\n             at ./src/lib.rs:1:1\n")
        });
        let frames: String = frames.collect();
        format!("{ENGINE}{frames}")
    }

    #[test]
    fn the_function_with_the_hook_is_the_first_outside_the_library() {
        let functions = [
            "<core::sync::atomic::AtomicU32>::fetch_add",
            "component::Counter::add",
            "main",
        ];
        let text = backtrace(&functions);
        assert_eq!(innermost(&text), functions[..2]);
        assert!(!is_housekeeping(&text));
        assert!(innermost("").is_empty());
    }

    #[test]
    fn code_of_our_own_is_passed_over_and_code_with_a_similar_name_is_not() {
        for (name, passed) in [
            ("conan_runtime::collect::send", true),
            (
                "<conan_explore::panics::Panics as core::ops::drop::Drop>::drop",
                true,
            ),
            ("conan_gallery::buffer::Buffer::put", false),
            ("conan_kernels::f", false),
        ] {
            let text = backtrace(&["std::sync::poison::mutex::Mutex<T>::lock", name, "main"]);
            assert_eq!(is_housekeeping(&text), passed, "{name}");
        }
    }

    #[test]
    fn who_calls_the_function_does_not_count() {
        let text = backtrace(&["component::Counter::add", "conan_runtime::template::call"]);
        assert!(!is_housekeeping(&text));
    }

    #[test]
    fn counting_references_is_passed_over_but_asking_for_the_count_is_not() {
        let drops = "<alloc::sync::Arc<T,A> as core::ops::drop::Drop>::drop";
        assert!(is_housekeeping(&backtrace(&[
            "core::sync::atomic::atomic_sub",
            drops,
            "f"
        ])));
        let asks = "alloc::sync::Arc<T,A>::strong_count";
        assert!(!is_housekeeping(&backtrace(&[asks, "f"])));
        assert!(!is_housekeeping(&backtrace(&["f", drops])));
    }
}
