//! A component begins in another state.

use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{
    Expr, ExprCall, ExprStruct, File, FnArg, ImplItemFn, ItemFn, Lit, Macro, Pat, Signature, Token,
    Type,
};

use super::{Edit, numbers};
use crate::text::Text;

pub(super) fn edits(file: &File, text: Text<'_>) -> Vec<Edit> {
    let mut walk = Walk {
        text,
        counts: None,
        edits: Vec::new(),
    };
    walk.visit_file(file);
    walk.edits
}

struct Walk<'s> {
    text: Text<'s>,
    /// Inside a constructor, its parameters that are whole numbers.
    counts: Option<Vec<String>>,
    edits: Vec<Edit>,
}

impl<'t> Visit<'t> for Walk<'_> {
    fn visit_impl_item_fn(&mut self, node: &'t ImplItemFn) {
        let outer = std::mem::replace(&mut self.counts, counts(&node.sig));
        visit::visit_impl_item_fn(self, node);
        self.counts = outer;
    }

    fn visit_item_fn(&mut self, node: &'t ItemFn) {
        let outer = std::mem::replace(&mut self.counts, counts(&node.sig));
        visit::visit_item_fn(self, node);
        self.counts = outer;
    }

    fn visit_expr_struct(&mut self, node: &'t ExprStruct) {
        for field in &node.fields {
            if self.counts.is_none() {
                break;
            }
            match field.colon_token {
                Some(_) => self.value(&field.expr),
                // `permits` is short for `permits: permits`.
                None => {
                    let name = self.text.of(&field.expr);
                    if self.is_count(&field.expr) {
                        let more = format!("{name}: {name} + 1");
                        self.edits
                            .push(Edit::new(self.text.range(&field.expr), more));
                    }
                }
            }
        }
        visit::visit_expr_struct(self, node);
    }

    fn visit_expr_call(&mut self, call: &'t ExprCall) {
        // `Self(Mutex::new(0))`
        let is_type = last_name(&call.func).is_some_and(|name| {
            let is_result = matches!(name.as_str(), "Some" | "Ok" | "Err");
            name.starts_with(char::is_uppercase) && !is_result
        });
        if is_type && self.counts.is_some() {
            call.args.iter().for_each(|arg| self.value(arg));
        }
        visit::visit_expr_call(self, call);
    }
}

impl Walk<'_> {
    /// A field's value, or what a part of it is made from.
    fn value(&mut self, expr: &Expr) {
        let text = self.text;
        if let Some(literal) = numbers::literal(expr) {
            self.edits.extend(numbers::one_more(literal, text));
            return;
        }
        match expr {
            Expr::Lit(literal) => {
                if let Lit::Bool(literal) = &literal.lit {
                    let other = if literal.value { "false" } else { "true" };
                    self.edits.push(Edit::new(text.range(literal), other));
                }
            }
            Expr::Path(_) if self.is_count(expr) => {
                let more = format!("{} + 1", text.of(expr));
                self.edits.push(Edit::new(text.range(expr), more));
            }
            // How much room is made beforehand is nobody's business.
            Expr::Call(call) if last_name(&call.func).as_deref() != Some("with_capacity") => {
                call.args.iter().for_each(|arg| self.value(arg));
            }
            Expr::Tuple(tuple) => tuple.elems.iter().for_each(|part| self.value(part)),
            Expr::Array(array) => array.elems.iter().for_each(|part| self.value(part)),
            Expr::Repeat(repeat) => self.value(&repeat.expr),
            Expr::Paren(inner) => self.value(&inner.expr),
            Expr::Cast(inner) => self.value(&inner.expr),
            Expr::Unary(inner) => self.value(&inner.expr),
            Expr::Macro(node) => elements(&node.mac).iter().for_each(|part| self.value(part)),
            _ => {}
        }
    }

    fn is_count(&self, expr: &Expr) -> bool {
        let Expr::Path(path) = expr else { return false };
        let name = path.path.get_ident().map(ToString::to_string);
        let counts = self.counts.as_deref().unwrap_or_default();
        name.is_some_and(|name| counts.contains(&name))
    }
}

/// The parameters of a constructor that are whole numbers; a function with
/// `self` is none.
fn counts(signature: &Signature) -> Option<Vec<String>> {
    if signature.receiver().is_some() {
        return None;
    }
    let names = signature.inputs.iter().filter_map(|input| {
        let FnArg::Typed(input) = input else {
            return None;
        };
        let (Pat::Ident(name), Type::Path(of)) = (&*input.pat, &*input.ty) else {
            return None;
        };
        let of = of.path.get_ident()?.to_string();
        let digits = of.strip_prefix(['u', 'i'])?;
        let is_integer = matches!(digits, "8" | "16" | "32" | "64" | "128" | "size");
        is_integer.then(|| name.ident.to_string())
    });
    Some(names.collect())
}

fn last_name(function: &Expr) -> Option<String> {
    let Expr::Path(path) = function else {
        return None;
    };
    Some(path.path.segments.last()?.ident.to_string())
}

/// The elements of `vec![…]`.
fn elements(mac: &Macro) -> Vec<Expr> {
    if !mac.path.is_ident("vec") {
        return Vec::new();
    }
    let repeated = |input: ParseStream<'_>| {
        let element: Expr = input.parse()?;
        input.parse::<Token![;]>()?;
        input.parse::<Expr>()?;
        Ok(element)
    };
    if let Ok(element) = repeated.parse2(mac.tokens.clone()) {
        return vec![element];
    }
    let listed = Punctuated::<Expr, Token![,]>::parse_terminated;
    let listed = listed.parse2(mac.tokens.clone());
    listed
        .map(|all| all.into_iter().collect())
        .unwrap_or_default()
}
