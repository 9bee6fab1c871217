//! What a test finds at random: numbers, and addresses in memory. Both are the
//! same in each run, so that one run is like the other.

use std::env;
use std::fmt;

#[cfg(target_os = "linux")]
use nix::sys::personality::{self, Persona};

use super::digest::digest;
use crate::exit::{Stop, error};

/// The environment variable that says the same as `--random`.
const VARIABLE: &str = "CONAN_RANDOM";

/// Where the random numbers of tests come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Random {
    /// Of each test others, and in each run the same.
    Seed(u64),
    /// The system, as natively.
    System,
}

impl Default for Random {
    fn default() -> Self {
        Self::Seed(0)
    }
}

impl Random {
    /// What to say to get the same again, if anything.
    pub(super) fn option(self) -> Option<String> {
        (self != Self::default()).then(|| format!("--random={self}"))
    }

    /// As the environment has it, if it says anything.
    pub(super) fn of_environment() -> Stop<Self> {
        let Some(text) = env::var_os(VARIABLE) else {
            return Ok(Self::default());
        };
        Self::of_setting(VARIABLE, &text.to_string_lossy())
    }

    /// As an option has it, or a variable.
    pub(super) fn of_setting(name: &str, text: &str) -> Stop<Self> {
        Self::parse(text).ok_or_else(|| {
            error(format_args!(
                "`{name}` is a number, the seed of all random numbers, or `system`; not `{text}`"
            ))
        })
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "system" => Some(Self::System),
            _ => text.parse().ok().map(Self::Seed),
        }
    }

    /// The same for one test, as the library understands it. Two tests that make
    /// up names for files at the same time shall not make up the same.
    pub(super) fn of(self, test: &str) -> Self {
        match self {
            Self::Seed(seed) => Self::Seed(digest(test.as_bytes()) ^ seed),
            Self::System => Self::System,
        }
    }
}

impl fmt::Display for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(seed) => write!(f, "{seed}"),
            Self::System => f.write_str("system"),
        }
    }
}

/// A process that is started meanwhile has its memory where the one before it
/// had it. Some containers do not allow that; then it is anywhere.
#[cfg(target_os = "linux")]
pub(super) fn at_fixed_addresses<T>(start: impl FnOnce() -> T) -> T {
    let before = personality::get().ok();
    if let Some(before) = before {
        let _ = personality::set(before | Persona::ADDR_NO_RANDOMIZE);
    }
    let started = start();
    if let Some(before) = before {
        let _ = personality::set(before);
    }
    started
}

/// Starts it as it is.
#[cfg(not(target_os = "linux"))]
pub(super) fn at_fixed_addresses<T>(start: impl FnOnce() -> T) -> T {
    start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_has_numbers_of_its_own_and_keeps_them() {
        let seed = Random::parse("7").expect("a number is a seed");
        assert_eq!(seed.of("a b"), seed.of("a b"));
        assert_ne!(seed.of("a b"), seed.of("a c"));
        assert_ne!(seed.of("a b"), Random::default().of("a b"));
        assert_eq!(Random::parse("system"), Some(Random::System));
        assert_eq!(Random::System.of("a b"), Random::System);
        assert_eq!(Random::parse("seven"), None);
        assert_eq!(Random::parse("-1"), None);
    }
}
