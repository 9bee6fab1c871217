//! The synchronisation of std and of well-known crates, unmodified, as
//! scripts see it.

// Scripts show constructs, not always the shortest way to say a thing.
#![allow(clippy::pedantic, clippy::useless_vec)]

conan_test::script!("../../scripts/crates");
