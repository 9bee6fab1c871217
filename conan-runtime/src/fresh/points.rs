//! A point of decision as a line of text.

use std::fmt::Write;
use std::str::SplitAsciiWhitespace;

use conan_kernel::{Choice, Kind, Place, Point, Step};

/// A point that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Read {
    kind: Kind,
    previous: Option<usize>,
    interrupts: bool,
    options: Vec<Choice>,
}

impl Read {
    pub(super) fn point(&self) -> Point<'_> {
        Point {
            kind: self.kind,
            previous: self.previous,
            interrupts: self.interrupts,
            options: &self.options,
        }
    }
}

const KINDS: [Kind; 4] = [Kind::Next, Kind::Wake, Kind::Due, Kind::Spurious];

/// The point as numbers: its kind, 1 more than the thread that has run or 0,
/// 1 if that could go on, and four for each option.
pub(super) fn written(point: &Point<'_>) -> String {
    let kind = KINDS.iter().position(|kind| *kind == point.kind);
    let previous = point.previous.map_or(0, |thread| thread + 1);
    let interrupts = u8::from(point.interrupts);
    let mut text = format!("{} {previous} {interrupts}", kind.unwrap_or(0));
    for option in point.options {
        let Choice {
            thread,
            position,
            step,
        } = option;
        let number = match step {
            Step::Join(number) => *number,
            step => step.place().map_or(0, |place| place.0),
        };
        // Writing to a string cannot fail.
        let _ = write!(text, " {thread} {position} {} {number}", step.sort());
    }
    text
}

/// Reads a point; nothing if it is not one.
pub(super) fn read(text: &str) -> Option<Read> {
    let mut words = text.split_ascii_whitespace();
    let kind = *KINDS.get(next::<usize>(&mut words)?)?;
    let previous = next::<usize>(&mut words)?.checked_sub(1);
    let interrupts = next::<u8>(&mut words)? == 1;
    let mut options = Vec::new();
    while let Some(thread) = next(&mut words) {
        options.push(Choice {
            thread,
            position: next(&mut words)?,
            step: step(next(&mut words)?, next(&mut words)?)?,
        });
    }
    Some(Read {
        kind,
        previous,
        interrupts,
        options,
    })
}

fn next<T: std::str::FromStr>(words: &mut SplitAsciiWhitespace<'_>) -> Option<T> {
    words.next()?.parse().ok()
}

fn step(sort: u8, number: u32) -> Option<Step> {
    let place = Place(number);
    let steps = [
        Step::Begin,
        Step::Continue,
        Step::Wait(place),
        Step::Wake(place),
        Step::Woken(place),
        Step::TimeOut,
        Step::Yield,
        Step::Join(number),
        Step::Point,
        Step::Load(place),
        Step::Store(place),
    ];
    steps.into_iter().find(|step| step.sort() == sort)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for (kind, previous) in KINDS.into_iter().zip([None, Some(0), Some(7), None]) {
            let options = (0..=10).map(|sort| Choice {
                thread: usize::from(sort),
                position: 1000 + u64::from(sort),
                step: step(sort, 5).expect("there are eleven sorts"),
            });
            let read_again = Read {
                kind,
                previous,
                interrupts: previous.is_some(),
                options: options.collect(),
            };
            let text = written(&read_again.point());
            assert_eq!(read(&text).as_ref(), Some(&read_again), "{text}");
        }
    }

    #[test]
    fn what_is_no_point_is_not_read() {
        for text in ["", "9 0 0", "0 0", "0 0 0 1 2", "0 0 0 1 2 11 0", "a b c"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
