//! Builds our side: the programs over std, as they are and with hooks.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What was built.
pub struct Built {
    /// This bench, which is also the other tools' side.
    pub peers: PathBuf,
    /// Ours, without hooks.
    pub plain: PathBuf,
    /// Ours, with hooks.
    pub fine: PathBuf,
}

impl Built {
    /// Builds all that is not there.
    pub fn new() -> Result<Self, String> {
        let peers = std::env::current_exe().map_err(|error| error.to_string())?;
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = own.join("../..");
        // target/release/deps/peers-…
        let target = peers.ancestors().nth(3).ok_or("no target folder")?;

        // The command is the compiler's wrapper that puts the hooks in.
        cargo(&root, "cargo-conan", target, "dev", None)?;
        let wrapper = target.join("debug/cargo-conan");
        cargo(own, "conan-peers-ours", target, "release", None)?;
        let fine = target.join("fine");
        cargo(own, "conan-peers-ours", &fine, "release", Some(&wrapper))?;
        let executable = |target: &Path| target.join("release/conan-peers-ours");
        Ok(Self {
            plain: executable(target),
            fine: executable(&fine),
            peers: peers.clone(),
        })
    }
}

fn cargo(
    folder: &Path,
    package: &str,
    target: &Path,
    profile: &str,
    wrapper: Option<&Path>,
) -> Result<(), String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(folder)
        .args(["build", "--quiet", "--package", package])
        .args(["--profile", profile, "--target-dir"])
        .arg(target);
    if let Some(wrapper) = wrapper {
        cargo.env("RUSTC_WRAPPER", wrapper).env("CONAN_FINE", "");
    }
    match cargo.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo build --package {package}: {status}")),
        Err(error) => Err(format!("cargo cannot be started: {error}")),
    }
}
