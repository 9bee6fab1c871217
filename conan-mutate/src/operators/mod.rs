//! The operators, a file each: where in the tree their fault fits, and the
//! text that makes it.

mod early_unlock;
mod initial_value;
mod negated_guard;
mod no_wait;
mod notify;
mod numbers;
mod off_by_one;
mod plus_minus;
mod waits;
mod while_to_if;

use std::ops::Range;

use syn::File;

use crate::operator::Operator;
use crate::text::Text;

/// A range of the source, and what to write in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) replacement: String,
}

impl Edit {
    pub(crate) fn new(range: Range<usize>, replacement: impl Into<String>) -> Self {
        let replacement = replacement.into();
        Self { range, replacement }
    }
}

/// Every edit of one operator.
pub(crate) fn edits(operator: Operator, file: &File, text: Text<'_>) -> Vec<Edit> {
    match operator {
        Operator::WhileToIf => while_to_if::edits(file, text),
        Operator::NotifyOne => notify::one_for_all(file, text),
        Operator::NoNotify => notify::removed(file, text),
        Operator::NoWait => no_wait::edits(file, text),
        Operator::NegatedGuard => negated_guard::edits(file, text),
        Operator::OffByOne => off_by_one::edits(file, text),
        Operator::EarlyUnlock => early_unlock::edits(file, text),
        Operator::InitialValue => initial_value::edits(file, text),
        Operator::PlusMinus => plus_minus::edits(file, text),
    }
}
