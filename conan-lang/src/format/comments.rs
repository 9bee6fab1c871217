//! Comments at the ends of lines: those that stand below one another stay so.

use std::collections::HashMap;

use super::indent::{Line, width};

/// The gap before the comment at the end of every line; 0 where there is none.
pub(super) fn columns(lines: &[Line<'_>], indentations: &[Option<usize>]) -> Vec<usize> {
    let mut gaps = vec![0; lines.len()];
    // Comments that stand apart from their code, by column.
    let mut groups: HashMap<usize, Vec<Comment>> = HashMap::new();
    for (index, (line, indentation)) in lines.iter().zip(indentations).enumerate() {
        let Some(at) = line.comment else { continue };
        let (code, _) = line.parts();
        let gap = at - code.len();
        gaps[index] = gap;
        let old_width = width(line.text);
        let new_width = indentation.unwrap_or(old_width);
        let code_width = code.trim_start().chars().count();
        if gap > 1 {
            groups
                .entry(old_width + code_width + gap)
                .or_default()
                .push(Comment {
                    line: index,
                    gap,
                    shift: new_width.cast_signed() - old_width.cast_signed(),
                    code_end: new_width + code_width,
                });
        }
    }
    for (column, group) in groups {
        let moves_as_one = group.iter().all(|comment| comment.shift == group[0].shift);
        if moves_as_one {
            continue;
        }
        let widest = group
            .iter()
            .map(|comment| comment.code_end)
            .max()
            .unwrap_or(0);
        let least_gap = group.iter().map(|comment| comment.gap).min().unwrap_or(1);
        let column = if widest < column {
            column
        } else {
            widest + least_gap
        };
        for comment in group {
            gaps[comment.line] = column - comment.code_end;
        }
    }
    gaps
}

struct Comment {
    line: usize,
    /// The blanks before it.
    gap: usize,
    /// How far its line moves to the right.
    shift: isize,
    /// The column at which the code before it ends when it has moved.
    code_end: usize,
}
