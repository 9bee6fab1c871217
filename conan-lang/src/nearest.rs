//! Which directive a misspelled one was meant to be.

use crate::pieces::Directive;

/// A word is compared with so many others at the most, so that many wrong
/// words and many right ones do not take the product of both.
pub(crate) const MAX_COMPARED: usize = 100;

/// The directive that is spelled most like `word`, if any is near enough.
pub(crate) fn nearest_directive(word: &str) -> Option<Directive> {
    let words = Directive::ALL.map(Directive::word);
    let meant = nearest(word, &words)?;
    Directive::ALL
        .into_iter()
        .find(|directive| directive.word() == meant)
}

/// The candidate that is spelled most like `word`, if any is near enough.
pub(crate) fn nearest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    // Nothing much longer than a directive is a slip of the finger.
    if word.len() > 24 {
        return None;
    }
    let lower = word.to_lowercase();
    let near = candidates.iter().filter_map(|&candidate| {
        let limit = match candidate.len() {
            0..=2 => 0,
            3..=5 => 1,
            6..=24 => 2,
            _ => return None,
        };
        if lower.len().abs_diff(candidate.len()) > limit {
            return None;
        }
        let distance = distance(&lower, &candidate.to_lowercase());
        (distance <= limit).then_some((distance, candidate))
    });
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's edit distance, a swap of neighbours counting one.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            let mut best = rows[i - 1][j - 1] + changed;
            best = best.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if swapped {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_name_the_right_one_and_strangers_none() {
        let check = |word, expected| assert_eq!(nearest_directive(word), expected, "{word}");
        check("#valuecheck", Some(Directive::ValueCheck));
        check("#ends", Some(Directive::End));
        check("#thraed", Some(Directive::Thread));
        check("#wakeTime", Some(Directive::WakeTimes));
        check("#excmonitor", Some(Directive::ExcMonitor));
        check("#include", None);
        check("#x", None);
    }
}
