//! Runs the scripts beside a package against the releases that its manifest
//! names.

// Scripts show constructs, not always the shortest way to say a thing.
#![allow(clippy::pedantic)]

use std::process::ExitCode;

conan_test::script!("../scripts");

fn main() -> ExitCode {
    conan_test::driver::main(scripts::SCRIPTS)
}
