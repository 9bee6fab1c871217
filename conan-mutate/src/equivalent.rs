//! Equivalent mutants, as the source declares them:
//!
//! ```text
//! // mutants: equivalent: off-by-one: nobody ever asks for more than there is
//! // mutants: equivalent: off-by-one `>=`: the same, where a line has several
//! ```
//!
//! The comment stands at the end of the mutant's line, or on a line of its
//! own above it; there, the sentence may go on over the next lines.

use crate::comments::Comment;
use crate::mutant::Mutant;
use crate::operator::Operator;
use crate::text::Text;

/// A declaration that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line of the comment, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
    /// What is wrong, and what to do.
    pub message: String,
}

struct Declaration<'s> {
    operator: Operator,
    /// What the mutant puts in, where a line has several of the operator.
    replacement: Option<&'s str>,
    why: &'s str,
}

/// Marks the mutants that the comments declare to be equivalent.
pub(crate) fn mark(
    text: Text<'_>,
    comments: &[Comment<'_>],
    mutants: &mut [Mutant],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, comment) in comments.iter().enumerate() {
        let Some(rest) = after_word(comment.text, "mutants") else {
            continue;
        };
        let (line, column) = text.position(comment.start);
        let mut problem = |message| {
            problems.push(Problem {
                line,
                column,
                message,
            });
        };
        let declaration = match declaration(rest) {
            Ok(declaration) => declaration,
            Err(message) => {
                problem(message);
                continue;
            }
        };
        let meant = line_meant(text, comment, line);
        let mut why = declaration.why.to_owned();
        for more in continuation(text, &comments[index..], line) {
            why.push(' ');
            why.push_str(more);
        }
        let mut found = false;
        for mutant in mutants.iter_mut().filter(|mutant| mutant.line == meant) {
            if declaration.means(mutant) {
                mutant.equivalent = Some(why.clone());
                found = true;
            }
        }
        if !found {
            let (operator, there) = (declaration.operator, others(mutants, meant));
            problem(format!(
                "there is no such mutant `{operator}` on line {meant}{there}"
            ));
        }
    }
    problems
}

impl Declaration<'_> {
    fn means(&self, mutant: &Mutant) -> bool {
        let is_it = |text: &str| mutant.replacement.trim() == text.trim();
        self.operator == mutant.operator && self.replacement.is_none_or(is_it)
    }
}

fn declaration(rest: &str) -> Result<Declaration<'_>, String> {
    let form = "write `// mutants: equivalent: OPERATOR: WHY`";
    let Some(rest) = after_word(rest, "equivalent") else {
        return Err(format!("this says nothing about mutants; {form}"));
    };
    let rest = rest.trim();
    let end = rest.find([':', '`', ' ']).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    let Some(operator) = Operator::named(name) else {
        let names = Operator::ALL.map(Operator::name).join(", ");
        return Err(format!("`{name}` is no operator; there are {names}"));
    };
    let rest = rest.trim_start();
    let (replacement, rest) = match rest.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        Some((replacement, rest)) => (Some(replacement), rest.trim_start()),
        None => (None, rest),
    };
    let why = rest.strip_prefix(':').map(str::trim);
    let Some(why) = why.filter(|why| !why.is_empty()) else {
        return Err(format!("why the mutant is equivalent is missing; {form}"));
    };
    Ok(Declaration {
        operator,
        replacement,
        why,
    })
}

/// `word: rest`
fn after_word<'s>(text: &'s str, word: &str) -> Option<&'s str> {
    text.trim_start()
        .strip_prefix(word)?
        .trim_start()
        .strip_prefix(':')
}

/// The line of a comment that has code before it; else the next line with
/// code, so that several declarations can stand above it.
fn line_meant(text: Text<'_>, comment: &Comment<'_>, line: usize) -> usize {
    if !stands_alone(text, comment) {
        return line;
    }
    let mut below = text.source[comment.start..].lines().skip(1);
    let comments = below.by_ref().take_while(|line| {
        let line = line.trim_start();
        line.starts_with("//")
    });
    line + 1 + comments.count()
}

/// The lines below the first comment that go on with its sentence.
fn continuation<'s>(
    text: Text<'_>,
    comments: &[Comment<'s>],
    line: usize,
) -> impl Iterator<Item = &'s str> {
    let stand_below = comments
        .iter()
        .zip(line..)
        .take_while(move |(comment, line)| {
            stands_alone(text, comment) && text.position(comment.start).0 == *line
        });
    let texts = stand_below.map(|(comment, _)| comment.text).skip(1);
    texts
        .take_while(|text| after_word(text, "mutants").is_none())
        .map(str::trim)
}

/// True if there is no code before a comment on its line.
fn stands_alone(text: Text<'_>, comment: &Comment<'_>) -> bool {
    let before = &text.source[text.line_start(comment.start)..comment.start];
    before.trim().is_empty()
}

fn others(mutants: &[Mutant], line: usize) -> String {
    let on_line = mutants.iter().filter(|mutant| mutant.line == line);
    let names: Vec<String> = on_line
        .map(|mutant| {
            let replacement = mutant.replacement.trim();
            if replacement.len() < 12 {
                format!("{} `{replacement}`", mutant.operator)
            } else {
                mutant.operator.to_string()
            }
        })
        .collect();
    if names.is_empty() {
        ", nor any other".to_owned()
    } else {
        format!("; it has {}", names.join(", "))
    }
}
