//! A condition is the wrong way round.

use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprIf, ExprMethodCall, ExprWhile, File, PatGuard, Stmt, UnOp};

use super::{Edit, waits};
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
    fn visit_expr_if(&mut self, node: &'t ExprIf) {
        self.condition(&node.cond);
        visit::visit_expr_if(self, node);
    }

    fn visit_expr_while(&mut self, node: &'t ExprWhile) {
        self.condition(&node.cond);
        visit::visit_expr_while(self, node);
    }

    fn visit_pat_guard(&mut self, node: &'t PatGuard) {
        self.condition(&node.guard);
        visit::visit_pat_guard(self, node);
    }

    fn visit_expr_method_call(&mut self, call: &'t ExprMethodCall) {
        if let Some(closure) = waits::condvar(call).and_then(|wait| wait.condition) {
            match &*closure.body {
                Expr::Block(block) => {
                    if let Some(Stmt::Expr(last, None)) = block.block.stmts.last() {
                        self.condition(last);
                    }
                }
                body => self.condition(body),
            }
        }
        visit::visit_expr_method_call(self, call);
    }
}

impl Walk<'_> {
    fn condition(&mut self, condition: &Expr) {
        if !has_let(condition) {
            self.negate(condition);
        } else if let Expr::Binary(chain) = condition {
            // Of a chain with `let`, the parts that are truth values.
            self.condition(&chain.left);
            self.condition(&chain.right);
        }
    }

    fn negate(&mut self, condition: &Expr) {
        let text = self.text;
        let written = text.of(condition);
        let edit = match condition {
            Expr::Lit(_) => return,
            Expr::Binary(binary) => match opposite(&binary.op) {
                Some(opposite) => Edit::new(text.range(&binary.op), opposite),
                None => Edit::new(text.range(condition), format!("!({written})")),
            },
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                Edit::new(text.range(condition), text.of(&unary.expr))
            }
            Expr::Path(_)
            | Expr::Call(_)
            | Expr::MethodCall(_)
            | Expr::Field(_)
            | Expr::Index(_)
            | Expr::Paren(_)
            | Expr::Macro(_)
            | Expr::Unary(_) => Edit::new(text.range(condition), format!("!{written}")),
            _ => Edit::new(text.range(condition), format!("!({written})")),
        };
        self.edits.push(edit);
    }
}

fn opposite(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Eq(_) => "!=",
        BinOp::Ne(_) => "==",
        BinOp::Lt(_) => ">=",
        BinOp::Ge(_) => "<",
        BinOp::Gt(_) => "<=",
        BinOp::Le(_) => ">",
        _ => return None,
    })
}

fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}
