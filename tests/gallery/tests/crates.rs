//! The synchronisation of std and of well-known crates, unmodified, as
//! scripts see it.

conan_test::script!("../../scripts/crates");
