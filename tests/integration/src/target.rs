//! Where things are: the workspace, the target directories, the command.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::process::{Run, command};

/// The root of this workspace.
pub fn workspace() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .ancestors()
        .nth(2)
        .expect("the package is two folders below the root")
}

/// The target directory that these tests were built in.
pub fn target() -> PathBuf {
    let binary = std::env::current_exe().expect("the test binary has a path");
    // `target/debug/deps/command-0123456789abcdef`
    let found = binary
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").exists());
    found
        .expect("the test binary is in a target directory")
        .to_owned()
}

/// The target directory that all scratch crates have in common.
pub(crate) fn shared() -> PathBuf {
    target().join("integration")
}

/// `cargo`, in a folder.
pub fn cargo(folder: &Path) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    command(cargo, folder)
}

/// `cargo conan`, in a folder.
pub fn conan(folder: &Path) -> Command {
    let mut command = command(cargo_conan(), folder);
    command.arg("conan");
    command
}

/// The command, built once in a process.
pub fn cargo_conan() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut build = cargo(workspace());
        // As the tests themselves were built, so that little is left to do.
        build.env("CARGO_TARGET_DIR", target());
        build
            .env_remove("CARGO_PROFILE_DEV_DEBUG")
            .env_remove("CARGO_INCREMENTAL");
        build.args([
            "build",
            "--package",
            "cargo-conan",
            "--message-format",
            "json",
        ]);
        // A benchmark is of what people install.
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        let ran = build.ran();
        ran.exits_with(0);
        let executable = ran.stdout.lines().find_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            let is_ours = message["target"]["name"] == "cargo-conan";
            message["executable"]
                .as_str()
                .filter(|_| is_ours)
                .map(PathBuf::from)
        });
        executable.unwrap_or_else(|| panic!("cargo built no command; {ran}"))
    })
}
