//! Builds the kernel's sources as a shared library, whose bytes become part
//! of this crate: whoever has installed the command has the library.
//!
//! By rustc itself: the kernel has no dependencies, and cargo cannot hand a
//! shared library to the crate that wants it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(conan_kernel)");
    // Set by the kernel's own build script, where the kernel can be had.
    let Some(source) = env::var_os("DEP_CONAN_KERNEL_SOURCE") else {
        return;
    };
    let source = PathBuf::from(source);
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rustc-cfg=conan_kernel");
    build(&source);
}

fn build(source: &Path) {
    let setting = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let library = Path::new(&setting("OUT_DIR")).join("libconan_preload.so");
    let mut rustc = Command::new(setting("RUSTC"));
    rustc
        .args(["--crate-name", "conan_preload", "--crate-type", "cdylib"])
        .args(["--edition", "2024", "--cfg", "conan_preload"])
        .args(["--target", &setting("TARGET")])
        .args(["-C", "opt-level=3", "-C", "strip=debuginfo"])
        // A mistake of ours must not leave a process without its owner; and
        // backtraces go through our frames.
        .args(["-C", "panic=abort", "-C", "force-unwind-tables=yes"])
        .arg("-o")
        .arg(&library)
        .arg(source.join("lib.rs"));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    let status = rustc.status().expect("rustc can be started");
    assert!(status.success(), "the kernel does not compile as a library");
}
