//! What `#explore` may say. What it means is the runtime's business.

use crate::words::number;

/// The strategies.
pub(super) const STRATEGIES: [&str; 8] = [
    "mixed", "random", "pct", "pos", "abreast", "dfs", "history", "fixed",
];

/// Options with a whole number. What belongs to a single run, such as its
/// time or its share of the work, is not said in a script.
const OPTIONS: [&str; 5] = ["seed", "preemptions", "depth", "spurious", "steps"];

/// What was expected in place of the word at this index, if it is wrong.
pub(super) fn mistake(index: usize, word: &str) -> Option<String> {
    if index == 0 {
        let is_known = STRATEGIES.contains(&word);
        return (!is_known).then(|| format!("expected one of {}", STRATEGIES.join(", ")));
    }
    let is_right = match word.split_once('=') {
        None => index == 1 && number(word).is_some_and(|count| count > 0),
        Some((option, value)) => OPTIONS.contains(&option) && number(value).is_some(),
    };
    (!is_right).then(|| {
        let options = OPTIONS.map(|option| format!("`{option}=`")).join(", ");
        let count = if index == 1 {
            "a number of executions, or "
        } else {
            ""
        };
        format!("expected {count}a number after one of {options}")
    })
}
