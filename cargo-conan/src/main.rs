//! `cargo conan`: the command around `.conan` scripts. Argument handling and
//! input/output; the work is done by `conan-lang` and `conan-codegen`.

mod check;
mod cli;
mod color;
mod exit;
mod expand;
mod explain;
mod explore;
mod files;
mod fine;
mod fmt;
mod github;
mod includes;
mod mutate;
mod new;
mod output;
mod package;
mod run;
mod stats;
mod test;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = fine::wrapped().or_else(run::guardian::run_if_asked) {
        return code;
    }
    cli::main().into()
}
