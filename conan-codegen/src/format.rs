//! Formats a driver.

use std::panic;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// The driver as people read it. What the formatter cannot take is printed as
/// it is: rustc will say what is wrong with it.
pub(crate) fn formatted(file: &syn::File, tokens: &TokenStream) -> String {
    let mut unusual = Unusual(false);
    unusual.visit_file(file);
    if unusual.0 {
        return tokens.to_string();
    }
    let formatted = panic::catch_unwind(panic::AssertUnwindSafe(|| prettyplease::unparse(file)));
    formatted.unwrap_or_else(|_| tokens.to_string())
}

/// Looks for syntax that the formatter panics at.
struct Unusual(bool);

impl<'ast> Visit<'ast> for Unusual {
    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if item.mac.path.is_ident("macro_rules") {
            self.0 |= !are_rules(item.mac.tokens.clone());
        }
        visit::visit_item_macro(self, item);
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        self.0 |= matches!(item, syn::Item::Verbatim(_));
        visit::visit_item(self, item);
    }

    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        self.0 |= matches!(expr, syn::Expr::Verbatim(_));
        visit::visit_expr(self, expr);
    }
}

/// `(matcher) => { transcriber };` again and again.
fn are_rules(tokens: TokenStream) -> bool {
    let is_group = |token: Option<TokenTree>| matches!(token, Some(TokenTree::Group(group)) if group.delimiter() != Delimiter::None);
    let is_punct = |token: Option<TokenTree>, c: char| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == c);
    let mut tokens = tokens.into_iter().peekable();
    while tokens.peek().is_some() {
        let is_rule = is_group(tokens.next())
            && is_punct(tokens.next(), '=')
            && is_punct(tokens.next(), '>')
            && is_group(tokens.next());
        if !is_rule || (tokens.peek().is_some() && !is_punct(tokens.next(), ';')) {
            return false;
        }
    }
    true
}
