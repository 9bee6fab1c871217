//! The plain Rust of a thread: `return` ends the thread, and every statement
//! says where it is, should the thread stay there.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};

use crate::driver::Context;

/// Prepares the code of one block. Templates in it are expanded already.
pub(crate) fn prepare(context: &Context<'_>, code: TokenStream) -> TokenStream {
    // The check has parsed this before; what syn cannot parse now, rustc
    // will complain about at its place.
    let Ok(mut statements) = syn::Block::parse_within.parse2(code.clone()) else {
        return code;
    };
    let mut out = TokenStream::new();
    for (index, statement) in statements.iter_mut().enumerate() {
        Returns.visit_stmt_mut(statement);
        if index > 0 && is_plain(statement) {
            let at = statement.span().start();
            if at.line > 0 && at.line <= context.parsed.source.line_count() {
                let (line, column) = (at.line as u32, at.column as u32 + 1);
                let (line, column) = (literal(line), literal(column));
                let conan = &context.own.conan;
                out.extend(quote!(#conan.step(#line, #column);));
            }
        }
        statement.to_tokens(&mut out);
        if let syn::Stmt::Expr(_, None) = statement {
            out.extend(quote!(;));
        }
    }
    out
}

/// An integer as people write it.
pub(crate) fn literal(number: u32) -> proc_macro2::Literal {
    proc_macro2::Literal::u32_unsuffixed(number)
}

/// True for statements that run and are not a template.
fn is_plain(statement: &syn::Stmt) -> bool {
    match statement {
        syn::Stmt::Local(local) => match &local.init {
            Some(init) => !is_template(&init.expr),
            None => false,
        },
        syn::Stmt::Expr(expr, _) => !is_template(expr),
        syn::Stmt::Macro(_) => true,
        syn::Stmt::Item(_) => false,
    }
}

fn is_template(expr: &syn::Expr) -> bool {
    let syn::Expr::MethodCall(call) = expr else {
        return false;
    };
    matches!(&*call.receiver, syn::Expr::Path(path) if path.path.is_ident("conan"))
}

/// Makes `return` end the thread.
struct Returns;

impl VisitMut for Returns {
    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        match expr {
            // These have a `return` of their own.
            syn::Expr::Closure(_) | syn::Expr::Async(_) => return,
            syn::Expr::Return(ret) if ret.expr.is_none() => {
                ret.expr = Some(Box::new(syn::parse_quote!(driver::ended())));
            }
            _ => {}
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}
