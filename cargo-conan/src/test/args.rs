//! The command line of `cargo conan test`: cargo's own options, ours among
//! them, and after `--` those of the test harness.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::ValueEnum;

use super::explore::{Exploring, STRATEGIES};
use super::random::Random;
use crate::cli::Format;
use crate::exit::{Stop, error};

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// Options for `cargo test`.
    pub(super) cargo: Vec<OsString>,
    /// What the names of the tests must contain.
    pub(super) filter: Option<OsString>,
    /// What stands after `--`.
    pub(super) harness: Vec<OsString>,
    /// Without the engine, in real time.
    pub(super) wall: bool,
    /// How to print what comes of the tests.
    pub(super) format: Format,
    /// Where to write a report as `JUnit` does.
    pub(super) junit: Option<PathBuf>,
    /// Each test under many schedules.
    pub(super) exploring: Option<Exploring>,
    /// Where random numbers come from.
    pub(super) random: Random,
    /// One test under the schedule of this token.
    pub(super) replay: Option<String>,
    pub(super) extent: Extent,
    /// Only some targets were named, and the doc tests are not among them.
    pub(super) selects_targets: bool,
}

/// How much to do.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    #[default]
    Everything,
    /// Build and stop.
    NoRun,
    /// Doc tests and nothing else.
    OnlyDoc,
}

/// Options of cargo's with a value that may stand in the next word.
const WITH_VALUE: [&str; 18] = [
    "-p",
    "--package",
    "--exclude",
    "--bin",
    "--example",
    "--test",
    "--bench",
    "-F",
    "--features",
    "--target",
    "--target-dir",
    "--manifest-path",
    "--lockfile-path",
    "--profile",
    "-j",
    "--jobs",
    "--color",
    "--config",
];

/// Options of `cargo conan explore` that people look for here. Cargo would
/// answer with its own usage.
const OF_EXPLORE: [&str; 8] = [
    "--fine",
    "--instrument",
    "--seconds",
    "--preemptions",
    "--depth",
    "--spurious",
    "--steps",
    "--shard",
];

/// Options that choose packages.
const PACKAGES: [&str; 5] = ["-p", "--package", "--exclude", "--workspace", "--all"];

/// Options that leave the doc tests out.
const TARGETS: [&str; 10] = [
    "--lib",
    "--bins",
    "--bin",
    "--examples",
    "--example",
    "--tests",
    "--test",
    "--benches",
    "--bench",
    "--all-targets",
];

impl Request {
    pub(super) fn parse(words: impl IntoIterator<Item = OsString>) -> Stop<Self> {
        let mut request = Self {
            random: Random::of_environment()?,
            ..Self::default()
        };
        let (mut executions, mut strategy, mut seed) = (None, None, None);
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy().into_owned();
            if text == "--" {
                request.harness.extend(words.by_ref());
                break;
            }
            let (name, value) = match text.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (text.as_str(), None),
            };
            request.selects_targets |= TARGETS.contains(&name);
            match name {
                "--message-format" => {
                    let value = value_of(name, value, &mut words)?;
                    request.format = format(&value)?;
                }
                "--clock" => {
                    let value = value_of(name, value, &mut words)?;
                    request.wall = is_second(&value, "clock", ["virtual", "wall"])?;
                }
                "--junit" => request.junit = Some(value_of(name, value, &mut words)?.into()),
                "--executions" => executions = Some(number_of(name, value, &mut words)?),
                "--seed" => seed = Some(number_of(name, value, &mut words)?),
                "--strategy" => strategy = Some(value_of(name, value, &mut words)?),
                "--random" => {
                    let value = value_of(name, value, &mut words)?;
                    request.random = Random::of_setting(name, &value.to_string_lossy())?;
                }
                "--replay" => {
                    let token = value_of(name, value, &mut words)?;
                    request.replay = Some(token.to_string_lossy().into_owned());
                }
                _ if OF_EXPLORE.contains(&name) => {
                    return Err(error(format_args!(
                        "`{name}` is an option of `cargo conan explore`, which runs scripts; \
                         `cargo conan test` does not have it"
                    )));
                }
                "--doc" => request.extent = Extent::OnlyDoc,
                "--no-run" => request.extent = Extent::NoRun,
                _ if WITH_VALUE.contains(&name) && value.is_none() => {
                    let value = value_of(name, None, &mut words)?;
                    request.cargo.extend([word, value]);
                }
                _ if text.starts_with('-') => request.cargo.push(word),
                _ if request.filter.is_none() => request.filter = Some(word),
                _ => {
                    return Err(error(format_args!(
                        "`{text}` is one filter too many; `cargo test` takes one, more go after `--`"
                    )));
                }
            }
        }
        request.exploring = exploring(executions, strategy, seed)?;
        request.is_sound()?;
        Ok(request)
    }

    /// Refuses what does not go together.
    fn is_sound(&self) -> Stop<()> {
        let asked = match (&self.exploring, &self.replay) {
            (Some(_), Some(_)) => {
                return Err(error("`--replay` is one execution, without `--executions`"));
            }
            (Some(_), None) => "--executions",
            (None, Some(_)) => "--replay",
            (None, None) => return Ok(()),
        };
        if self.wall {
            return Err(error(format_args!(
                "`{asked}` needs the engine, without `--clock wall`"
            )));
        }
        if self.extent == Extent::OnlyDoc {
            return Err(error(format_args!("doc tests know no `{asked}`")));
        }
        Ok(())
    }

    /// The options for cargo that do not choose packages or targets.
    pub(super) fn without_selection(&self) -> Vec<&OsStr> {
        let mut kept = Vec::new();
        let mut words = self.cargo.iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            let name = text.split('=').next().unwrap_or_default();
            let value = if WITH_VALUE.contains(&text.as_ref()) {
                words.next()
            } else {
                None
            };
            if !PACKAGES.contains(&name) && !TARGETS.contains(&name) {
                kept.extend([Some(word), value].into_iter().flatten());
            }
        }
        kept.into_iter().map(OsString::as_os_str).collect()
    }

    /// True if doc tests are wanted even after failures.
    pub(super) fn goes_on(&self) -> bool {
        self.cargo.iter().any(|word| word == "--no-fail-fast")
    }

    /// What the harness needs to know to choose the tests.
    pub(super) fn choice(&self) -> impl Iterator<Item = &OsStr> {
        let filter = self.filter.iter().map(OsString::as_os_str);
        filter.chain(self.harness.iter().map(OsString::as_os_str))
    }

    /// True if the harness was told so.
    pub(super) fn says(&self, names: &[&str]) -> bool {
        self.harness
            .iter()
            .any(|word| names.iter().any(|name| word == name))
    }

    /// How many tests may run at once, if the harness was told.
    pub(super) fn threads(&self) -> Option<usize> {
        let words: Vec<_> = self
            .harness
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        let after = words.iter().position(|word| word == "--test-threads");
        let value = match after {
            Some(index) => words.get(index + 1).map(ToString::to_string),
            None => words
                .iter()
                .find_map(|word| word.strip_prefix("--test-threads="))
                .map(str::to_owned),
        };
        value?.parse().ok().filter(|&threads| threads > 0)
    }
}

/// What is to be explored, if anything is.
fn exploring(
    executions: Option<u64>,
    strategy: Option<OsString>,
    seed: Option<u64>,
) -> Stop<Option<Exploring>> {
    let Some(executions) = executions else {
        let lonely = match (&strategy, seed) {
            (Some(_), _) => "--strategy",
            (None, Some(_)) => "--seed",
            (None, None) => return Ok(None),
        };
        return Err(error(format_args!(
            "`{lonely}` is for exploring: how many `--executions`?"
        )));
    };
    if executions == 0 {
        return Err(error("`--executions 0` would say nothing about any test"));
    }
    let strategy = strategy.map_or("random".to_owned(), |name| name.to_string_lossy().into());
    if strategy == "dfs" {
        return Err(error(
            "`dfs` is not offered here: it would have to remember all executions, and each is a process of its own",
        ));
    }
    if !STRATEGIES.contains(&strategy.as_str()) {
        return Err(error(format_args!(
            "`{strategy}` is no strategy of `cargo conan test`; there are `{}`",
            STRATEGIES.join("`, `")
        )));
    }
    Ok(Some(Exploring {
        executions,
        strategy,
        seed: seed.unwrap_or_default(),
    }))
}

fn number_of(
    name: &str,
    value: Option<String>,
    words: &mut impl Iterator<Item = OsString>,
) -> Stop<u64> {
    let value = value_of(name, value, words)?;
    let number = value.to_str().and_then(|value| value.parse().ok());
    number.ok_or_else(|| {
        error(format_args!(
            "`{name} {}` is not a number of the kind",
            value.display()
        ))
    })
}

fn value_of(
    name: &str,
    value: Option<String>,
    words: &mut impl Iterator<Item = OsString>,
) -> Stop<OsString> {
    let value = value.map(OsString::from).or_else(|| words.next());
    value.ok_or_else(|| error(format_args!("`{name}` needs a value")))
}

fn format(value: &OsStr) -> Stop<Format> {
    let text = value.to_string_lossy();
    Format::from_str(&text, false).map_err(|_| {
        let names = Format::value_variants().iter();
        let names =
            names.filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()));
        let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
        error(format_args!(
            "invalid value `{text}` for `--message-format`: expected {}",
            names.join(", ")
        ))
    })
}

/// Which of two values it is.
fn is_second(value: &OsStr, what: &str, [first, second]: [&str; 2]) -> Stop<bool> {
    if value == first || value == second {
        return Ok(value == second);
    }
    Err(error(format_args!(
        "`{}` is no {what} of `cargo conan test`; there are `{first}` and `{second}`",
        value.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Request {
        let words = line.split_whitespace().map(OsString::from);
        Request::parse(words).expect("the line is right")
    }

    #[test]
    fn a_value_of_an_option_is_no_filter() {
        let request = parse("-p one --features=a,b --test two waits -- --skip three");
        assert_eq!(request.filter.as_deref(), Some(OsStr::new("waits")));
        assert_eq!(
            request.cargo,
            ["-p", "one", "--features=a,b", "--test", "two"]
        );
        assert_eq!(request.harness, ["--skip", "three"]);
        assert!(request.selects_targets);
    }

    #[test]
    fn our_own_options_are_not_passed_on() {
        let request = parse("--junit out.xml --message-format=json --release");
        assert_eq!(request.cargo, ["--release"]);
        assert_eq!(request.junit, Some(PathBuf::from("out.xml")));
        assert!(request.format == Format::Json && !request.selects_targets);
    }

    #[test]
    fn an_exploration_has_a_strategy_and_a_seed() {
        let request = parse("--executions 50 --strategy=pct --seed 7 waits");
        let exploring = Exploring {
            executions: 50,
            strategy: "pct".to_owned(),
            seed: 7,
        };
        assert_eq!(request.exploring, Some(exploring));
        assert!(request.cargo.is_empty());
        let wrong = [
            "--executions",
            "--executions 0",
            "--executions x",
            "--strategy pct",
            "--seed 1",
            "--executions 1 --strategy dfs",
            "--executions 1 --strategy none",
            "--executions 1 --replay AQ",
            "--executions 1 --clock wall",
            "--replay AQ --doc",
            "--fine",
            "--executions 5 --depth=3",
        ];
        for line in wrong {
            let words = line.split_whitespace().map(OsString::from);
            assert!(Request::parse(words).is_err(), "{line}");
        }
    }

    #[test]
    fn what_chooses_targets_can_be_left_out() {
        let request = parse("-p one --features a --test two --tests --package=x --release --all");
        assert_eq!(
            request.without_selection(),
            ["--features", "a", "--release"]
        );
    }

    #[test]
    fn the_harness_says_how_many_at_once() {
        assert_eq!(parse("-- --test-threads 3").threads(), Some(3));
        assert_eq!(parse("-- --test-threads=1").threads(), Some(1));
        assert_eq!(parse("-- --test-threads=0").threads(), None);
        assert_eq!(parse("--release").threads(), None);
    }
}
