//! The command line.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::panic;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use conan_lang::tree::MAX_TICKTIME;
use conan_mutate::Operator;

use crate::exit::{Exit, Stop, error};
use crate::output::{self, Output};
use crate::run::interrupt;
use crate::{check, expand, explain, explore, fmt, mutate, new, run, stats, test};

#[derive(Parser)]
#[command(name = "cargo", bin_name = "cargo", disable_help_subcommand = true)]
enum Cargo {
    /// Readable scripts that test concurrent Rust components
    #[command(subcommand, version, arg_required_else_help = true)]
    Conan(Command),
}

#[derive(Subcommand)]
enum Command {
    /// Write a starter script and the test file that includes it
    New {
        #[command(flatten)]
        format: FormatArg,
        /// The script's name: a Rust identifier
        name: String,
    },
    /// Show everything that is wrong with scripts
    Check(CheckArgs),
    /// Format scripts
    Fmt {
        /// Change nothing; exit with 1 if a script is not formatted
        #[arg(long)]
        check: bool,
        #[command(flatten)]
        format: FormatArg,
        /// Scripts and folders of scripts [default: the current folder]
        paths: Vec<PathBuf>,
    },
    /// Print the generated driver of a script
    Expand {
        #[command(flatten)]
        format: FormatArg,
        /// The script
        file: PathBuf,
    },
    /// Run scripts and report
    Run(RunArgs),
    /// Run scripts under many schedules, to find one that breaks them
    Explore(ExploreArgs),
    /// Run an execution again that an exploration has found
    Replay(ReplayArgs),
    /// Join what the parts of an exploration have found
    Merge(MergeArgs),
    /// Run the tests of a package, unchanged, in virtual time
    ///
    /// Takes what `cargo test` takes, and `--message-format human|short|json|github`,
    /// `--junit FILE`, `--clock virtual|wall` and `--random SEED|system`. Each
    /// test runs in a process of its own, with the engine preloaded: one thread
    /// at a time in a fixed order, sleeps and time-outs in no time at all, random
    /// numbers the same each time. A test that hangs fails at once, with the
    /// place of every thread.
    ///
    /// With `--executions N` each test runs under up to N schedules, until one
    /// fails; `--strategy random|pct|pos|history|fixed` and `--seed S` say which.
    /// (`dfs` is not offered: executions are processes and share nothing.)
    /// `--replay TOKEN NAME` runs the execution of a test again that was found.
    #[command(override_usage = "cargo conan test [OPTIONS OF CARGO TEST] [FILTER] [-- …]")]
    Test {
        /// As for `cargo test`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        words: Vec<OsString>,
    },
    /// Run a test binary as a runner of cargo's
    ///
    /// In `.cargo/config.toml`:
    /// `[target.x86_64-unknown-linux-gnu] runner = "cargo conan runner"`.
    /// `cargo test` and `cargo nextest run` then run tests in virtual time.
    #[command(override_usage = "cargo conan runner BINARY [ARGUMENTS]")]
    Runner {
        /// The binary and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        words: Vec<OsString>,
    },
    /// Break the component in small ways, and see whether its script notices
    Mutate(MutateArgs),
    /// Count conditions, sequences, test cases and lines
    Stats {
        #[command(flatten)]
        format: FormatArg,
        /// Scripts and folders of scripts [default: the current folder]
        paths: Vec<PathBuf>,
    },
    /// Explain a diagnostic, such as CN001
    Explain {
        #[command(flatten)]
        format: FormatArg,
        /// The code
        code: String,
    },
}

/// `--message-format`
#[derive(Args)]
pub(crate) struct FormatArg {
    /// How to print what the command has to say
    #[arg(long, value_enum, default_value_t = Format::Human)]
    message_format: Format,
}

/// `check`
#[derive(Args)]
pub(crate) struct CheckArgs {
    /// How to print diagnostics
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) message_format: Format,
    /// Scripts and folders of scripts [default: the current folder]
    pub(crate) paths: Vec<PathBuf>,
}

/// `run`
#[derive(Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) clock: ClockArgs,
    /// How to print the report
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) message_format: Format,
    /// The package whose components the scripts test
    #[arg(long, short, value_name = "NAME")]
    pub(crate) package: Option<String>,
    /// Scripts and folders of scripts [default: the current folder]
    pub(crate) files: Vec<PathBuf>,
}

/// `explore`
#[derive(Args)]
pub(crate) struct ExploreArgs {
    /// Who decides which schedule is next
    #[arg(long, value_name = "STRATEGY", default_value = "mixed",
          value_parser = ["mixed", "random", "pct", "pos", "abreast", "dfs", "history", "fixed"])]
    pub(crate) strategy: String,
    /// How many executions of a sequence there may be [default: 1000, without `--seconds`]
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) executions: Option<u64>,
    /// How long a sequence may be explored
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,
    /// `dfs`: only schedules with so many preemptions at most
    #[arg(long, value_name = "K")]
    pub(crate) preemptions: Option<u32>,
    /// `pct`: how many steps have to come in a certain order [default: 3]
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) depth: Option<u32>,
    /// What random decisions begin with [default: 0]
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,
    /// How many waits of an execution may end for no reason [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) spurious: Option<u32>,
    /// How many steps an execution may have before it counts as endless [default: 100000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: Option<u64>,
    /// Only this sequence
    #[arg(long, value_name = "NAME")]
    pub(crate) sequence: Option<String>,
    /// Rebuild the package under test so that threads can change places at
    /// every access to memory that they share
    #[arg(long)]
    pub(crate) fine: bool,
    /// The same for this package, too
    #[arg(long, value_name = "NAME")]
    pub(crate) instrument: Vec<String>,
    /// How many processes explore at a time [default: 1]
    #[arg(long, short, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Only one part of the executions: `1/4` is the first of four
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<String>,
    /// The length of a tick in milliseconds, in place of the script's own
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=MAX_TICKTIME))]
    pub(crate) ticktime: Option<u64>,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) message_format: Format,
    /// The package whose components the scripts test
    #[arg(long, short, value_name = "NAME")]
    pub(crate) package: Option<String>,
    /// Scripts and folders of scripts [default: the current folder]
    pub(crate) files: Vec<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok();
    let seconds = seconds.filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0);
    seconds.ok_or_else(|| "not a positive number".to_owned())
}

/// `replay`
#[derive(Args)]
pub(crate) struct ReplayArgs {
    /// The script
    pub(crate) file: PathBuf,
    /// What the exploration has printed: `sequence:token`
    pub(crate) token: String,
    /// If it was found with `--fine`
    #[arg(long)]
    pub(crate) fine: bool,
    /// If it was found with this package instrumented
    #[arg(long, value_name = "NAME")]
    pub(crate) instrument: Vec<String>,
    /// How many steps it may have, if it was found with another `--steps`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: Option<u64>,
    /// Write it as a script that fails in the same way, if one can say it
    #[arg(long, value_name = "FILE", conflicts_with = "debugger")]
    pub(crate) script: Option<PathBuf>,
    /// Run the threads as threads of the system's
    #[arg(long)]
    pub(crate) threads: bool,
    /// Run it under a debugger, such as "rust-gdb --args"
    #[arg(long, value_name = "COMMAND")]
    pub(crate) debugger: Option<String>,
    /// The length of a tick in milliseconds, in place of the script's own
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=MAX_TICKTIME))]
    pub(crate) ticktime: Option<u64>,
    /// How to print the report
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) message_format: Format,
    /// The package whose components the script tests
    #[arg(long, short, value_name = "NAME")]
    pub(crate) package: Option<String>,
}

/// `merge`
#[derive(Args)]
pub(crate) struct MergeArgs {
    /// How to print what was found
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) message_format: Format,
    /// What `explore --shard I/N --message-format json` has printed; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// The clock of a run.
#[derive(Args)]
pub(crate) struct ClockArgs {
    /// How time passes
    #[arg(long, value_name = "CLOCK", value_parser = ["wall", "virtual"])]
    pub(crate) clock: Option<String>,
    /// The length of a tick in milliseconds, in place of the script's own
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=MAX_TICKTIME))]
    pub(crate) ticktime: Option<u64>,
}

/// `mutate`
#[derive(Args)]
pub(crate) struct MutateArgs {
    /// The source file that is mutated [default: `src/SCRIPT.rs` of the package under test]
    #[arg(long, value_name = "FILE")]
    pub(crate) component: Vec<PathBuf>,
    /// Only show what mutants there are
    #[arg(long)]
    pub(crate) list: bool,
    /// Only mutants of this operator
    #[arg(long, value_name = "OPERATOR", value_parser = operator())]
    pub(crate) only: Vec<Operator>,
    /// Only this mutant, with the script's report
    #[arg(long, value_name = "ID")]
    pub(crate) mutant: Vec<String>,
    /// How many mutants to try at a time [default: one for each processor]
    #[arg(long, short, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// How long a mutant may run [default: 20 times as long as the component, at least 10]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: Option<u64>,
    #[command(flatten)]
    pub(crate) clock: ClockArgs,
    /// How to print what comes of it
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) message_format: Format,
    /// The package whose components the scripts test
    #[arg(long, short, value_name = "NAME")]
    pub(crate) package: Option<String>,
    /// Scripts and folders of scripts
    #[arg(required = true, value_name = "SCRIPT")]
    pub(crate) files: Vec<PathBuf>,
}

fn operator() -> impl TypedValueParser<Value = Operator> {
    let values =
        Operator::ALL.map(|operator| PossibleValue::new(operator.name()).help(operator.about()));
    PossibleValuesParser::new(values)
        .map(|name| Operator::named(&name).expect("only names are let through"))
}

/// How messages are printed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people, with the script's text
    #[default]
    Human,
    /// One line each
    Short,
    /// One JSON object a line
    Json,
    /// Annotations of GitHub's workflows
    Github,
}

/// Reads the command line and does what it says.
pub(crate) fn main() -> Exit {
    // A mistake of ours is not a test that failed, nor exit code 101.
    let done = panic::catch_unwind(|| {
        interrupt::listen()?;
        match Cargo::try_parse() {
            Ok(Cargo::Conan(command)) => execute(command),
            Err(answer) => print(&answer),
        }
    });
    let exit = match done {
        Ok(Ok(())) => Exit::Fine,
        Ok(Err(exit)) => exit,
        Err(_) => error("this is a mistake in cargo-conan itself; please report it"),
    };
    if interrupt::is_interrupted() {
        interrupt::announce();
        return Exit::Interrupted;
    }
    match output::state() {
        Output::Failed => Exit::Wrong,
        Output::Open | Output::Closed => exit,
    }
}

/// Prints what the parser answers in place of a command: the help, or what is
/// wrong with the command line.
fn print(answer: &clap::Error) -> Stop<()> {
    let text = answer.render();
    if answer.use_stderr() {
        output::err(format_args!("{}", text.ansi()));
        return Err(Exit::Wrong);
    }
    output::out(format_args!("{}", text.ansi()));
    Ok(())
}

fn execute(command: Command) -> Stop<()> {
    match command {
        Command::New { format, name } => new::new(&name, format.message_format),
        Command::Check(args) => check::check(&args),
        Command::Fmt {
            check,
            format,
            paths,
        } => fmt::fmt(check, &paths, format.message_format),
        Command::Expand { format, file } => expand::expand(&file, format.message_format),
        Command::Run(args) => run::run(&args),
        Command::Explore(args) => explore::explore(&args),
        Command::Replay(args) => explore::replay(&args),
        Command::Merge(args) => explore::merge(&args),
        Command::Test { words: _ } => test::test(words_as_they_are()),
        Command::Runner { words: _ } => test::runner(words_as_they_are()),
        Command::Mutate(args) => mutate::mutate(&args),
        Command::Stats { format, paths } => stats::stats(&paths, format.message_format),
        Command::Explain { format, code } => explain::explain(&code, format.message_format),
    }
}

/// What stands after `cargo conan test`, with its `--`.
fn words_as_they_are() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(3)
}
