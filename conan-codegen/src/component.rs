//! Components: how they are made, and which thread has what of them.

use std::collections::HashSet;

use conan_lang::tree::{Cut, Sequence, ThreadBlock, TickItem};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

use crate::driver::{Context, first_span, ident};

/// Who has which component in a sequence.
pub(crate) struct Owners<'s> {
    owned: HashSet<&'s str>,
    used: HashSet<String>,
}

impl<'s> Owners<'s> {
    pub(crate) fn new(context: &Context<'_>, sequence: &'s Sequence) -> Self {
        let mut owned = HashSet::new();
        let mut used = HashSet::new();
        for (_, item) in sequence.items() {
            match item {
                TickItem::Thread(block) => {
                    let names = block.takes.iter().chain(&block.clones);
                    owned.extend(names.map(|name| name.value.as_str()));
                    words(context.fragments.tokens(block.code.span), &mut used);
                }
                TickItem::Template(template) => {
                    words(context.fragments.tokens(template.span), &mut used);
                }
                TickItem::Suspended(..) | TickItem::Finished(..) => {}
            }
        }
        Self { owned, used }
    }

    /// True for a component that every thread can use, and one does.
    pub(crate) fn is_shared(&self, component: &str) -> bool {
        !self.owned.contains(component) && self.used.contains(component)
    }

    /// True for a component that nobody uses: it need not be `Sync`.
    fn is_unused(&self, component: &str) -> bool {
        !self.owned.contains(component) && !self.used.contains(component)
    }
}

/// Every word of some tokens, those in strings too: a format string can use
/// a component.
pub(crate) fn words(tokens: TokenStream, found: &mut HashSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => words(group.stream(), found),
            TokenTree::Ident(ident) => {
                found.insert(ident.to_string());
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                found.extend(parts.map(str::to_owned));
            }
            TokenTree::Punct(_) => {}
        }
    }
}

/// Makes the components of a sequence.
pub(crate) fn construction(context: &Context<'_>, owners: &Owners<'_>) -> TokenStream {
    let cuts = &context.parsed.script.cuts;
    cuts.iter()
        .map(|cut| construct(context, cut, owners))
        .collect()
}

fn construct(context: &Context<'_>, cut: &Cut, owners: &Owners<'_>) -> TokenStream {
    let pattern = context.fragments.tokens(cut.pattern.span);
    let constructor = context.fragments.tokens(cut.constructor.span);
    // rustc blames what cannot be shared on the call: that must be there.
    let blamed = first_span(&constructor);
    let constructor = completed(constructor);
    let plan = &context.own.plan;
    if let [name] = cut.names.as_slice()
        && name.span == cut.pattern.span
    {
        if owners.is_shared(&name.value) {
            return quote_spanned!(blamed=> let #pattern = #plan.share(#constructor););
        }
        if owners.is_unused(&name.value) {
            return quote_spanned!(blamed=> #plan.keep(#constructor););
        }
    }
    let kept = cut.names.iter().map(|component| {
        let name = context.fragments.tokens(component.span);
        if owners.is_shared(&component.value) {
            quote_spanned!(first_span(&name)=> let #name = #plan.share(#name);)
        } else if owners.is_unused(&component.value) {
            quote_spanned!(first_span(&name)=> #plan.keep(#name);)
        } else {
            TokenStream::new()
        }
    });
    quote! {
        let #pattern = #constructor;
        #(#kept)*
    }
}

/// A bare type gets its `::new()`, a bare path its `()`.
fn completed(constructor: TokenStream) -> TokenStream {
    let expression = syn::parse2::<syn::Expr>(constructor.clone());
    match expression {
        Ok(syn::Expr::Path(path)) => {
            let last = path.path.segments.last();
            let is_type = last.is_some_and(|s| s.ident.to_string().starts_with(char::is_uppercase));
            if is_type {
                quote!(#constructor::new())
            } else {
                quote!(#constructor())
            }
        }
        Ok(_) => constructor,
        // `Buffer<u8>` is a type and no expression.
        Err(_) => quote!(<#constructor>::new()),
    }
}

/// The component clones of one thread, made before the sequence starts.
pub(crate) struct Clones {
    /// `let tx_of_producer = tx.clone();`
    pub(crate) made: TokenStream,
    /// What the thread's code finds them by, with the name they were made under.
    pub(crate) names: Vec<(Ident, Ident)>,
}

/// Clones components for a thread, `replicas` times if it is replicated.
pub(crate) fn clones(block: &ThreadBlock, thread: &str, replicas: Option<u64>) -> Clones {
    let mut made = TokenStream::new();
    let mut names = Vec::new();
    let suffix: String = thread
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '_' })
        .collect();
    for component in &block.clones {
        let name = ident(&component.value);
        let own = ident(&format!("{}_of_{suffix}", component.value));
        made.extend(match replicas {
            None => quote!(let #own = #name.clone();),
            Some(count) => {
                let count = proc_macro2::Literal::u64_unsuffixed(count);
                quote!(let #own: Vec<_> = (0..#count).map(|_| #name.clone()).collect();)
            }
        });
        names.push((name, own));
    }
    Clones { made, names }
}

/// The names of a sequence's shared components.
pub(crate) fn shared_names(context: &Context<'_>, owners: &Owners<'_>) -> Vec<Ident> {
    let cuts = context.parsed.script.cuts.iter();
    let names = cuts.flat_map(|cut| &cut.names);
    let shared = names.filter(|name| owners.is_shared(&name.value));
    shared.map(|name| ident(&name.value)).collect()
}
