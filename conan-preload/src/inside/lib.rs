//! The shared library: the kernel, the searches that can decide in it, and what
//! is known of threads that wait for each other.
//!
//! Compiled by `conan-preload`'s build script, not by cargo.

mod relations;
mod wish;

conan_kernel::preload_entry!(wish::plan, relations::relations);
