//! A count goes the wrong way.

use syn::visit::{self, Visit};
use syn::{BinOp, ExprBinary, ExprMethodCall, File};

use super::Edit;
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
        let other = match node.op {
            BinOp::AddAssign(_) => Some("-="),
            BinOp::SubAssign(_) => Some("+="),
            _ => None,
        };
        let edit = other.map(|other| Edit::new(self.text.range(&node.op), other));
        self.edits.extend(edit);
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_method_call(&mut self, call: &'t ExprMethodCall) {
        let other = match call.method.to_string().as_str() {
            "fetch_add" => Some("fetch_sub"),
            "fetch_sub" => Some("fetch_add"),
            _ => None,
        };
        let edit = other.map(|other| Edit::new(self.text.range(&call.method), other));
        self.edits.extend(edit);
        visit::visit_expr_method_call(self, call);
    }
}
