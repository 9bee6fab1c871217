//! The scripts of this repository, as the tests that they are.

// Scripts show constructs, not always the shortest way to say a thing.
#![allow(clippy::pedantic)]

conan_test::script!("../../scripts/producer_consumer.conan");
conan_test::script!("../../scripts/clock.conan");
conan_test::script!("../../scripts/constructs");
