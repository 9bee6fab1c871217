//! Nobody waits: the wait gives its guard back at once. A loop that does
//! nothing but wait goes with its wait; without it, it would only turn round
//! and round, which any script notices.

use syn::visit::{self, Visit};
use syn::{Expr, ExprAssign, File, Stmt};

use super::Edit;
use super::waits::{self, Condvar, Wait};
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
    fn visit_stmt(&mut self, statement: &'t Stmt) {
        if let Stmt::Expr(Expr::While(node), None) = statement
            && let [Stmt::Expr(only, Some(_))] = node.body.stmts.as_slice()
            && self.only_waits(only)
        {
            self.edits.push(Edit::new(self.text.range(node), "();"));
            self.visit_expr(&node.cond);
            return;
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr_assign(&mut self, assign: &'t ExprAssign) {
        if self.hands_on_its_guard(assign) {
            self.edits.push(Edit::new(self.text.range(assign), "()"));
            return;
        }
        visit::visit_expr_assign(self, assign);
    }

    fn visit_expr(&mut self, expr: &'t Expr) {
        let inner = waits::without_unwrapping(expr);
        let Some(wait) = waits::wait(inner) else {
            visit::visit_expr(self, expr);
            return;
        };
        match wait {
            Wait::Park => self.edits.push(Edit::new(self.text.range(inner), "()")),
            Wait::Condvar(wait) => {
                let edit = self.without(expr, inner, &wait);
                self.edits.push(edit);
                self.visit_expr(&wait.call.receiver);
                wait.call.args.iter().for_each(|arg| self.visit_expr(arg));
            }
        }
    }
}

impl Walk<'_> {
    /// A wait of which nothing is left if nobody waits.
    fn only_waits(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Assign(assign) => self.hands_on_its_guard(assign),
            expr => match waits::wait(expr) {
                Some(Wait::Park) => true,
                Some(Wait::Condvar(wait)) => wait.limit.is_none() && wait.lends_its_guard(),
                None => false,
            },
        }
    }

    /// `guard = condvar.wait(guard)…`
    fn hands_on_its_guard(&self, assign: &ExprAssign) -> bool {
        match waits::wait(waits::without_unwrapping(&assign.right)) {
            Some(Wait::Condvar(wait)) => {
                let guard = self.text.of(wait.guard);
                wait.limit.is_none() && self.text.of(&assign.left) == guard
            }
            _ => false,
        }
    }

    fn without(&self, whole: &Expr, inner: &Expr, wait: &Condvar<'_>) -> Edit {
        let text = self.text;
        if let Some(limit) = wait.limit {
            // Its result says whether time ran out, and only a wait can make
            // one; so it waits, but for no time.
            let none = match wait.call.method.to_string().as_str() {
                "wait_timeout_ms" => "0",
                "wait_until" | "wait_while_until" => "::std::time::Instant::now()",
                _ => "::std::time::Duration::ZERO",
            };
            return Edit::new(text.range(limit), none);
        }
        if wait.lends_its_guard() {
            return Edit::new(text.range(inner), "()");
        }
        let guard = text.of(wait.guard);
        if std::ptr::eq(whole, inner) {
            let result = format!("::std::sync::LockResult::Ok({guard})");
            return Edit::new(text.range(inner), result);
        }
        Edit::new(text.range(whole), guard)
    }
}
