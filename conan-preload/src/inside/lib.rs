//! The shared library: the kernel, and the searches that can decide in it.
//!
//! Compiled by `conan-preload`'s build script, not by cargo.

mod wish;

conan_kernel::preload_entry!(wish::plan);
