//! Builds test binaries as `cargo test` does.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cargo_metadata::{Artifact, Message, Metadata, MetadataCommand, Package, TargetKind};

use super::args::Request;
use crate::exit::{Exit, Stop, error};
use crate::package;
use crate::run::interrupt::{self, Group};

/// What cargo has built.
pub(super) struct Built {
    pub(super) binaries: Vec<Binary>,
    /// True if a library among the packages may have doc tests.
    pub(super) has_doc_tests: bool,
    pub(super) target: PathBuf,
}

/// A test binary.
#[derive(Debug)]
pub(super) struct Binary {
    /// `package`, `package::test`, `package::bin/name`
    pub(super) name: String,
    /// How cargo is told to take this one and no other.
    pub(super) selection: Vec<String>,
    pub(super) path: PathBuf,
    /// The package's folder, where tests run.
    pub(super) folder: PathBuf,
    /// What cargo tells a test in the environment.
    pub(super) environment: Vec<(String, OsString)>,
    /// False if the target has a `main` of its own.
    pub(super) has_harness: bool,
}

/// The cargo that runs us.
pub(super) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds, and says what was built.
pub(super) fn build(request: &Request) -> Stop<Built> {
    let mut command = cargo();
    command
        .args([
            "test",
            "--no-run",
            "--message-format=json-render-diagnostics",
        ])
        .args(&request.cargo)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = interrupt::start(&mut command, Group::Own).map_err(|failure| {
        interrupt::unless_stopped(|| error(format_args!("cannot start cargo: {failure}")))
    })?;
    let stdout = child.stdout.take().map(BufReader::new);
    let lines = stdout.into_iter().flat_map(BufRead::lines);
    let mut artifacts = Vec::new();
    let mut linked = Vec::new();
    for line in lines.map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Message::CompilerArtifact(artifact)) if artifact.profile.test => {
                artifacts.push(artifact);
            }
            Ok(Message::BuildScriptExecuted(script)) => {
                linked.extend(script.linked_paths.into_iter().map(|path| {
                    let path = path.into_string();
                    let path = path.split_once('=').map_or(path.as_str(), |(_, path)| path);
                    PathBuf::from(path)
                }));
            }
            _ => {}
        }
    }
    let status = child
        .wait()
        .map_err(|failure| error(format_args!("cannot wait for cargo: {failure}")))?;
    drop(child);
    if !status.success() {
        // Cargo has said what is wrong.
        return Err(interrupt::unless_stopped(|| Exit::TestsFailed));
    }
    let metadata = metadata(request)?;
    let mut manifests = Manifests::default();
    let mut binaries = Vec::new();
    for artifact in &artifacts {
        let package = metadata
            .packages
            .iter()
            .find(|package| package.id == artifact.package_id);
        if let (Some(package), Some(path)) = (package, &artifact.executable) {
            binaries.push(Binary {
                name: name(package, artifact),
                selection: selection(package, artifact),
                path: path.clone().into_std_path_buf(),
                folder: folder(package),
                environment: environment(package, path.as_std_path(), &metadata, &linked),
                has_harness: manifests.has_harness(package, artifact),
            });
        }
    }
    let has_doc_tests = metadata.packages.iter().any(|package| {
        let is_tested = artifacts
            .iter()
            .any(|artifact| artifact.package_id == package.id);
        is_tested && package.targets.iter().any(|target| target.doctest)
    });
    Ok(Built {
        binaries,
        has_doc_tests,
        target: metadata.target_directory.into_std_path_buf(),
    })
}

/// The workspace, as the same options describe it.
fn metadata(request: &Request) -> Stop<Metadata> {
    let mut command = MetadataCommand::new();
    command.no_deps();
    let mut words = request.cargo.iter();
    while let Some(word) = words.next() {
        let word = word.to_string_lossy();
        if let Some(path) = word.strip_prefix("--manifest-path=") {
            command.manifest_path(path);
        } else if word == "--manifest-path"
            && let Some(path) = words.next()
        {
            command.manifest_path(path);
        }
    }
    let mut metadata = package::metadata(&command).map_err(error)?;
    let mut words = request.cargo.iter();
    while let Some(word) = words.next() {
        let word = word.to_string_lossy();
        let given = match word.strip_prefix("--target-dir") {
            Some("") => words.next().map(|path| path.to_string_lossy().into_owned()),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        if let Some(path) = given.and_then(|path| std::path::absolute(path).ok())
            && let Some(path) = path.to_str()
        {
            metadata.target_directory = path.into();
        }
    }
    Ok(metadata)
}

fn name(package: &Package, artifact: &Artifact) -> String {
    let (package, target) = (&package.name, &artifact.target.name);
    match artifact.target.kind.first() {
        Some(TargetKind::Test) => format!("{package}::{target}"),
        Some(TargetKind::Bin) => format!("{package}::bin/{target}"),
        Some(TargetKind::Example) => format!("{package}::example/{target}"),
        Some(TargetKind::Bench) => format!("{package}::bench/{target}"),
        _ => package.to_string(),
    }
}

fn selection(package: &Package, artifact: &Artifact) -> Vec<String> {
    let option = match artifact.target.kind.first() {
        Some(TargetKind::Test) => "--test",
        Some(TargetKind::Bin) => "--bin",
        Some(TargetKind::Example) => "--example",
        Some(TargetKind::Bench) => "--bench",
        _ => "--lib",
    };
    let package = ["-p", package.name.as_str(), option].map(str::to_owned);
    let target = (option != "--lib").then(|| artifact.target.name.clone());
    package.into_iter().chain(target).collect()
}

fn folder(package: &Package) -> PathBuf {
    let manifest = package.manifest_path.as_std_path();
    manifest.parent().map_or_else(PathBuf::new, Path::to_owned)
}

/// What cargo sets for a test that it runs.
fn environment(
    package: &Package,
    binary: &Path,
    metadata: &Metadata,
    linked: &[PathBuf],
) -> Vec<(String, OsString)> {
    let version = &package.version;
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let settings = [
        ("CARGO", std::env::var("CARGO").unwrap_or_default()),
        ("CARGO_MANIFEST_DIR", folder(package).display().to_string()),
        ("CARGO_MANIFEST_PATH", package.manifest_path.to_string()),
        ("CARGO_PKG_NAME", package.name.to_string()),
        ("CARGO_PKG_VERSION", version.to_string()),
        ("CARGO_PKG_VERSION_MAJOR", version.major.to_string()),
        ("CARGO_PKG_VERSION_MINOR", version.minor.to_string()),
        ("CARGO_PKG_VERSION_PATCH", version.patch.to_string()),
        ("CARGO_PKG_VERSION_PRE", version.pre.to_string()),
        ("CARGO_PKG_AUTHORS", package.authors.join(":")),
        ("CARGO_PKG_DESCRIPTION", optional(&package.description)),
        ("CARGO_PKG_HOMEPAGE", optional(&package.homepage)),
        ("CARGO_PKG_REPOSITORY", optional(&package.repository)),
        ("CARGO_PKG_LICENSE", optional(&package.license)),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), OsString::from(value)));
    let libraries = binary.ancestors().skip(1).take(2).map(Path::to_owned);
    let ours = linked
        .iter()
        .filter(|path| path.starts_with(&metadata.target_directory))
        .cloned();
    let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let paths: Vec<PathBuf> = libraries
        .chain(ours)
        .chain(sysroot().map(|sysroot| sysroot.join("lib")))
        .chain(std::env::split_paths(&before))
        .collect();
    let paths = std::env::join_paths(paths).unwrap_or(before);
    let paths = [("LD_LIBRARY_PATH".to_owned(), paths)];
    settings.into_iter().chain(paths).collect()
}

/// Where the libraries of the compiler are, which tests of macros need.
fn sysroot() -> Option<PathBuf> {
    static KNOWN: std::sync::OnceLock<Option<PathBuf>> = std::sync::OnceLock::new();
    let ask = || {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let output = Command::new(rustc).args(["--print", "sysroot"]).output();
        let text = String::from_utf8(output.ok()?.stdout).ok()?;
        Some(PathBuf::from(text.trim()))
    };
    KNOWN.get_or_init(ask).clone()
}

/// The manifests of packages: only they say which targets have a harness.
#[derive(Default)]
struct Manifests(HashMap<PathBuf, Option<toml::Table>>);

impl Manifests {
    fn has_harness(&mut self, package: &Package, artifact: &Artifact) -> bool {
        let path = package.manifest_path.as_std_path();
        let read = || fs::read_to_string(path).ok()?.parse().ok();
        let manifest = self.0.entry(path.to_owned()).or_insert_with(read);
        let Some(manifest) = manifest else {
            return true;
        };
        let section = match artifact.target.kind.first() {
            Some(TargetKind::Test) => "test",
            Some(TargetKind::Bin) => "bin",
            Some(TargetKind::Example) => "example",
            Some(TargetKind::Bench) => "bench",
            _ => "lib",
        };
        let targets = match manifest.get(section) {
            Some(toml::Value::Array(targets)) => targets.as_slice(),
            Some(target) => std::slice::from_ref(target),
            None => &[],
        };
        let own = targets.iter().find(|target| {
            let name = target.get("name").and_then(toml::Value::as_str);
            section == "lib" || name == Some(artifact.target.name.as_str())
        });
        let harness = own.and_then(|target| target.get("harness"));
        harness.and_then(toml::Value::as_bool).unwrap_or(true)
    }
}
