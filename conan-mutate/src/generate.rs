//! From a source to its mutants.

use std::collections::HashSet;
use std::str::FromStr;

use proc_macro2::TokenStream;

use crate::comments::comments;
use crate::equivalent::{self, Problem};
use crate::mutant::Mutant;
use crate::operator::Operator;
use crate::operators;
use crate::tests_left_out;
use crate::text::Text;

/// A component, as far as mutants are concerned.
#[derive(Debug, Clone)]
pub struct Component {
    /// Its mutants, in the order of their places.
    pub mutants: Vec<Mutant>,
    /// What is wrong with its declarations of equivalent mutants.
    pub problems: Vec<Problem>,
}

/// The source is not Rust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What the parser says.
    pub message: String,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// The mutants of a component's source.
pub fn component(source: &str) -> Result<Component, SyntaxError> {
    let text = Text::new(source);
    let not_rust = |error: &syn::Error| {
        let at = text.skipped + error.span().byte_range().start;
        let (line, column) = text.position(at);
        SyntaxError {
            line,
            column,
            message: error.to_string(),
        }
    };
    let tokens = TokenStream::from_str(text.rust()).map_err(|error| not_rust(&error.into()))?;
    let mut file: syn::File = syn::parse2(tokens.clone()).map_err(|error| not_rust(&error))?;
    tests_left_out::leave_out(&mut file);

    let mut mutants = Vec::new();
    let mut results = HashSet::from([source.to_owned()]);
    for operator in Operator::ALL {
        for edit in operators::edits(operator, &file, text) {
            let (line, column) = text.position(edit.range.start);
            let mutant = Mutant {
                operator,
                line,
                column,
                range: edit.range,
                replacement: edit.replacement,
                equivalent: None,
            };
            // Two ways to the same text are one mutant.
            if results.insert(mutant.apply(source)) {
                mutants.push(mutant);
            }
        }
    }
    mutants.sort_by_key(|mutant| (mutant.range.start, mutant.operator));
    let comments = comments(text, tokens);
    let problems = equivalent::mark(text, &comments, &mut mutants);
    Ok(Component { mutants, problems })
}
