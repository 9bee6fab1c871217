//! Shared blocks: a struct and its methods. A sequence's block inherits the
//! global one by being merged with it, so that a method which overrides
//! another does so wherever it is called.

use conan_lang::tree::{Member, MemberKind, Shared};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::driver::{Context, ident};

/// The structs of all shared blocks.
pub(crate) fn items(context: &Context<'_>) -> TokenStream {
    let script = &context.parsed.script;
    let global = script.shared.as_ref();
    let mut out = TokenStream::new();
    if global.is_some() && script.sequences.iter().any(|s| s.shared.is_none()) {
        out.extend(definition(
            context,
            &ident("SharedObject"),
            &merged(global, None),
        ));
    }
    for (index, sequence) in script.sequences.iter().enumerate() {
        if let Some(local) = &sequence.shared {
            let members = merged(global, Some(local));
            out.extend(definition(context, &type_name(context, index), &members));
        }
    }
    out
}

/// The struct that a sequence's shared object is of.
fn type_name(context: &Context<'_>, sequence: usize) -> Ident {
    match context.parsed.script.sequences[sequence].shared {
        Some(_) => ident(&format!("SharedObject{}", sequence + 1)),
        None => ident("SharedObject"),
    }
}

/// All members: the inherited ones first, without those that are overridden.
fn merged<'s>(global: Option<&'s Shared>, local: Option<&'s Shared>) -> Vec<&'s Member> {
    let own = local.map_or(&[][..], |block| &block.members);
    let inherited = global.map_or(&[][..], |block| &block.members);
    let overridden = |member: &&Member| own.iter().any(|new| new.name.value == member.name.value);
    let kept = inherited.iter().filter(|member| !overridden(member));
    kept.chain(own).collect()
}

fn definition(context: &Context<'_>, name: &Ident, members: &[&Member]) -> TokenStream {
    let fields = members.iter().filter_map(|member| match &member.kind {
        MemberKind::Field { attributes, ty, .. } => {
            let attributes = context.fragments.tokens(attributes.span);
            let field = context.fragments.tokens(member.name.span);
            let ty = context.fragments.tokens(ty.span);
            Some(quote!(#attributes #field: #ty))
        }
        MemberKind::Method => None,
    });
    let methods = members.iter().filter_map(|member| match member.kind {
        MemberKind::Method => Some(context.fragments.tokens(member.span)),
        MemberKind::Field { .. } => None,
    });
    quote! {
        #[allow(dead_code)]
        struct #name {
            #(#fields),*
        }
        #[allow(dead_code)]
        impl #name {
            #(#methods)*
        }
    }
}

/// A sequence's shared object.
pub(crate) struct Object {
    /// The names that fragments reach it by.
    pub(crate) names: Vec<Ident>,
    /// Makes it and calls its `setup`.
    pub(crate) construction: TokenStream,
}

/// How a sequence makes its shared object, if it has one.
pub(crate) fn object(context: &Context<'_>, sequence: usize) -> Option<Object> {
    let script = &context.parsed.script;
    let global = script.shared.as_ref();
    let local = script.sequences[sequence].shared.as_ref();
    let own = local.or(global)?;
    let members = merged(global, local);
    let inits = members.iter().filter_map(|member| match &member.kind {
        MemberKind::Field { init, .. } => {
            let field = context.fragments.tokens(member.name.span);
            let init = context.fragments.tokens(init.span);
            Some(quote!(#field: #init))
        }
        MemberKind::Method => None,
    });
    let mut ids = vec![&own.id.value];
    if let (Some(global), Some(_)) = (global, local)
        && global.id.value != own.id.value
    {
        ids.push(&global.id.value);
    }
    let names: Vec<Ident> = ids.iter().map(|id| ident(id)).collect();
    let plan = &context.own.plan;
    let ty = type_name(context, sequence);
    let name = &names[0];
    let has = |hook: &str| {
        members
            .iter()
            .any(|m| m.name.value == hook && m.kind == MemberKind::Method)
    };
    let (binding, setup) = if has("setup") {
        (quote!(let mut #name), quote!(#name.setup();))
    } else {
        (quote!(let #name), quote!())
    };
    let teardown = has("teardown").then(|| {
        quote! {
            #plan.teardown({
                let #name = #name.clone();
                move || {
                    #name.teardown();
                }
            });
        }
    });
    let other = names
        .get(1)
        .map(|other| quote!(let #other = #name.clone();));
    let construction = quote! {
        #[allow(unused_mut)]
        #binding = #ty { #(#inits),* };
        #setup
        let #name = #plan.share(#name);
        #other
        #teardown
    };
    Some(Object {
        names,
        construction,
    })
}
