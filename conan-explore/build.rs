//! Tells `conan-preload`, which builds the same sources into a shared library,
//! where they are.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    println!("cargo::metadata=source={folder}/src");
}
