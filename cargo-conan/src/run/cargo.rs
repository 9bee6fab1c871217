//! Builds the scratch package.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use cargo_metadata::Message;
use cargo_metadata::diagnostic::DiagnosticLevel;

use super::interrupt;
use super::scratch::Scratch;
use crate::exit::{Exit, Stop, error};
use crate::{color, output};

/// Builds the driver and returns its path. What the compiler says about a
/// script is shown with the script's own path.
pub(super) fn build(scratch: &Scratch) -> Stop<PathBuf> {
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
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|failure| error(format_args!("cannot start cargo: {failure}")))?;
    interrupt::watch(&child);
    let stdout = child.stdout.take().map(BufReader::new);
    let mut driver = None;
    for line in stdout
        .into_iter()
        .flat_map(BufRead::lines)
        .map_while(Result::ok)
    {
        match serde_json::from_str(&line) {
            Ok(Message::CompilerMessage(message)) => {
                let is_ours = message.target.src_path.starts_with(&scratch.root);
                let is_error = message.message.level == DiagnosticLevel::Error;
                if let Some(text) = message.message.rendered.filter(|_| is_ours || is_error) {
                    output::err(format_args!("{}", with_script_paths(&text, scratch)));
                }
            }
            Ok(Message::CompilerArtifact(artifact)) => {
                let is_ours = artifact.target.src_path.starts_with(&scratch.root);
                driver = artifact.executable.filter(|_| is_ours).or(driver);
            }
            _ => {}
        }
    }
    let status = child.wait();
    interrupt::forget(&child);
    match (status, driver) {
        (Ok(status), Some(driver)) if status.success() => Ok(driver.into_std_path_buf()),
        _ => {
            interrupt::let_the_handler_go_first();
            error("the driver did not compile");
            Err(Exit::NotCompiled)
        }
    }
}

/// The compiler reads copies of the scripts; a person knows the originals.
fn with_script_paths(text: &str, scratch: &Scratch) -> String {
    let copies = scratch.target.join("tmp").join("conan");
    let prefix = copies.join(&scratch.name).join("");
    text.replace(&*prefix.to_string_lossy(), "")
}
