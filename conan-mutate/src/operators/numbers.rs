//! Whole numbers in a source.

use syn::{Expr, Lit, LitInt};

use super::Edit;
use crate::text::Text;

/// The literal that an expression is.
pub(crate) fn literal(expr: &Expr) -> Option<&LitInt> {
    match expr {
        Expr::Lit(expr) => match &expr.lit {
            Lit::Int(literal) => Some(literal),
            _ => None,
        },
        Expr::Paren(expr) => literal(&expr.expr),
        _ => None,
    }
}

/// The number one higher, of the same type.
pub(crate) fn one_more(literal: &LitInt, text: Text<'_>) -> Option<Edit> {
    let number: u128 = literal.base10_parse().ok()?;
    let more = number.checked_add(1)?;
    let suffix = literal.suffix();
    Some(Edit::new(text.range(literal), format!("{more}{suffix}")))
}
