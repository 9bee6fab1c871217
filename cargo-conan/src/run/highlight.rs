//! Colours for a report that a driver wrote as plain text. As in what `check`
//! prints, headings stand out, and margins step back.

use anstyle::{AnsiColor, Style};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HEADING: Style = Style::new().bold();
const MARGIN: Style = AnsiColor::BrightBlue.on_default().bold();

/// The kinds of errors, as headings name them.
const KINDS: [&str; 3] = ["value error", "exception error", "liveness error"];

/// A report with colours. Without the escape sequences, the text is what the
/// driver wrote.
pub(super) fn highlighted(report: &str) -> String {
    let mut out = String::with_capacity(report.len() * 2);
    // From a heading to the next empty line is the place of an error; below it
    // are tables, whose lines look alike.
    let mut is_place = false;
    for line in report.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        if let Some((kind, rest)) = heading(line) {
            is_place = true;
            out.push_str(&format!("{ERROR}{kind}{ERROR:#}{HEADING}{rest}{HEADING:#}"));
        } else if is_place && !line.is_empty() {
            out.push_str(&placed(line));
        } else {
            is_place = false;
            out.push_str(line);
        }
        out.push_str(end);
    }
    out
}

/// An exploration's report with colours: its first line has the verdict.
pub(super) fn highlighted_exploration(report: &str) -> String {
    const FAILED: &str = ": FAILED";
    let (first, rest) = report.split_at(report.find('\n').unwrap_or(report.len()));
    let first = match first.split_once(FAILED) {
        Some((before, after)) => format!("{before}: {ERROR}FAILED{ERROR:#}{after}"),
        None => first.to_owned(),
    };
    first + &highlighted(rest)
}

/// `liveness error`, and ` at tick 2, thread reader: …`
fn heading(line: &str) -> Option<(&str, &str)> {
    let mut kinds = KINDS.iter();
    kinds.find_map(|kind| {
        let rest = line.strip_prefix(kind)?;
        rest.starts_with(" at tick ")
            .then(|| line.split_at(kind.len()))
    })
}

/// A line below a heading: `  --> path`, `   |`, `30 | code`, `   |    ^`,
/// `   = note: …`.
fn placed(line: &str) -> String {
    let is_margin = |c: char| c == ' ' || c.is_ascii_digit();
    let text = line.trim_start_matches(is_margin);
    let (margin, text) = line.split_at(line.len() - text.len());
    for mark in ["-->", "|", "="] {
        if let Some(text) = text.strip_prefix(mark) {
            let text = if text.trim_start() == "^" {
                text.replace('^', &format!("{ERROR}^{ERROR:#}"))
            } else {
                text.to_owned()
            };
            return format!("{MARGIN}{margin}{mark}{MARGIN:#}{text}");
        }
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "
liveness error at tick 1, thread reader: suspended since tick 1, for good
  --> tests/scripts/mailbox.conan:88:13
   |
88 |             #valueCheck mailbox.take() # None #end
   |             ^
   = expected: ended by tick 3
   = note: a note
     of two lines

tick | reader
-----+-----------
   1 | value error at tick 1
     | ^ value error

note: this run was not exact: a thread computed
";

    /// Text with names in place of escape sequences.
    fn named(text: &str) -> String {
        let reset = format!("{ERROR:#}");
        text.replace(&ERROR.to_string(), "<error>")
            .replace(&MARGIN.to_string(), "<margin>")
            .replace(&HEADING.to_string(), "<bold>")
            .replace(&reset, "</>")
    }

    #[test]
    fn headings_margins_and_carets_have_colours_and_tables_do_not() {
        let expected = "
<error>liveness error</><bold> at tick 1, thread reader: suspended since tick 1, for good</>
<margin>  --></> tests/scripts/mailbox.conan:88:13
<margin>   |</>
<margin>88 |</>             #valueCheck mailbox.take() # None #end
<margin>   |</>             <error>^</>
<margin>   =</> expected: ended by tick 3
<margin>   =</> note: a note
     of two lines

tick | reader
-----+-----------
   1 | value error at tick 1
     | ^ value error

note: this run was not exact: a thread computed
";
        assert_eq!(named(&highlighted(REPORT)), expected);
    }

    #[test]
    fn the_verdict_of_an_exploration_has_a_colour() {
        let report = format!("crosses (a.conan:3): FAILED in execution 2\n{REPORT}");
        let highlighted = named(&highlighted_exploration(&report));
        assert!(
            highlighted
                .starts_with("crosses (a.conan:3): <error>FAILED</> in execution 2\n\n<error>"),
            "{highlighted}"
        );
        let passed = "crosses (a.conan:3): exhausted: every schedule was run\n";
        assert_eq!(highlighted_exploration(passed), passed);
    }

    #[test]
    fn the_text_stays_the_same() {
        for report in [REPORT, "", "\n\n", "value error at tick 1"] {
            let plain = anstream::adapter::strip_str(&highlighted(report)).to_string();
            assert_eq!(plain, report);
        }
    }
}
