//! Tests of the whole way, with real cargo, real rustc and real files.
//!
//! A [`Scratch`] is a crate outside the workspace, made from nothing for one
//! test. All of them build in one target directory, with the workspace's own
//! lock file, so that `conan-test` is compiled once. [`cargo_conan`] is the
//! command, built from this workspace. Whatever runs comes back as [`Ran`],
//! which says all it knows when an expectation fails.

mod old;
mod place;
mod process;
mod report;
mod scratch;
mod simple;
mod target;

pub use old::{crate_with, json, result, results, use_the_runner};
pub use place::{Place, place};
pub use process::{LIMIT, Ran, Run, command};
pub use report::Reports;
pub use scratch::Scratch;
pub use simple::{FINE, crate_with_scripts, failing};
pub use target::{cargo, cargo_conan, conan, target, workspace};
