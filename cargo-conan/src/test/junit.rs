//! What came of tests as `JUnit` writes it, for the machines that read that.

use std::fmt::Write as _;

use super::execute::{Outcome, Verdict};
use super::list::Test;
use super::report::{not_exact, why};

/// The whole file.
pub(super) fn text(results: &[(&Test<'_>, Outcome)], ignored: &[Test<'_>]) -> String {
    let mut binaries: Vec<&str> = Vec::new();
    let tests = results.iter().map(|(test, _)| *test).chain(ignored);
    for test in tests {
        if !binaries.contains(&test.binary.name.as_str()) {
            binaries.push(&test.binary.name);
        }
    }
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n".to_owned();
    for binary in binaries {
        let own: Vec<_> = results
            .iter()
            .filter(|(test, _)| test.binary.name == binary)
            .collect();
        let skipped: Vec<_> = ignored
            .iter()
            .filter(|test| test.binary.name == binary)
            .collect();
        let failed =
            |(_, outcome): &&&(&Test<'_>, Outcome)| !matches!(outcome.verdict, Verdict::Passed);
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"0\">",
            escaped(binary),
            own.len() + skipped.len(),
            own.iter().filter(failed).count(),
            skipped.len(),
        );
        for (test, outcome) in own {
            case(&mut text, test, outcome);
        }
        for test in skipped {
            let _ = writeln!(text, "    <testcase {}><skipped/></testcase>", names(test));
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn case(text: &mut String, test: &Test<'_>, outcome: &Outcome) {
    let real = outcome.real.as_secs_f64();
    let _ = writeln!(text, "    <testcase {} time=\"{real:.6}\">", names(test));
    text.push_str("      <properties>\n");
    let mut property = |name: &str, value: &str| {
        let value = escaped(value);
        let _ = writeln!(
            text,
            "        <property name=\"{name}\" value=\"{value}\"/>"
        );
    };
    if let Some(time) = outcome.time {
        property("virtual time", &format!("{:.9}", time.as_secs_f64()));
    }
    if let Some(reason) = not_exact(&outcome.exactness) {
        property("not exact", &reason);
    }
    if let Some(explored) = &outcome.explored {
        property("executions", &explored.executions.to_string());
        property("schedules", &explored.schedules.to_string());
        if let Some((_, Some(token))) = &explored.failed {
            property("token", token);
        }
    }
    text.push_str("      </properties>\n");
    if let Some(reason) = why(&outcome.verdict) {
        let first = escaped(reason.lines().next().unwrap_or_default());
        let _ = writeln!(
            text,
            "      <failure message=\"{first}\">{}</failure>",
            escaped(&reason)
        );
        for (tag, output) in [
            ("system-out", &outcome.stdout),
            ("system-err", &outcome.stderr),
        ] {
            let _ = writeln!(text, "      <{tag}>{}</{tag}>", escaped(output));
        }
    }
    text.push_str("    </testcase>\n");
}

fn names(test: &Test<'_>) -> String {
    let name = test.name.as_deref().unwrap_or(&test.binary.name);
    format!(
        "name=\"{}\" classname=\"{}\"",
        escaped(name),
        escaped(&test.binary.name)
    )
}

/// Text between tags or quotes. XML knows no other control characters.
fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => result.push_str("&amp;"),
            '<' => result.push_str("&lt;"),
            '>' => result.push_str("&gt;"),
            '"' => result.push_str("&quot;"),
            '\n' | '\t' => result.push(character),
            character if character.is_control() => result.push('\u{fffd}'),
            character => result.push(character),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(
            escaped("a<b> \"&\" \u{1b}[0m\n"),
            "a&lt;b&gt; &quot;&amp;&quot; \u{fffd}[0m\n"
        );
    }
}
