//! Says whether the kernel can be had on the target: `cfg(conan_kernel)`.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(conan_kernel)");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_linux = target("OS") == "linux" && target("ENV") == "gnu";
    if is_linux && matches!(target("ARCH").as_str(), "x86_64" | "aarch64") {
        println!("cargo::rustc-cfg=conan_kernel");
    }
}
