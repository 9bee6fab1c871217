//! `cargo conan new`

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::Format;
use crate::exit::{Stop, error};
use crate::files;
use crate::github::{self, Level, Location};
use crate::output;
use crate::package::Workspace;

/// Writes a starter script and the test file that includes it.
pub(crate) fn new(name: &str, format: Format) -> Stop<()> {
    if syn::parse_str::<syn::Ident>(name).is_err() {
        return Err(error(format_args!(
            "`{name}` cannot name a test: it is no Rust identifier"
        )));
    }
    let workspace = Workspace::around(Path::new(".")).map_err(error)?;
    let Some(package) = workspace.package_around(Path::new(".")) else {
        return Err(error(
            "this folder is not in a package; go to one, or make one: cargo new",
        ));
    };
    let root = package.root();
    let script = PathBuf::from("tests/scripts").join(format!("{name}.conan"));
    let test = PathBuf::from("tests").join(format!("{name}.rs"));
    // Look at both before either is written.
    for path in [&script, &test] {
        if root.join(path).exists() {
            return Err(error(format_args!("{} is there already", path.display())));
        }
    }
    let content = format!(
        "//! The script `{name}`.\n\nconan_test::script!(\"{}\");\n",
        script.display()
    );
    write(&root, &script, STARTER)?;
    if let Err(exit) = write(&root, &test, &content) {
        let _ = fs::remove_file(root.join(&script));
        return Err(exit);
    }
    let run = format!("cargo test --test {name}");
    let has_it = package
        .0
        .dependencies
        .iter()
        .any(|dep| dep.name == "conan-test");
    let (script, test) = (script.display().to_string(), test.display().to_string());
    match format {
        Format::Human => {
            output::out(format_args!("wrote {script} and {test}\n"));
            if !has_it {
                output::out(format_args!("{MISSING}\n"));
            }
            output::out(format_args!("run it: {run}\n"));
        }
        Format::Json => output::out(format_args!(
            "{}\n",
            json!({ "script": script, "test": test, "run": run, "has_conan_test": has_it })
        )),
        Format::Short => {
            output::out(format_args!("{script}: written\n{test}: written\n"));
            if !has_it {
                output::out(format_args!("Cargo.toml: {MISSING}\n"));
            }
        }
        Format::Github => {
            for file in [&script, &test] {
                let place = Location {
                    file,
                    line: 1,
                    column: None,
                };
                github::annotate(Level::Notice, Some(&place), "", "written");
            }
            if !has_it {
                github::annotate(Level::Warning, None, "", MISSING);
            }
        }
    }
    Ok(())
}

/// What a package needs before the test compiles.
const MISSING: &str =
    "conan-test is not among the dev-dependencies yet; the README says how to add it";

fn write(root: &Path, path: &Path, content: &str) -> Stop<()> {
    let target = root.join(path);
    let folder = target.parent().unwrap_or(root);
    let written = fs::create_dir_all(folder).and_then(|()| files::replace(&target, content));
    written.map_err(|failure| files::cannot_write(path, &failure))
}

/// A script that runs as it is, over a channel of std's.
const STARTER: &str = include_str!("starter.conan");
