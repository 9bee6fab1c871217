//! Builds the scratch package.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cargo_metadata::Message;
use cargo_metadata::diagnostic::DiagnosticLevel;

use super::interrupt::{self, Group};
use super::scratch::Scratch;
use crate::exit::{Exit, Stop, error};
use crate::{color, output};

/// How often to look whether a build has ended.
const PERIOD: Duration = Duration::from_millis(5);

/// What came of a build that nobody watches.
#[derive(Debug)]
pub(crate) enum Built {
    /// The driver's path.
    Driver(PathBuf),
    /// The compiler refused it, or took too long.
    Refused,
}

/// Builds the driver and returns its path. What the compiler says about a
/// script is shown with the script's own path.
pub(crate) fn build(scratch: &Scratch) -> Stop<PathBuf> {
    let mut child = interrupt::start(&mut command(scratch), Group::Own)
        .map_err(|failure| cannot_start(&failure))?;
    let stdout = child.stdout.take();
    let said = stdout.map(|stdout| {
        read(stdout, scratch, |text| {
            output::err(format_args!("{}", with_script_paths(text, scratch)));
        })
    });
    let said = said.unwrap_or_default();
    let status = child.wait();
    drop(child);
    match (status, said.driver) {
        (Ok(status), Some(driver)) if status.success() => Ok(driver),
        _ => Err(interrupt::unless_stopped(|| match said.trouble {
            // Cargo has said on standard error what is wrong.
            None => error("cargo failed before the driver was compiled"),
            Some(Trouble::Disk) => error(format_args!(
                "cannot build the driver: no space is left for {}",
                scratch.target.display()
            )),
            Some(Trouble::Code) => {
                error("the driver did not compile");
                Exit::NotCompiled
            }
        })),
    }
}

/// Builds the driver without a word, in a limited time.
pub(crate) fn build_quietly(scratch: &Scratch, limit: Duration) -> Stop<Built> {
    let mut command = command(scratch);
    command.arg("--quiet").stderr(Stdio::piped());
    let mut child =
        interrupt::start(&mut command, Group::Own).map_err(|failure| cannot_start(&failure))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        let said = scope.spawn(|| stdout.map(|stdout| read(stdout, scratch, |_| {})));
        let failure = scope.spawn(|| {
            let mut text = String::new();
            let _ = stderr.map(|mut stderr| stderr.read_to_string(&mut text));
            text
        });
        let start = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(None) if interrupt::must_stop() => {
                    child.end();
                    return Err(interrupt::exit(false));
                }
                Ok(None) if start.elapsed() > limit => break None,
                Ok(None) => thread::sleep(PERIOD),
                Ok(Some(status)) => break Some(status),
                Err(failure) => {
                    child.end();
                    return Err(error(format_args!("cannot wait for cargo: {failure}")));
                }
            }
        };
        let Some(status) = status else {
            child.end();
            return Ok(Built::Refused);
        };
        let said = said.join().ok().flatten().unwrap_or_default();
        match said.driver {
            Some(driver) if status.success() => Ok(Built::Driver(driver)),
            _ if said.trouble == Some(Trouble::Code) && !interrupt::must_stop() => {
                Ok(Built::Refused)
            }
            _ => {
                // Not the compiler, but cargo itself: a full disk, a lock file.
                let failure = failure.join().unwrap_or_default();
                Err(interrupt::unless_stopped(|| {
                    error(format_args!("cargo failed: {}", failure.trim()))
                }))
            }
        }
    })
}

fn cannot_start(failure: &std::io::Error) -> Exit {
    interrupt::unless_stopped(|| error(format_args!("cannot start cargo: {failure}")))
}

fn command(scratch: &Scratch) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let format = if color::on_stderr() {
        "json-diagnostic-rendered-ansi"
    } else {
        "json"
    };
    let mut command = Command::new(cargo);
    command
        .arg("build")
        .arg("--manifest-path")
        .arg(&scratch.manifest)
        .arg("--target-dir")
        .arg(&scratch.target)
        .arg(format!("--message-format={format}"))
        .args(&scratch.cargo_arguments)
        .envs(scratch.environment.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// What cargo said.
#[derive(Default)]
struct Said {
    driver: Option<PathBuf>,
    trouble: Option<Trouble>,
}

/// Why the compiler failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// The code is wrong.
    Code,
    /// The disk is full.
    Disk,
}

impl Trouble {
    /// What an error of the compiler is about. The compiler and the linker quote
    /// the system's own words.
    fn of(text: &str) -> Self {
        if text.contains("No space left on device") {
            Self::Disk
        } else {
            Self::Code
        }
    }
}

/// Reads cargo's messages to their end; `show` gets what the compiler says
/// about the driver, and all errors.
fn read(stdout: impl Read, scratch: &Scratch, show: impl Fn(&str)) -> Said {
    let mut said = Said::default();
    let lines = BufReader::new(stdout).lines().map_while(Result::ok);
    for line in lines {
        match serde_json::from_str(&line) {
            Ok(Message::CompilerMessage(message)) => {
                let is_ours = scratch.is_driver(&message.target.src_path);
                let is_error = message.message.level == DiagnosticLevel::Error;
                if let Some(text) = message.message.rendered.filter(|_| is_ours || is_error) {
                    if is_error && said.trouble != Some(Trouble::Disk) {
                        said.trouble = Some(Trouble::of(&text));
                    }
                    show(&text);
                }
            }
            Ok(Message::CompilerArtifact(artifact)) => {
                let is_ours = scratch.is_driver(&artifact.target.src_path);
                let driver = artifact.executable.filter(|_| is_ours);
                said.driver = driver.map(Into::into).or(said.driver);
            }
            _ => {}
        }
    }
    said
}

/// The compiler reads copies of the scripts; a person knows the originals.
fn with_script_paths(text: &str, scratch: &Scratch) -> String {
    let copies = scratch.target.join("tmp").join("conan");
    let prefix = copies.join(&scratch.name).join("");
    text.replace(&*prefix.to_string_lossy(), "")
}
