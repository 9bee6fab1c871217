//! Annotations of GitHub's workflows: lines that GitHub shows beside the code.

use std::fmt::{self, Display};

use crate::output;

/// How an annotation looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Error,
    Warning,
    Notice,
}

/// Where an annotation belongs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Location<'p> {
    pub(crate) file: &'p str,
    pub(crate) line: u64,
    pub(crate) column: Option<u64>,
}

/// Prints an annotation; without a place, it belongs to the workflow's run.
pub(crate) fn annotate(level: Level, place: Option<&Location<'_>>, title: &str, message: &str) {
    output::out(format_args!("{}", annotation(level, place, title, message)));
}

fn annotation(level: Level, place: Option<&Location<'_>>, title: &str, message: &str) -> String {
    let mut properties = Vec::new();
    if let Some(Location { file, line, column }) = place {
        properties.push(format!("file={}", Property(file)));
        properties.push(format!("line={line}"));
        properties.extend(column.map(|column| format!("col={column}")));
    }
    if !title.is_empty() {
        properties.push(format!("title={}", Property(title)));
    }
    let level = match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Notice => "notice",
    };
    let gap = if properties.is_empty() { "" } else { " " };
    let properties = properties.join(",");
    format!("::{level}{gap}{properties}::{}\n", escaped(message))
}

/// GitHub's escapes for the text of an annotation.
fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A value of a property, with GitHub's escapes.
struct Property<'p>(&'p str);

impl Display for Property<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = escaped(self.0).replace(':', "%3A").replace(',', "%2C");
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, Location, annotation};

    #[test]
    fn properties_and_text_are_escaped() {
        let place = Location {
            file: "a,b:c.conan",
            line: 3,
            column: Some(7),
        };
        assert_eq!(
            annotation(Level::Error, Some(&place), "value error", "50 %\nof it"),
            "::error file=a%2Cb%3Ac.conan,line=3,col=7,title=value error::50 %25%0Aof it\n"
        );
        assert_eq!(
            annotation(Level::Warning, None, "", "stopped"),
            "::warning::stopped\n"
        );
    }
}
