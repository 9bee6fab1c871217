//! The times at which a wake-up check lets its thread wake.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::script::WakeTimes;

/// What a `#wakeCheck` allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake<'a> {
    /// This time.
    At(u64),
    /// From the first up to, not with, the second.
    Within(Range<u64>),
    /// From the first up to and with the second.
    WithinInclusive(RangeInclusive<u64>),
    /// From this time on.
    From(u64),
    /// One of these.
    OneOf(&'a [u64]),
    /// One that is left in a list of the sequence, and take it out.
    Take(&'static str),
}

/// The sequence's lists, as much as is left of them.
#[derive(Debug)]
pub(crate) struct Lists(Mutex<HashMap<&'static str, Vec<u64>>>);

impl Lists {
    pub(crate) fn new(lists: &[WakeTimes]) -> Self {
        let lists = lists.iter().map(|list| (list.name, list.times.to_vec()));
        Self(Mutex::new(lists.collect()))
    }

    /// Checks a time. The error says what was expected.
    pub(crate) fn check(&self, wake: &Wake<'_>, time: u64) -> Result<(), String> {
        let (allowed, expected) = match wake {
            Wake::At(at) => (time == *at, at.to_string()),
            Wake::Within(range) => (range.contains(&time), format!("{range:?}")),
            Wake::WithinInclusive(range) => (range.contains(&time), format!("{range:?}")),
            Wake::From(from) => (time >= *from, format!("{from}..")),
            Wake::OneOf(times) => (times.contains(&time), listed(times, "or")),
            Wake::Take(name) => return self.take(name, time),
        };
        if allowed { Ok(()) } else { Err(expected) }
    }

    fn take(&self, name: &str, time: u64) -> Result<(), String> {
        let mut lists = self.lock();
        let left = lists.get_mut(name).map(std::mem::take).unwrap_or_default();
        let found = left.iter().position(|&t| t == time);
        let result = match found {
            Some(_) => Ok(()),
            None if left.is_empty() => Err(format!("of `{name}`, of which nothing is left")),
            None => Err(format!("{}, which `{name}` has left", listed(&left, "or"))),
        };
        if let Some(list) = lists.get_mut(name) {
            *list = left;
            if let Some(at) = found {
                list.remove(at);
            }
        }
        result
    }

    /// What is left of a list.
    pub(crate) fn left(&self, name: &str) -> Vec<u64> {
        self.lock().get(name).cloned().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<&'static str, Vec<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `3, 4 and 4`
pub(crate) fn listed(times: &[u64], word: &str) -> String {
    let texts: Vec<String> = times.iter().map(u64::to_string).collect();
    match texts.as_slice() {
        [] => "no time".to_owned(),
        texts => joined(texts, word),
    }
}

/// `a, b and c`
pub(crate) fn joined(texts: &[String], word: &str) -> String {
    match texts {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} {word} {last}", init.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_can_be_taken_as_often_as_it_is_listed() {
        let list = WakeTimes {
            name: "w",
            line: 1,
            column: 1,
            times: &[3, 4, 4],
        };
        let lists = Lists::new(&[list]);
        let take = |time| lists.check(&Wake::Take("w"), time).is_ok();
        assert!(take(4) && take(4));
        assert!(!take(4), "both 4s are taken");
        assert_eq!(lists.left("w"), [3]);
        assert!(take(3));
        assert!(!take(3), "the list is empty");
    }

    #[test]
    fn ranges_are_half_open_as_in_rust() {
        let lists = Lists::new(&[]);
        assert!(lists.check(&Wake::Within(3..5), 4).is_ok());
        assert!(lists.check(&Wake::Within(3..5), 5).is_err());
        assert!(lists.check(&Wake::WithinInclusive(3..=5), 5).is_ok());
        assert!(lists.check(&Wake::OneOf(&[2, 4]), 3).is_err());
        assert!(lists.check(&Wake::From(2), 9).is_ok());
        assert_eq!(lists.check(&Wake::At(3), 2), Err("3".to_owned()));
    }
}
