//! The paper's components, tested as it tests them.

// Scripts show constructs, not always the shortest way to say a thing.
#![allow(clippy::pedantic)]

conan_test::script!("../../scripts/gallery");
