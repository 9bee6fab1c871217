//! Templates: each becomes one call of the runtime, with its code in a closure.

use conan_lang::tree::{Exception, Fragment, Template, TemplateKind, Wake};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::Parser;
use syn::visit::Visit;

use crate::driver::{Context, Own, first_span};
use crate::statements::literal;

/// The statement that a template becomes.
pub(crate) fn expand(context: &Context<'_>, template: &Template) -> TokenStream {
    let (line, column) = context.place(template.span.start);
    let (line, column) = (literal(line), literal(column));
    let at = quote!(#line, #column);
    let conan = &context.own.conan;
    let tokens = |fragment: &Fragment| context.fragments.tokens(fragment.span);
    match &template.kind {
        TemplateKind::ExcMonitor { code, expected } => {
            exc_monitor(context, &at, tokens(code), expected.as_ref())
        }
        TemplateKind::ValueCheck { actual, expected } => {
            value_check(context, &at, &tokens(actual), &tokens(expected))
        }
        TemplateKind::MatchCheck { actual, pattern } => {
            let shown = shown(context, *pattern);
            let mismatch = mismatch(&tokens(actual), &tokens(pattern));
            let code = closure(&tokens(actual), &mismatch);
            quote!(#conan.match_check(#at, #shown, #code);)
        }
        TemplateKind::WakeCheck(wake) => {
            let wake = wake_times(context, wake);
            quote!(#conan.wake_check(#at, &#wake);)
        }
    }
}

fn exc_monitor(
    context: &Context<'_>,
    at: &TokenStream,
    code: TokenStream,
    expected: Option<&Exception>,
) -> TokenStream {
    let Ok(mut statements) = syn::Block::parse_within.parse2(code.clone()) else {
        return code;
    };
    let bound = if expected.is_none() {
        bindings(&statements)
    } else {
        Vec::new()
    };
    let last = statements.pop();
    let value = Last::of(last.as_ref());
    let begin = quote!(#(#statements)*);
    let Own {
        conan, exception, ..
    } = &context.own;
    match expected {
        None if bound.is_empty() => {
            let body = value.observed(&begin);
            let code = closure(&code, &body);
            quote!(#conan.exc_monitor(#at, #code);)
        }
        None => {
            let names = bound.iter().map(|binding| &binding.name);
            let names = tuple(names.map(ToTokens::to_token_stream));
            let patterns = tuple(bound.iter().map(Binding::pattern));
            let end = value.kept_and_observed(exception);
            let body = quote!({ #begin #end Ok((#exception, #names)) });
            let code = closure(&code, &body);
            quote! {
                let Some(#patterns) = #conan.exc_monitor_let(#at, #code) else {
                    return driver::ended();
                };
            }
        }
        Some(Exception::Panic { part }) => {
            let part = match part {
                Some(part) => {
                    let part = context.fragments.tokens(part.span);
                    quote!(Some(#part))
                }
                None => quote!(None),
            };
            let body = value.observed(&begin);
            let code = closure(&code, &body);
            quote!(#conan.exc_monitor_panic(#at, #part, #code);)
        }
        Some(Exception::Pattern(pattern)) => {
            let shown = shown(context, *pattern);
            let pattern = context.fragments.tokens(pattern.span);
            let body = in_block(&begin, &mismatch(&value.expression(), &pattern));
            let code = closure(&code, &body);
            quote!(#conan.exc_monitor_match(#at, #shown, #code);)
        }
    }
}

/// The code of a template in a closure. rustc blames a borrow that cannot be
/// on the closure: it must be where the code is.
fn closure(code: &TokenStream, body: &TokenStream) -> TokenStream {
    let blamed = first_span(code);
    quote_spanned!(blamed=> || #body)
}

/// Statements before an expression make a block of it.
fn in_block(begin: &TokenStream, value: &TokenStream) -> TokenStream {
    if begin.is_empty() {
        quote!(#value)
    } else {
        quote!({ #begin #value })
    }
}

/// The last statement of an `#excMonitor`: what its code evaluates to.
enum Last<'s> {
    /// An expression, its semicolon or not.
    Value(TokenStream),
    /// `let g = value;`
    Let(&'s syn::Local),
    /// Something without a value, or nothing.
    Other(TokenStream),
}

impl<'s> Last<'s> {
    fn of(statement: Option<&'s syn::Stmt>) -> Self {
        match statement {
            Some(syn::Stmt::Expr(expr, _)) => Self::Value(expr.to_token_stream()),
            Some(syn::Stmt::Macro(call)) => {
                let invocation = &call.mac;
                Self::Value(quote!(#invocation))
            }
            Some(syn::Stmt::Local(local)) => Self::Let(local),
            other => Self::Other(quote!(#other)),
        }
    }

    /// The code as an expression: the exception that it comes to.
    fn observed(&self, begin: &TokenStream) -> TokenStream {
        match self {
            Self::Other(statement) => quote!({ #begin #statement Ok(None) }),
            _ => {
                let value = self.expression();
                in_block(begin, &quote!(driver::outcome!(#value)))
            }
        }
    }

    /// The last statement, and `exception` bound to what it comes to.
    fn kept_and_observed(&self, exception: &Ident) -> TokenStream {
        match self {
            Self::Value(value) => quote!(let #exception = driver::exception!(#value);),
            Self::Let(local) => {
                let statement = without_mut(local);
                let looked = binding_name(&local.pat)
                    .map_or_else(|| quote!(None), |name| quote!(driver::exception!(#name)));
                quote!(#statement let #exception = #looked;)
            }
            Self::Other(statement) => quote!(#statement let #exception = None;),
        }
    }

    fn expression(&self) -> TokenStream {
        match self {
            Self::Value(value) => value.clone(),
            Self::Let(local) => match &local.init {
                Some(init) => match &local.pat {
                    // Nothing is bound, but the type may still be wrong.
                    syn::Pat::Type(typed) => {
                        let (ty, value) = (&typed.ty, &init.expr);
                        quote!({ let value: #ty = #value; value })
                    }
                    _ => init.expr.to_token_stream(),
                },
                None => quote!(()),
            },
            Self::Other(statement) => quote!({ #statement }),
        }
    }
}

/// The last `let` of a template as it is inside: nothing there changes what
/// it binds, only the code after the template may.
fn without_mut(local: &syn::Local) -> syn::Local {
    let mut local = local.clone();
    let mut pattern = &mut local.pat;
    while let syn::Pat::Type(typed) = pattern {
        pattern = &mut typed.pat;
    }
    if let syn::Pat::Ident(ident) = pattern {
        ident.mutability = None;
    }
    local
}

fn binding_name(pattern: &syn::Pat) -> Option<&Ident> {
    match pattern {
        syn::Pat::Ident(pattern) if pattern.subpat.is_none() => Some(&pattern.ident),
        syn::Pat::Type(pattern) => binding_name(&pattern.pat),
        _ => None,
    }
}

/// A name that a template's `let` binds for the code after it.
struct Binding {
    name: Ident,
    mutable: bool,
}

impl Binding {
    fn pattern(&self) -> TokenStream {
        let name = &self.name;
        if self.mutable {
            quote!(mut #name)
        } else {
            quote!(#name)
        }
    }
}

/// What the top-level `let`s bind, each name once.
fn bindings(statements: &[syn::Stmt]) -> Vec<Binding> {
    struct Binder(Vec<Binding>);
    impl<'ast> Visit<'ast> for Binder {
        fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
            let name = pattern.ident.clone();
            // An upper-case name in a pattern is a constant or a variant.
            if name.to_string().starts_with(char::is_uppercase) {
                return;
            }
            self.0.retain(|binding| binding.name != name);
            self.0.push(Binding {
                name,
                mutable: pattern.mutability.is_some(),
            });
            syn::visit::visit_pat_ident(self, pattern);
        }
    }
    let mut binder = Binder(Vec::new());
    for statement in statements {
        if let syn::Stmt::Local(local) = statement {
            binder.visit_pat(&local.pat);
        }
    }
    binder.0
}

/// One thing as it is, several in parentheses.
fn tuple(parts: impl Iterator<Item = TokenStream>) -> TokenStream {
    let parts: Vec<TokenStream> = parts.collect();
    match parts.as_slice() {
        [one] => quote!(#one),
        _ => quote!((#(#parts),*)),
    }
}

fn value_check(
    context: &Context<'_>,
    at: &TokenStream,
    actual: &TokenStream,
    expected: &TokenStream,
) -> TokenStream {
    let conan = &context.own.conan;
    // rustc blames a comparison that cannot be on the macro's invocation:
    // that must be in the script.
    let blamed = first_span(expected);
    let compare = quote_spanned!(blamed=> driver::compare!(#actual, #expected));
    let code = closure(actual, &compare);
    quote!(#conan.value_check(#at, #code);)
}

/// Says what came instead if the value does not match.
fn mismatch(value: &TokenStream, pattern: &TokenStream) -> TokenStream {
    let blamed = first_span(pattern);
    quote_spanned!(blamed=> driver::mismatch!(#value, #pattern))
}

fn wake_times(context: &Context<'_>, wake: &Wake) -> TokenStream {
    let tokens = |fragment: &Fragment| context.fragments.tokens(fragment.span);
    match wake {
        Wake::At(time) => {
            let time = tokens(time);
            quote_spanned!(first_span(&time)=> driver::Wake::At(#time))
        }
        Wake::Within(range) => range_of(&tokens(range)),
        Wake::OneOf(times) => {
            let times = times.iter().map(tokens);
            quote!(driver::Wake::OneOf(&[#(#times),*]))
        }
        Wake::Take(list) => {
            let list = &list.value;
            quote!(driver::Wake::Take(#list))
        }
    }
}

fn range_of(range: &TokenStream) -> TokenStream {
    let blamed = first_span(range);
    let Ok(syn::Expr::Range(parsed)) = syn::parse2::<syn::Expr>(range.clone()) else {
        return quote_spanned!(blamed=> driver::Wake::At(#range));
    };
    match (&parsed.start, &parsed.end, &parsed.limits) {
        (Some(start), None, _) => quote_spanned!(blamed=> driver::Wake::From(#start)),
        (None, None, _) => quote_spanned!(blamed=> driver::Wake::From(0)),
        (Some(_), Some(_), syn::RangeLimits::HalfOpen(_)) => {
            quote_spanned!(blamed=> driver::Wake::Within(#range))
        }
        (Some(_), Some(_), syn::RangeLimits::Closed(_)) => {
            quote_spanned!(blamed=> driver::Wake::WithinInclusive(#range))
        }
        (None, Some(end), syn::RangeLimits::HalfOpen(_)) => {
            quote_spanned!(blamed=> driver::Wake::Within(0..#end))
        }
        (None, Some(end), syn::RangeLimits::Closed(_)) => {
            quote_spanned!(blamed=> driver::Wake::WithinInclusive(0..=#end))
        }
    }
}

/// The text of a fragment on one line, for messages.
fn shown(context: &Context<'_>, fragment: Fragment) -> String {
    let text = context.parsed.source.slice(fragment.span);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
