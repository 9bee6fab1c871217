//! conan beside loom and shuttle: the same programs, on the same machine, in
//! the same minutes. Prints tables; see the README for what is in them.

#[path = "../../asked.rs"]
mod asked;
mod build;
#[path = "../../gave_up.rs"]
mod gave_up;
mod loom_side;
mod published;
mod shuttle_side;
mod sides;
mod tables;

use std::process::ExitCode;

use crate::build::Built;

/// Prints a table. False if something that we claim does not hold.
type Table = fn(&Built) -> bool;

const TABLES: [(&str, Table); 3] = [
    ("rate", tables::rate),
    ("bugs", tables::bugs),
    ("cooperari", tables::cooperari),
];

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("--loom") => {
            asked::answer(|asked| move |seed| loom_side::run(asked, seed));
            return ExitCode::SUCCESS;
        }
        Some("--shuttle") => {
            asked::answer(|asked| move |seed| shuttle_side::run(asked, seed));
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    // Cargo adds one that begins with a dash.
    let wanted: Vec<_> = arguments
        .iter()
        .map(String::as_str)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    if let Some(unknown) = wanted
        .iter()
        .find(|wanted| TABLES.iter().all(|(name, _)| name != *wanted))
    {
        eprintln!("there is no table `{unknown}`; there are rate, bugs and cooperari");
        return ExitCode::from(2);
    }
    let built = match Built::new() {
        Ok(built) => built,
        Err(reason) => {
            eprintln!("{reason}");
            return ExitCode::from(2);
        }
    };
    let mut holds = true;
    for (name, table) in TABLES {
        if wanted.is_empty() || wanted.contains(&name) {
            holds &= table(&built);
        }
    }
    if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
