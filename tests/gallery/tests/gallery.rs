//! The components of the paper, each with a script that tests it in full.

// Scripts show constructs, not always the shortest way to say a thing.
#![allow(clippy::pedantic)]

conan_test::script!("../../scripts/gallery");
