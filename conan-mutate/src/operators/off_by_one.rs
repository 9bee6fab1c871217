//! A bound is wrong by one.

use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, File};

use super::{Edit, numbers};
use crate::text::Text;

pub(super) fn edits(file: &File, text: Text<'_>) -> Vec<Edit> {
    let mut walk = Walk {
        text,
        edits: Vec::new(),
    };
    walk.visit_file(file);
    walk.edits
}

struct Walk<'s> {
    text: Text<'s>,
    edits: Vec<Edit>,
}

impl<'t> Visit<'t> for Walk<'_> {
    fn visit_expr_binary(&mut self, node: &'t ExprBinary) {
        if let Some(other) = other_bound(&node.op) {
            self.edits.push(Edit::new(self.text.range(&node.op), other));
        }
        if is_comparison(&node.op) {
            // `n < 2` and `n <= 1` are one mutant of `n < 1`.
            let (left, right) = same_as_one_more(&node.op);
            if !(left && numbers::literal(&node.left).is_some()) {
                self.numbers_in(&node.left);
            }
            if !(right && numbers::literal(&node.right).is_some()) {
                self.numbers_in(&node.right);
            }
        }
        visit::visit_expr_binary(self, node);
    }
}

impl Walk<'_> {
    /// The numbers that a side of a comparison is calculated from.
    fn numbers_in(&mut self, expr: &Expr) {
        if let Some(literal) = numbers::literal(expr) {
            self.edits.extend(numbers::one_more(literal, self.text));
            return;
        }
        match expr {
            Expr::Binary(binary) if !is_comparison(&binary.op) => {
                self.numbers_in(&binary.left);
                self.numbers_in(&binary.right);
            }
            Expr::Paren(inner) => self.numbers_in(&inner.expr),
            Expr::Unary(inner) => self.numbers_in(&inner.expr),
            Expr::Cast(inner) => self.numbers_in(&inner.expr),
            Expr::Reference(inner) => self.numbers_in(&inner.expr),
            _ => {}
        }
    }
}

fn other_bound(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Lt(_) => "<=",
        BinOp::Le(_) => "<",
        BinOp::Gt(_) => ">=",
        BinOp::Ge(_) => ">",
        _ => return None,
    })
}

fn is_comparison(op: &BinOp) -> bool {
    other_bound(op).is_some() || matches!(op, BinOp::Eq(_) | BinOp::Ne(_))
}

/// Whether the other bound says the same as one more on the left, or on the
/// right.
fn same_as_one_more(op: &BinOp) -> (bool, bool) {
    let left = matches!(op, BinOp::Gt(_) | BinOp::Le(_));
    let right = matches!(op, BinOp::Lt(_) | BinOp::Ge(_));
    (left, right)
}
