//! Which schedule a process is asked to follow, and what to say about it.
//!
//! A wish is a token of `conan-explore`, or `STRATEGY:SEED:EXECUTION`: one of
//! the executions of a search. `pct` has a fourth part, the number of decisions
//! that it expects. A last part of eight hexadecimal digits stands for the
//! points that the execution comes to and what is decided there, so that a
//! program is noticed that has changed.
//!
//! The account has lines
//!
//! ```text
//! schedule 9f3c02aa41b7d650 57
//! token AQCtwPa1BAIEqa3Dwg
//! fits no
//! ```
//!
//! with the number of decisions about who runs next; the token only if it is
//! short enough for people, `fits` only if the wish says what to expect.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;

use conan_explore::{Fixed, History, Pct, Pos, Random, Schedule, Single};
use conan_kernel::Kind;
use conan_kernel::preload::{Plan, setting};

/// Names the file in which `history` keeps what it has tried: numbers of eight
/// bytes, the low one first.
const MEMORY: &str = "CONAN_PRELOAD_MEMORY";

/// Nobody likes to paste more.
const LONGEST_TOKEN: usize = 200;

/// How deep the bugs are that `pct` looks for.
const DEPTH: usize = 3;

/// Makes a plan of a wish.
pub(crate) fn plan(wish: &str) -> Result<Plan<Schedule>, String> {
    let memory = setting(MEMORY);
    let Wish { single, expected } = Wish::read(wish, memory)?;
    Ok(Plan {
        strategy: single.strategy(),
        account: Box::new(move || account(&single, expected.as_ref(), memory)),
    })
}

/// An execution, and what is known of it.
#[derive(Debug)]
struct Wish {
    single: Single,
    expected: Option<Expected>,
}

/// What an execution is to be like.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    /// As its token says.
    Token,
    /// The first half of its hash.
    Hash(u32),
}

impl Wish {
    fn read(text: &str, memory: Option<&OsStr>) -> Result<Self, String> {
        let Some((strategy, numbers)) = text.split_once(':') else {
            let token = text.parse();
            let token = token.map_err(|error| format!("`{text}`: {error}"))?;
            return Ok(Self {
                single: Single::again(token),
                expected: Some(Expected::Token),
            });
        };
        let mut words: Vec<&str> = numbers.split(':').collect();
        let wanted = match strategy {
            "pct" => 3,
            _ => 2,
        };
        let no_schedule = || format!("`{text}` stands for no schedule");
        let expected = match words.len().checked_sub(wanted) {
            Some(0) => None,
            Some(1) => {
                let hash = words.pop().filter(|word| word.len() == 8);
                let hash = hash.and_then(|word| u32::from_str_radix(word, 16).ok());
                Some(Expected::Hash(hash.ok_or_else(no_schedule)?))
            }
            _ => return Err(no_schedule()),
        };
        let numbers: Option<Vec<u64>> = words.iter().map(|word| word.parse().ok()).collect();
        let single = match (strategy, numbers.as_deref()) {
            ("fixed", Some(&[_, execution])) => Single::of(Fixed, execution),
            ("random", Some(&[seed, execution])) => Single::of(Random::new(seed), execution),
            ("pos", Some(&[seed, execution])) => Single::of(Pos::new(seed), execution),
            ("pct", Some(&[seed, execution, length])) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                Single::of(Pct::new(seed, DEPTH).length(length), execution)
            }
            ("history", Some(&[seed, execution])) => {
                let memory = memory.ok_or_else(|| {
                    format!("`{text}` means nothing without the executions before it")
                })?;
                let known = numbers_in(&fs::read(memory).unwrap_or_default());
                Single::of(History::new(seed).after(known), execution)
            }
            _ => return Err(no_schedule()),
        };
        Ok(Self { single, expected })
    }
}

fn account(single: &Single, expected: Option<&Expected>, memory: Option<&OsStr>) -> String {
    let trace = single.trace();
    let hash = trace.hash();
    let turns = trace.taken().iter().filter(|it| it.kind == Kind::Next);
    let mut text = format!("schedule {hash:016x} {}\n", turns.count());
    if trace.choices().len() < 8 * LONGEST_TOKEN {
        let token = single.token().to_string();
        if token.len() <= LONGEST_TOKEN {
            let _ = writeln!(text, "token {token}");
        }
    }
    let fits = match expected {
        None => true,
        Some(Expected::Token) => single.fits(),
        Some(Expected::Hash(expected)) => u64::from(*expected) == hash >> 32,
    };
    if !fits {
        text.push_str("fits no\n");
    }
    if let Some(memory) = memory {
        let bytes: Vec<u8> = single
            .memory()
            .into_iter()
            .flat_map(u64::to_le_bytes)
            .collect();
        let _ = fs::write(memory, bytes);
    }
    text
}

fn numbers_in(bytes: &[u8]) -> Vec<u64> {
    let (numbers, _) = bytes.as_chunks::<8>();
    numbers
        .iter()
        .map(|&number| u64::from_le_bytes(number))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_of_searches_and_tokens_are_understood() {
        let expected = |text: &str| Wish::read(text, None).map(|wish| wish.expected);
        let token = Single::of(Fixed, 0).token().to_string();
        assert_eq!(expected(&token), Ok(Some(Expected::Token)));
        for text in ["fixed:0:0", "random:7:12", "pos:7:12", "pct:7:12:340"] {
            assert_eq!(expected(text), Ok(None), "{text}");
            let with_hash = format!("{text}:00c0ffee");
            assert_eq!(expected(&with_hash), Ok(Some(Expected::Hash(0xc0_ffee))));
        }
    }

    #[test]
    fn what_stands_for_nothing_is_refused() {
        let wrong = [
            "",
            "random",
            "random:1",
            "random:x:1",
            "random:1:2:3",
            "random:1:2:xxxxxxxx",
            "random:1:2:00000000:1",
            "pct:1:2",
            "dfs:1:2",
            ":",
            "pos:-1:2",
            "history:1:2",
        ];
        for text in wrong {
            let error = Wish::read(text, None).map(|_| ()).expect_err(text);
            assert!(error.contains(text), "{error}");
        }
    }
}
