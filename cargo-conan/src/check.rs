//! `cargo conan check`

use std::collections::HashSet;
use std::path::PathBuf;

use conan_lang::{Code, Diagnostic, Parsed, Severity, Span, render};

use crate::cli::{CheckArgs, Format};
use crate::exit::{Exit, Stop};
use crate::includes::Includes;
use crate::{color, files, output};

/// Shows everything that is wrong with scripts.
pub(crate) fn check(args: &CheckArgs) -> Stop<()> {
    let found = files::scripts(&args.paths)?;
    let paths = &found.scripts;
    let includes = Includes::around(paths);
    let mut counts = Counts::default();
    let mut unreadable = 0;
    for path in paths {
        let Ok(mut parsed) = files::parse(path) else {
            unreadable += 1;
            continue;
        };
        if includes
            .as_ref()
            .is_some_and(|includes| !includes.contain(path))
        {
            parsed.diagnostics.push(not_included(&parsed));
        }
        print(&parsed, args.message_format);
        counts.add(&parsed);
    }
    if args.message_format == Format::Human {
        counts.print(paths.len() - unreadable);
    }
    if counts.errors + unreadable > 0 {
        return Err(Exit::Wrong);
    }
    found.whole()
}

/// Reads scripts and shows what is wrong; stops if any has an error.
pub(crate) fn checked(paths: &[PathBuf], format: Format) -> Stop<Vec<Parsed>> {
    let mut scripts = Vec::new();
    let mut wrong = false;
    for path in paths {
        match files::parse(path) {
            Ok(parsed) => {
                wrong |= parsed.has_errors();
                print(&parsed, format);
                scripts.push(parsed);
            }
            Err(_) => wrong = true,
        }
    }
    if wrong { Err(Exit::Wrong) } else { Ok(scripts) }
}

/// Prints a script's diagnostics. Data goes to standard output, messages to
/// standard error.
pub(crate) fn print(parsed: &Parsed, format: Format) {
    for diagnostic in &parsed.diagnostics {
        let source = &parsed.source;
        match format {
            Format::Human => {
                let text = render::human(source, diagnostic, color::on_stderr());
                output::err(format_args!("{text}\n"));
            }
            Format::Short => output::err(format_args!("{}", render::short(source, diagnostic))),
            Format::Json => output::out(format_args!("{}", render::json(source, diagnostic))),
            Format::Github => output::out(format_args!("{}", render::github(source, diagnostic))),
        }
    }
}

fn not_included(parsed: &Parsed) -> Diagnostic {
    let first_line = parsed.source.text().lines().next().unwrap_or_default();
    let span = Span::new(0, first_line.len());
    Diagnostic::new(Code::NotIncluded, "no test file includes this script", span)
        .label("`cargo test` does not run it")
        .help(format!(
            "include it in a file under `tests`: `conan_test::script!({:?});`, the path as seen from the package's root",
            parsed.source.name()
        ))
}

#[derive(Default)]
struct Counts {
    errors: usize,
    warnings: usize,
    codes: HashSet<Code>,
}

impl Counts {
    fn add(&mut self, parsed: &Parsed) {
        for diagnostic in &parsed.diagnostics {
            match diagnostic.severity() {
                Severity::Error => self.errors += 1,
                Severity::Warning => self.warnings += 1,
            }
            self.codes.insert(diagnostic.code);
        }
    }

    fn print(&self, scripts: usize) {
        let scripts = counted(scripts, "script");
        let errors = counted(self.errors, "error");
        let warnings = counted(self.warnings, "warning");
        output::err(format_args!("checked {scripts}: {errors}, {warnings}\n"));
        if let Some(code) = self.codes.iter().min() {
            let id = code.id();
            output::err(format_args!("for more, try `cargo conan explain {id}`\n"));
        }
    }
}

/// `1 script`, `2 scripts`
pub(crate) fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
