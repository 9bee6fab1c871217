//! The scripts of this repository, as the tests that they are.

conan_test::script!("../../scripts/producer_consumer.conan");
conan_test::script!("../../scripts/clock.conan");
conan_test::script!("../../scripts/constructs");
