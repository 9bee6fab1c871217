//! The driver's module: what a script becomes.

use conan_lang::Parsed;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};

use crate::fragments::Fragments;
use crate::sequence;
use crate::shared;

/// Where the script comes from, as the driver says it.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The path that messages show.
    pub shown: String,
    /// The path that `include_str!` takes the text from.
    pub included: String,
}

/// What every part of the generator looks at.
pub(crate) struct Context<'s> {
    pub(crate) parsed: &'s Parsed,
    pub(crate) fragments: &'s Fragments,
    /// Variables of the driver's own, which no fragment can see or hide.
    pub(crate) own: Own,
}

/// Hygienic names.
pub(crate) struct Own {
    pub(crate) plan: Ident,
    pub(crate) conan: Ident,
    pub(crate) exception: Ident,
}

/// Generates the items of the driver's module.
pub fn driver(parsed: &Parsed, fragments: &Fragments, origin: &Origin) -> TokenStream {
    // What the checks have parsed is parsed again here.
    conan_lang::on_large_stack(|| items(parsed, fragments, origin))
}

fn items(parsed: &Parsed, fragments: &Fragments, origin: &Origin) -> TokenStream {
    let own = |name| Ident::new(name, Span::mixed_site());
    let context = &Context {
        parsed,
        fragments,
        own: Own {
            plan: own("plan"),
            conan: own("conan"),
            exception: own("exception"),
        },
    };
    let script = &parsed.script;
    let Origin { shown, included } = origin;
    let ticktime = Literal::u64_unsuffixed(script.ticktime_ms());
    let tops = script
        .tops
        .iter()
        .map(|top| fragments.tokens(top.items.span));
    let shared = shared::items(context);
    let sequences: Vec<_> = (0..script.sequences.len())
        .map(|index| sequence::Generated::new(context, index))
        .collect();
    let descriptions = sequences.iter().map(|sequence| &sequence.description);
    let tests = sequences.iter().map(|sequence| &sequence.test);
    let builders = sequences.iter().map(|sequence| &sequence.builder);
    let doc = format!(" The script `{shown}`.");
    quote! {
        #[allow(unused_imports)]
        use ::conan_test::driver::{self, prelude::*};
        #(#tops)*

        #[doc = #doc]
        #[allow(dead_code)]
        pub static SCRIPT: driver::Script = driver::Script {
            path: #shown,
            file: file!(),
            source: include_str!(#included),
            ticktime: #ticktime,
            sequences: &[#(#descriptions),*],
        };

        #shared
        #(#tests)*

        /// What each sequence does, anew for every run.
        #[allow(dead_code)]
        struct Plans;

        #[allow(dead_code, unreachable_code)]
        impl Plans {
            #(#builders)*
        }
    }
}

impl Context<'_> {
    /// Line and column of a byte, for messages at run time.
    pub(crate) fn place(&self, offset: u32) -> (u32, u32) {
        let position = self.parsed.source.position(offset);
        (position.line as u32, position.column as u32)
    }

    pub(crate) fn sequence_name(&self, index: usize) -> String {
        sequence_name(self.parsed, index)
    }
}

/// The name of a sequence's test: its own, or `sequence_1`.
///
/// # Panics
///
/// If the script has no sequence of this index.
pub fn sequence_name(parsed: &Parsed, index: usize) -> String {
    match &parsed.script.sequences[index].name {
        Some(name) => name.value.clone(),
        None => format!("sequence_{}", index + 1),
    }
}

/// The name of a script's module, from its file name.
pub fn module_name(stem: &str) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || c == '_' {
            c
        } else {
            '_'
        }
    };
    let mut name: String = stem.chars().map(plain).collect();
    if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    if syn::parse_str::<Ident>(&name).is_err() {
        name.push('_');
    }
    name
}

/// An identifier of the driver's own.
pub(crate) fn ident(name: &str) -> Ident {
    format_ident!("{name}", span = Span::call_site())
}

/// The place of the first token, for what rustc is to blame on it.
pub(crate) fn first_span(tokens: &TokenStream) -> Span {
    let first = tokens.clone().into_iter().next();
    first.map_or_else(Span::call_site, |token| {
        token.span().resolved_at(Span::call_site())
    })
}
