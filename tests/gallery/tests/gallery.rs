//! The components of the paper's Table 2, tested in full.

// Scripts show constructs, not always the shortest way to say a thing.
#![allow(clippy::pedantic)]

conan_test::script!("../../scripts/gallery");
