//! A unified diff of one replacement.

use std::ops::Range;

/// Lines shown before and after the change.
const CONTEXT: usize = 3;

/// The diff between a source and the same with one range replaced.
pub(crate) fn unified(source: &str, range: &Range<usize>, replacement: &str, path: &str) -> String {
    let first = source[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let last = source[range.end..]
        .find('\n')
        .map_or(source.len(), |at| range.end + at + 1);
    let old = &source[first..last];
    let new = [
        &source[first..range.start],
        replacement,
        &source[range.end..last],
    ]
    .concat();
    let mut old: Vec<&str> = old.split_inclusive('\n').collect();
    let mut new: Vec<&str> = new.split_inclusive('\n').collect();
    let mut first_line = source[..first].matches('\n').count();
    // Whole lines that an insertion leaves as they are.
    while !old.is_empty() && old.first() == new.first() {
        old.remove(0);
        new.remove(0);
        first_line += 1;
    }
    while !old.is_empty() && old.last() == new.last() {
        old.pop();
        new.pop();
    }
    let lines: Vec<&str> = source.split_inclusive('\n').collect();
    let after = first_line + old.len();
    let from = first_line.saturating_sub(CONTEXT);
    let to = lines.len().min(after + CONTEXT);

    let mut text = format!("--- {path}\n+++ {path}\n");
    let around = (to - from) - old.len();
    text.push_str(&format!(
        "@@ -{},{} +{},{} @@\n",
        from + 1,
        around + old.len(),
        from + 1,
        around + new.len(),
    ));
    let mut push = |sign: char, lines: &[&str]| {
        for line in lines {
            let line = line.trim_end_matches(['\n', '\r']);
            text.push_str(format!("{sign}{line}").trim_end());
            text.push('\n');
        }
    };
    push(' ', &lines[from..first_line]);
    push('-', &old);
    push('+', &new);
    push(' ', &lines[after..to]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_line_is_shown_with_three_lines_around_it() {
        let source = "1\n2\n3\n4\n5 five\n6\n7\n8\n9\n";
        let at = source.find("five").unwrap();
        let diff = unified(source, &(at..at + 4), "FIVE", "a.rs");
        let expected =
            "--- a.rs\n+++ a.rs\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5 five\n+5 FIVE\n 6\n 7\n 8\n";
        assert_eq!(diff, expected);
    }

    #[test]
    fn an_inserted_line_takes_none_away() {
        let diff = unified("1\n2\n", &(2..2), "new\n", "a.rs");
        assert_eq!(diff, "--- a.rs\n+++ a.rs\n@@ -1,2 +1,3 @@\n 1\n+new\n 2\n");
    }

    #[test]
    fn a_file_may_end_without_a_newline() {
        let diff = unified("1\n2", &(2..3), "3", "a.rs");
        assert_eq!(diff, "--- a.rs\n+++ a.rs\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n");
    }
}
