//! The kernel as a shared library, for processes that know nothing of it:
//! preloaded into a test binary, it manages all of its threads.
//!
//! This crate has the library's bytes, and reads the account that it writes
//! of a process. The library itself is built from the sources of
//! `conan-kernel`, of `conan-explore`, and of what is in `inside`, by the build
//! script.

mod account;
// So that what is compiled elsewhere is tested here.
#[cfg(all(test, conan_kernel))]
#[path = "inside/wish.rs"]
#[allow(dead_code, reason = "the library's own")]
mod wish;

pub use account::{Account, Cause, Hang, Inexact, Reason, Scheduled, Suspended};

/// The shared library; nothing on targets that the kernel does not run on.
#[cfg(conan_kernel)]
pub const LIBRARY: Option<&[u8]> = Some(include_bytes!(concat!(
    env!("OUT_DIR"),
    "/libconan_preload.so"
)));
/// The shared library; nothing on targets that the kernel does not run on.
#[cfg(not(conan_kernel))]
pub const LIBRARY: Option<&[u8]> = None;

/// What its file must be called, up to a suffix: it looks for itself in
/// `LD_PRELOAD`, and removes itself before any child process sees it.
pub const FILE_STEM: &str = "libconan_preload";

/// The environment variable that names the file for the [`Account`]. Without
/// it the library does nothing.
pub const ACCOUNT: &str = "CONAN_PRELOAD_ACCOUNT";

/// The environment variable that makes the process an original: it goes no
/// further, and makes copies of itself on request. The variables here are for
/// copies then, and part of the request.
pub const ORIGINAL: &str = "CONAN_PRELOAD_ORIGINAL";

/// The environment variable that says which schedule a process shall follow: a
/// token, or `STRATEGY:SEED:EXECUTION`. Without it, the default.
pub const SCHEDULE: &str = "CONAN_PRELOAD_SCHEDULE";

/// The environment variable that says where random numbers come from: `system`,
/// or a number, which is their seed. Without it, the seed is 0.
pub const RANDOM: &str = "CONAN_PRELOAD_RANDOM";

/// The environment variable that names the process, by its number, that has started
/// this one: this one ends when that one does, however that comes about. Without it,
/// it does not.
pub const PARENT: &str = "CONAN_PRELOAD_PARENT";

/// The environment variable that names a file in which a search that remembers
/// what it has tried does so.
pub const MEMORY: &str = "CONAN_PRELOAD_MEMORY";
