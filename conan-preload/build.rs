//! Builds a shared library, whose bytes become part of this crate: whoever has
//! installed the command has the library.
//!
//! By rustc itself: cargo cannot hand a shared library to the crate that wants
//! it. It is made of the sources of the kernel, which has no dependencies, of
//! those of `conan-explore`, which depends on the kernel alone, and of the few
//! lines in `src/inside` that bring the two together.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/inside");
    println!("cargo::rustc-check-cfg=cfg(conan_kernel)");
    // Set by the build scripts of the two, where the kernel can be had.
    let source = |name: &str| env::var_os(name).map(PathBuf::from);
    let (Some(kernel), Some(explore)) = (
        source("DEP_CONAN_KERNEL_SOURCE"),
        source("DEP_CONAN_EXPLORE_SOURCE"),
    ) else {
        return;
    };
    for source in [&kernel, &explore] {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    println!("cargo::rustc-cfg=conan_kernel");
    compile("conan_kernel", "rlib", &kernel.join("lib.rs"), &[]);
    compile(
        "conan_explore",
        "rlib",
        &explore.join("lib.rs"),
        &["conan_kernel"],
    );
    let both = ["conan_kernel", "conan_explore"];
    compile(
        "conan_preload",
        "cdylib",
        Path::new("src/inside/lib.rs"),
        &both,
    );
}

/// Compiles a crate of which these are the dependencies, compiled before.
fn compile(name: &str, kind: &str, root: &Path, dependencies: &[&str]) {
    let setting = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let folder = setting("OUT_DIR");
    let mut rustc = Command::new(setting("RUSTC"));
    rustc
        .args(["--crate-name", name, "--crate-type", kind])
        .args(["--edition", "2024", "--cap-lints", "allow"])
        .args(["--target", &setting("TARGET")])
        .args(["-C", "opt-level=3", "-C", "strip=debuginfo"])
        // A mistake of ours must not leave a process without its owner; and
        // backtraces go through our frames.
        .args(["-C", "panic=abort", "-C", "force-unwind-tables=yes"])
        .args(["--out-dir", &folder, "-L", &folder])
        .arg(root);
    for dependency in dependencies {
        rustc.args([
            "--extern",
            &format!("{dependency}={folder}/lib{dependency}.rlib"),
        ]);
    }
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    let status = rustc.status().expect("rustc can be started");
    assert!(
        status.success(),
        "{name} does not compile as a part of the library"
    );
}
