//! Components: how they are made, and which thread has what of them.

use conan_lang::tree::{Cut, Sequence, ThreadBlock};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::driver::{Context, ident};

/// Who has which component in a sequence.
#[derive(Default)]
pub(crate) struct Owners<'s> {
    taken: Vec<&'s str>,
    cloned: Vec<&'s str>,
}

impl<'s> Owners<'s> {
    pub(crate) fn new(sequence: &'s Sequence) -> Self {
        let mut owners = Self::default();
        for (_, block) in sequence.thread_blocks() {
            owners.taken.extend(block.takes.iter().map(|name| name.value.as_str()));
            owners.cloned.extend(block.clones.iter().map(|name| name.value.as_str()));
        }
        owners
    }

    /// True for a component that every thread can use.
    pub(crate) fn is_shared(&self, component: &str) -> bool {
        !self.taken.contains(&component) && !self.cloned.contains(&component)
    }
}

/// Makes the components of a sequence.
pub(crate) fn construction(context: &Context<'_>, owners: &Owners<'_>) -> TokenStream {
    let cuts = &context.parsed.script.cuts;
    cuts.iter().map(|cut| construct(context, cut, owners)).collect()
}

fn construct(context: &Context<'_>, cut: &Cut, owners: &Owners<'_>) -> TokenStream {
    let pattern = context.fragments.tokens(cut.pattern.span);
    let constructor = completed(context.fragments.tokens(cut.constructor.span));
    let shared = |name: &&conan_lang::Name| owners.is_shared(&name.value);
    if let [name] = cut.names.as_slice()
        && name.span == cut.pattern.span
        && shared(&name)
    {
        return quote!(let #pattern = plan.share(#constructor););
    }
    let shares = cut.names.iter().filter(shared).map(|name| {
        let name = context.fragments.tokens(name.span);
        quote!(let #name = plan.share(#name);)
    });
    quote! {
        let #pattern = #constructor;
        #(#shares)*
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
    let suffix: String = thread.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
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
