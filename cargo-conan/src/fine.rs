//! `--fine`: builds chosen packages with hooks before their accesses to memory.
//!
//! Cargo has one place for that which tells packages apart: `RUSTC_WRAPPER`. It
//! is this command again, which adds a few arguments and calls the compiler.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::exit::{Stop, error};

/// The packages with hooks, for the wrapper. Nobody else sets it.
const PACKAGES: &str = "CONAN_FINE";

/// The wrapper that was to be used otherwise.
const NEXT: &str = "CONAN_FINE_WRAPPER";

/// How the compiler puts hooks in; `conan-kernel` has what they call. All of it
/// is stable rustc: the passes are part of its LLVM.
const FLAGS: [&str; 12] = [
    // No more is optimised than what tells one place in the code from another:
    // small functions become part of their callers, and local variables leave
    // the stack. An optimiser in full may read memory where the source does
    // not, which would look like a race.
    "-Cno-prepopulate-passes",
    "-Clto=off",
    "-Cpasses=always-inline,cgscc(inline),function(sroa,early-cse)",
    // Then atomic operations become calls, loads and stores get theirs, which
    // leaves the ordinary ones, and copies become calls.
    "-Cpasses=tsan-module,function(tsan),sancov-module,function(memprof)",
    "-Cllvm-args=-tsan-instrument-func-entry-exit=0",
    "-Cllvm-args=-sanitizer-coverage-level=1",
    "-Cllvm-args=-sanitizer-coverage-trace-loads",
    "-Cllvm-args=-sanitizer-coverage-trace-stores",
    "-Cllvm-args=-memprof-instrument-reads=0",
    "-Cllvm-args=-memprof-instrument-writes=0",
    "-Cllvm-args=-memprof-instrument-atomics=0",
    // A call that ends a function would return to its caller's.
    "-Cllvm-args=-disable-tail-calls",
];

/// Packages that a driver is made of. Hooks in them would call themselves.
const OURS: [&str; 9] = [
    "conan-protocol",
    "conan-kernel",
    "conan-explore",
    "conan-runtime",
    "conan-test",
    "conan-macros",
    "conan-codegen",
    "conan-lang",
    "conan-mutate",
];

/// Variables for cargo that make it build these packages, and the driver, with
/// hooks. Generic code of a package is compiled in the driver, where its types
/// are known.
pub(crate) fn environment(chosen: &[String]) -> Stop<Vec<(String, String)>> {
    if let Some(ours) = chosen.iter().find(|name| OURS.contains(&name.as_str())) {
        return Err(error(format_args!(
            "package `{ours}` is part of every driver and cannot be instrumented"
        )));
    }
    let wrapper = env::current_exe().map_err(|failure| {
        error(format_args!(
            "cannot find the path of this command: {failure}"
        ))
    })?;
    let Some(wrapper) = wrapper.to_str() else {
        return Err(error("the path of this command is not UTF-8"));
    };
    let mut variables = vec![
        ("RUSTC_WRAPPER".to_owned(), wrapper.to_owned()),
        (PACKAGES.to_owned(), chosen.join(",")),
    ];
    let next = env::var("RUSTC_WRAPPER").unwrap_or_default();
    if !next.is_empty() {
        variables.push((NEXT.to_owned(), next));
    }
    Ok(variables)
}

/// Where to build them, under the target directory: apart from all else, and
/// from other choices. Cargo does not know that the choice makes a difference.
pub(crate) fn target(target: &Path, chosen: &[String]) -> PathBuf {
    let mut names: Vec<_> = chosen.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let all = FLAGS
        .iter()
        .chain(&names)
        .chain(&[env!("CARGO_PKG_VERSION")]);
    let text: Vec<_> = all.copied().collect();
    let digest = crate::run::scratch::digest(&text.join("\n"));
    target
        .join("conan")
        .join("fine")
        .join(format!("{digest:08x}"))
}

/// Calls the compiler, if this command is called as its wrapper.
pub(crate) fn wrapped() -> Option<ExitCode> {
    let packages = env::var(PACKAGES).ok()?;
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    // Not `cargo conan`, called by something that runs in a build.
    if arguments.first().is_none_or(|first| first == "conan") {
        return None;
    }
    Some(wrap(&packages, &arguments))
}

fn wrap(packages: &str, arguments: &[OsString]) -> ExitCode {
    let next = env::var_os(NEXT).filter(|next| !next.is_empty());
    let mut line = next.iter().chain(arguments);
    let Some(program) = line.next() else {
        return ExitCode::FAILURE;
    };
    let mut compiler = Command::new(program);
    compiler.args(line);
    let unit = Unit {
        package: env::var("CARGO_PKG_NAME").unwrap_or_default(),
        is_primary: env::var_os("CARGO_PRIMARY_PACKAGE").is_some(),
        crate_name: env::var("CARGO_CRATE_NAME").unwrap_or_default(),
    };
    if unit.has_hooks(packages, arguments) {
        compiler.args(FLAGS).args(optimized(arguments));
    }
    match compiler.status() {
        Ok(status) => {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            code.map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Err(failure) => {
            error(format_args!(
                "cannot start {}: {failure}",
                program.display()
            ));
            ExitCode::FAILURE
        }
    }
}

/// At level 0 functions are not marked as small ones. All atomic operations of
/// a crate would be made in the same few places. So the level is 1, with all
/// checks that there would be otherwise.
fn optimized(arguments: &[OsString]) -> Vec<&'static str> {
    let is_set = |option: &str| {
        let mut arguments = arguments.iter().filter_map(|argument| argument.to_str());
        arguments.any(|argument| {
            let set = argument.strip_prefix("-C").unwrap_or(argument).trim_start();
            set.strip_prefix(option)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    };
    if is_set("opt-level") || is_set("-O") {
        return Vec::new();
    }
    let checks = [
        ("debug-assertions", "-Cdebug-assertions=on"),
        ("overflow-checks", "-Coverflow-checks=on"),
    ];
    let checks = checks.into_iter().filter(|(option, _)| !is_set(option));
    std::iter::once("-Copt-level=1")
        .chain(checks.map(|(_, flag)| flag))
        .collect()
}

/// What cargo says of the crate that it has compiled.
struct Unit {
    package: String,
    /// True for the package that the whole build is for.
    is_primary: bool,
    crate_name: String,
}

impl Unit {
    fn has_hooks(&self, packages: &str, arguments: &[OsString]) -> bool {
        let is_chosen = packages.split(',').any(|name| name == self.package);
        // These run while it is built, where there is nothing to call.
        let is_for_building = self.crate_name.starts_with("build_script_")
            || arguments.windows(2).any(|pair| {
                pair[0] == *OsStr::new("--crate-type") && pair[1] == *OsStr::new("proc-macro")
            });
        !self.package.is_empty()
            && (is_chosen || self.is_primary)
            && !OURS.contains(&self.package.as_str())
            && !is_for_building
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::{Unit, environment, optimized, target};

    #[track_caller]
    fn check(package: &str, is_primary: bool, arguments: &str, expected: bool) {
        let arguments: Vec<OsString> = arguments.split(' ').map(OsString::from).collect();
        let crate_name = arguments[1].to_str().expect("a name").to_owned();
        let unit = Unit {
            package: package.to_owned(),
            is_primary,
            crate_name,
        };
        assert_eq!(unit.has_hooks("chosen,other", &arguments), expected);
    }

    #[test]
    fn chosen_packages_and_the_driver_have_hooks() {
        check("chosen", false, "rustc chosen --crate-type lib", true);
        check("other", false, "rustc other --crate-type lib", true);
        check(
            "conan-run-chosen",
            true,
            "rustc driver --crate-type bin",
            true,
        );
        check("another", false, "rustc another --crate-type lib", false);
        check("chose", false, "rustc chose --crate-type lib", false);
    }

    #[test]
    fn what_runs_while_building_has_none() {
        check(
            "chosen",
            false,
            "rustc build_script_build --crate-type bin",
            false,
        );
        check(
            "chosen",
            false,
            "rustc chosen --crate-type proc-macro",
            false,
        );
    }

    #[test]
    fn questions_to_the_compiler_are_passed_on() {
        check("", false, "rustc -vV", false);
    }

    #[test]
    fn a_build_without_optimisation_gets_a_little_and_keeps_its_checks() {
        let added = |arguments: &str| {
            let arguments: Vec<_> = arguments.split(' ').map(OsString::from).collect();
            optimized(&arguments)
        };
        let checks = ["-Cdebug-assertions=on", "-Coverflow-checks=on"];
        assert_eq!(added("rustc -C debuginfo=2")[1..], checks);
        assert_eq!(added("rustc -C overflow-checks=off")[1..], checks[..1]);
        assert_eq!(added("rustc -Cdebug-assertions=off")[1..], checks[1..]);
        for given in ["-C opt-level=3", "-Copt-level=0", "-O"] {
            assert!(added(&format!("rustc {given}")).is_empty(), "{given}");
        }
    }

    #[test]
    fn our_own_crates_have_none() {
        check(
            "conan-kernel",
            true,
            "rustc conan_kernel --crate-type lib",
            false,
        );
        assert!(environment(&["conan-kernel".to_owned()]).is_err());
    }

    #[test]
    fn each_choice_is_built_in_its_own_place() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        let at = |choice: &[&str]| target(Path::new("target"), &names(choice));
        assert_eq!(at(&["a", "b"]), at(&["b", "a", "a"]));
        assert_ne!(at(&["a", "b"]), at(&["a"]));
        assert!(at(&[]).starts_with("target/conan/fine"));
    }
}
