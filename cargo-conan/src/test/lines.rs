//! What came of tests, a line each: `short`, and annotations for GitHub.

use std::fmt::Write as _;

use super::execute::{Outcome, Verdict};
use super::hang;
use super::list::Test;
use super::report::{described_threads, not_exact};
use crate::cli::Format;
use crate::github::{self, Level, Location};
use crate::output;

/// One test: every test has a line in `short`, and an annotation if it did not
/// pass in `github`.
pub(super) fn test(format: Format, test: &Test<'_>, outcome: &Outcome, replay: Option<&str>) {
    let name = test.full_name();
    let (word, why) = match &outcome.verdict {
        Verdict::Passed => ("passed", None),
        Verdict::Failed(how) => ("failed", Some(how.clone())),
        Verdict::Hung(threads) => ("hung", Some(described_threads(threads))),
    };
    if format == Format::Github && why.is_none() {
        return;
    }
    let place = place(outcome);
    let mut message = format!("{word}: {name}");
    if let Some(why) = why {
        let _ = write!(message, ": {why}");
    }
    if let Some(why) = not_exact(&outcome.exactness) {
        let _ = write!(message, " ({why})");
    }
    if let Some(replay) = replay {
        let _ = write!(message, "; replay: {replay}");
    }
    if format == Format::Github {
        let place = place.as_ref().map(|(file, line, column)| Location {
            file,
            line: (*line).into(),
            column: Some((*column).into()),
        });
        let title = format!("test {word}");
        github::annotate(Level::Error, place.as_ref(), &title, &message);
    } else {
        let place = place.map(|(file, line, column)| format!("{file}:{line}:{column}: "));
        let place = place.unwrap_or_default();
        let message = message.replace('\n', " ");
        output::out(format_args!("{place}{message}\n"));
    }
}

/// Where a test came to its end: where its first thread is stuck, or where it
/// panicked first.
fn place(outcome: &Outcome) -> Option<(String, u32, u32)> {
    match &outcome.verdict {
        Verdict::Passed => None,
        Verdict::Failed(_) => panic_place(&outcome.stderr),
        Verdict::Hung(threads) => {
            let blocks = hang::blocks(threads);
            let (place, _) = blocks.first()?.places.first()?;
            parts(place)
        }
    }
}

/// The place in the first message of a panic: `thread 'main' (7) panicked at
/// src/lib.rs:7:9:`.
fn panic_place(text: &str) -> Option<(String, u32, u32)> {
    let line = text.lines().find(|line| line.contains(" panicked at "))?;
    let (_, place) = line.rsplit_once(" panicked at ")?;
    parts(place.strip_suffix(':').unwrap_or(place))
}

/// `src/lib.rs:7:9`
fn parts(place: &str) -> Option<(String, u32, u32)> {
    let (rest, column) = place.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some((file.to_owned(), line.parse().ok()?, column.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::panic_place;

    #[test]
    fn the_place_of_a_panic_is_in_its_message() {
        let text = "a line\n\nthread 'it' (12) panicked at src/lib.rs:7:9:\nno\n";
        assert_eq!(panic_place(text), Some(("src/lib.rs".to_owned(), 7, 9)));
        assert_eq!(panic_place("thread panicked"), None);
        assert_eq!(panic_place("it panicked at noon"), None);
    }
}
