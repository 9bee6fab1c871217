//! Schedules as short texts.
//!
//! A token is, in bytes:
//!
//! - the version: 1, or 2 if the program was compiled with hooks (`--fine`);
//! - a varint: how many waits may end for no reason;
//! - four bytes that stand for the points at which the decisions were taken,
//!   so that a program is noticed that has changed since;
//! - the decisions up to the last that is not the default, as runs. A run is
//!   a varint of twice the index that was chosen, plus 1 if the run is longer
//!   than 1; then a varint of its length minus 2 follows;
//! - four bytes that stand for all before them, so that a slip of the pen is
//!   noticed;
//!
//! and that as base64 with `-` and `_`, without padding. A varint has seven
//! bits a byte, the low ones first. Both sums are FNV-1a of 64 bits, one half
//! xor the other, the low byte first.

mod base64;

use std::fmt;
use std::str::FromStr;

use conan_kernel::fine;

use crate::trace::{Hash, Trace};

/// The version of a token.
const VERSION: u8 = 1;

/// The version of a token whose program has hooks. Such a program comes to other
/// points than the same one without them.
const VERSION_WITH_HOOKS: u8 = 2;

/// More decisions than this are no schedule.
pub(crate) const MOST_DECISIONS: usize = 1 << 20;

/// A schedule, to be kept, sent and replayed.
///
/// Its text is made of letters, digits, `-` and `_`. It says what was decided;
/// the program is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub(crate) spurious: u32,
    pub(crate) points: u32,
    pub(crate) choices: Vec<usize>,
    pub(crate) has_hooks: bool,
}

/// Why a text is not a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenError {
    /// This character, counted from 0, is none that a token can have.
    Character(usize),
    /// It is too short, or ends in the middle of something.
    Incomplete,
    /// The sum of its bytes is wrong.
    Sum,
    /// It is of a version that is not known here.
    Version(u8),
    /// It holds numbers that no schedule has.
    Senseless,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character(place) => {
                let place = place + 1;
                write!(f, "character {place} cannot be part of a token")
            }
            Self::Incomplete => write!(f, "the token is not complete"),
            Self::Sum => write!(f, "the token is damaged: its check sum is wrong"),
            Self::Version(version) => {
                write!(
                    f,
                    "the token is of version {version}, which is not known here"
                )
            }
            Self::Senseless => write!(f, "the token stands for no schedule"),
        }
    }
}

impl std::error::Error for TokenError {}

impl Token {
    /// The token of an execution in which so many waits could end for no
    /// reason.
    pub(crate) fn of(trace: &Trace, spurious: u32) -> Self {
        let choices = trace.choices();
        Self {
            spurious,
            points: halves(Hash(trace.hash_after(choices.len()))),
            choices,
            has_hooks: fine::is_present(),
        }
    }

    /// True if the program of the execution was compiled with hooks, as far as
    /// the token tells. Those of old releases do not.
    pub fn has_hooks(&self) -> bool {
        self.has_hooks
    }

    /// True if an execution has come to the same points, and decided the same
    /// at them.
    pub(crate) fn fits(&self, trace: &Trace) -> bool {
        trace.choices() == self.choices && Self::of(trace, self.spurious).points == self.points
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![if self.has_hooks {
            VERSION_WITH_HOOKS
        } else {
            VERSION
        }];
        put(&mut bytes, self.spurious as usize);
        bytes.extend(self.points.to_le_bytes());
        for run in self.choices.chunk_by(|one, other| one == other) {
            put(&mut bytes, run[0] << 1 | usize::from(run.len() > 1));
            if run.len() > 1 {
                put(&mut bytes, run.len() - 2);
            }
        }
        let sum = sum(&bytes);
        bytes.extend(sum);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, TokenError> {
        let Some((body, end)) = bytes.split_last_chunk::<4>() else {
            return Err(TokenError::Incomplete);
        };
        let (version, rest) = body.split_first().ok_or(TokenError::Incomplete)?;
        // Other versions may add up otherwise.
        if !matches!(*version, VERSION | VERSION_WITH_HOOKS) {
            return Err(TokenError::Version(*version));
        }
        if sum(body) != *end {
            return Err(TokenError::Sum);
        }
        let mut rest = rest;
        let spurious = take(&mut rest)?;
        let (points, mut rest) = rest
            .split_first_chunk::<4>()
            .ok_or(TokenError::Incomplete)?;
        let mut choices = Vec::new();
        while !rest.is_empty() {
            let head = take(&mut rest)?;
            let length = if head & 1 == 0 {
                1
            } else {
                take(&mut rest)?.saturating_add(2)
            };
            if length > MOST_DECISIONS - choices.len() {
                return Err(TokenError::Senseless);
            }
            choices.resize(choices.len() + length, head >> 1);
        }
        if choices.last() == Some(&0) {
            return Err(TokenError::Senseless);
        }
        Ok(Self {
            spurious: u32::try_from(spurious).map_err(|_| TokenError::Senseless)?,
            points: u32::from_le_bytes(*points),
            choices,
            has_hooks: *version == VERSION_WITH_HOOKS,
        })
    }
}

fn sum(bytes: &[u8]) -> [u8; 4] {
    halves(bytes.iter().copied().fold(Hash::default(), Hash::byte)).to_le_bytes()
}

fn halves(hash: Hash) -> u32 {
    (hash.0 >> 32) as u32 ^ hash.0 as u32
}

/// Appends a varint.
fn put(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a varint from the front.
fn take(bytes: &mut &[u8]) -> Result<usize, TokenError> {
    let mut number: u32 = 0;
    for shift in (0..).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(TokenError::Incomplete)?;
        *bytes = rest;
        let bits = u32::from(byte & 0x7f);
        if shift > 28 || (shift == 28 && bits > 0xf) {
            return Err(TokenError::Senseless);
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Ok(number as usize)
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64::encode(&self.to_bytes()))
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        Self::from_bytes(&base64::decode(text)?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Token, TokenError, sum};
    use crate::token::base64;

    fn tokens() -> impl Strategy<Value = Token> {
        let choices = prop::collection::vec(
            prop_oneof![4 => Just(0_usize), 2 => 0..4_usize, 1 => any::<u16>().prop_map(usize::from)],
            0..300,
        );
        let numbers = (any::<u32>(), any::<u32>(), any::<bool>());
        (numbers, choices).prop_map(|((spurious, points, has_hooks), mut choices)| {
            while choices.last() == Some(&0) {
                choices.pop();
            }
            Token {
                spurious,
                points,
                choices,
                has_hooks,
            }
        })
    }

    proptest! {
        #[test]
        fn a_token_is_what_it_was(token in tokens()) {
            let text = token.to_string();
            prop_assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)));
            prop_assert_eq!(text.parse(), Ok(token));
        }

        #[test]
        fn any_text_gives_a_token_or_an_error(text in ".*") {
            let _ = text.parse::<Token>();
        }

        #[test]
        fn any_bytes_with_the_right_sum_give_a_token_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut bytes = [&[1], &bytes[..]].concat();
            bytes.extend(sum(&bytes));
            if let Ok(token) = base64::encode(&bytes).parse::<Token>() {
                prop_assert_eq!(token.to_string().parse(), Ok(token));
            }
        }

        #[test]
        fn a_wrong_character_is_noticed(token in tokens(), place in any::<prop::sample::Index>(), other in "[-_A-Za-z0-9]") {
            let mut text = token.to_string();
            let place = place.index(text.len());
            if text[place..=place] != other {
                text.replace_range(place..=place, &other);
                prop_assert!(text.parse::<Token>().is_err(), "{}", text);
            }
        }

        #[test]
        fn a_token_without_its_end_is_noticed(token in tokens(), place in any::<prop::sample::Index>()) {
            let text = token.to_string();
            let place = place.index(text.len());
            prop_assert!(text[..place].parse::<Token>().is_err());
        }
    }

    #[test]
    fn tokens_stay_as_they_are() {
        let token = Token {
            spurious: 0,
            points: 0x1234_5678,
            choices: vec![0, 0, 0, 1, 2, 2, 300],
            has_hooks: false,
        };
        let text = "AQB4VjQSAQECBQDYBPNBsEY";
        assert_eq!(token.to_string(), text);
        assert_eq!(text.parse(), Ok(token));
    }

    #[test]
    fn each_mistake_has_its_error() {
        let error = |text: &str| text.parse::<Token>().unwrap_err();
        assert_eq!(error(""), TokenError::Incomplete);
        assert_eq!(error("AQB4Vj*SAQ"), TokenError::Character(6));
        assert_eq!(error("A"), TokenError::Incomplete);
        let with_sum = |bytes: &[u8]| base64::encode(&[bytes, &sum(bytes)].concat());
        assert_eq!(
            error(&with_sum(&[3, 0, 0, 0, 0, 0])),
            TokenError::Version(3)
        );
        assert_eq!(error(&with_sum(&[1, 0, 0, 0])), TokenError::Incomplete);
        assert_eq!(
            error(&with_sum(&[1, 0, 0, 0, 0, 0, 3])),
            TokenError::Incomplete
        );
        let endless = [1, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff, 0xf];
        assert_eq!(error(&with_sum(&endless)), TokenError::Senseless);
        let ends_with_a_default = [1, 0, 0, 0, 0, 0, 0];
        assert_eq!(
            error(&with_sum(&ends_with_a_default)),
            TokenError::Senseless
        );
        let wrong = base64::encode(&[1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
        assert_eq!(error(&wrong), TokenError::Sum);
    }
}
