//! A template runs its code apart from the thread's, so nothing in it can
//! `return` from the thread or `break` a loop outside.

use syn::visit::{self, Visit};

use super::Context;
use crate::diagnostic::{Code, Diagnostic};
use crate::rust::Rust;
use crate::tree::Fragment;

pub(super) fn check(
    context: &mut Context<'_>,
    word: &str,
    fragment: Fragment,
    statements: &[syn::Stmt],
) {
    let mut jumps = Jumps {
        rust: context.rust(fragment.span),
        word,
        loops: 0,
        labels: Vec::new(),
        found: Vec::new(),
    };
    for statement in statements {
        jumps.visit_stmt(statement);
    }
    context.diagnostics.append(&mut jumps.found);
}

struct Jumps<'s> {
    rust: Rust<'s>,
    word: &'s str,
    loops: usize,
    labels: Vec<String>,
    found: Vec<Diagnostic>,
}

impl Jumps<'_> {
    fn leaves(&mut self, what: &str, node: &impl syn::spanned::Spanned) {
        let word = self.word;
        self.found.push(
            Diagnostic::new(
                Code::LeavesTemplate,
                format!("`{what}` cannot leave a `{word}`"),
                self.rust.place_of(node),
            )
            .label("the template's code runs apart from the code around it")
            .help(format!("put the `{what}` behind the template's `#end`")),
        );
    }

    fn jump(&mut self, what: &str, label: Option<&syn::Lifetime>, node: &syn::Expr) {
        let inside = match label {
            Some(label) => self.labels.contains(&label.ident.to_string()),
            None => self.loops > 0,
        };
        if !inside {
            self.leaves(what, node);
        }
    }

    fn in_loop(
        &mut self,
        label: Option<&syn::Label>,
        is_loop: bool,
        visit: impl FnOnce(&mut Self),
    ) {
        let labels = self.labels.len();
        self.labels
            .extend(label.map(|label| label.name.ident.to_string()));
        self.loops += usize::from(is_loop);
        visit(self);
        self.loops -= usize::from(is_loop);
        self.labels.truncate(labels);
    }
}

impl<'ast> Visit<'ast> for Jumps<'_> {
    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        match expr {
            syn::Expr::Return(_) => self.leaves("return", expr),
            syn::Expr::Break(jump) => self.jump("break", jump.label.as_ref(), expr),
            syn::Expr::Continue(jump) => self.jump("continue", jump.label.as_ref(), expr),
            // These have a control flow of their own.
            syn::Expr::Closure(_) | syn::Expr::Async(_) => return,
            syn::Expr::Loop(e) => {
                return self.in_loop(e.label.as_ref(), true, |v| visit::visit_expr(v, expr));
            }
            syn::Expr::While(e) => {
                return self.in_loop(e.label.as_ref(), true, |v| visit::visit_expr(v, expr));
            }
            syn::Expr::ForLoop(e) => {
                return self.in_loop(e.label.as_ref(), true, |v| visit::visit_expr(v, expr));
            }
            syn::Expr::Block(e) => {
                return self.in_loop(e.label.as_ref(), false, |v| visit::visit_expr(v, expr));
            }
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}
