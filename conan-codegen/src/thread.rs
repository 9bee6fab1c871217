//! Threads: all the blocks of one id are one function body.

use std::collections::{HashMap, HashSet};

use conan_lang::tree::{Sequence, ThreadBlock, TickItem};
use conan_lang::{Name, Span};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{quote, quote_spanned};

use crate::component::{Clones, clones, words};
use crate::driver::{Context, Own, first_span, ident};
use crate::statements::{literal, prepare};
use crate::template;

/// A thread of a sequence with its blocks, in order of time.
pub(crate) struct Thread<'s> {
    name: String,
    blocks: Vec<(u64, &'s ThreadBlock)>,
}

/// The threads of a sequence, in the order in which the script has them.
pub(crate) fn threads(sequence: &Sequence) -> Vec<Thread<'_>> {
    let mut threads: Vec<Thread<'_>> = Vec::new();
    let mut by_name = HashMap::new();
    let mut unnamed = 0;
    for (time, block) in sequence.thread_blocks() {
        let name = match &block.id {
            Some(id) => id.value.clone(),
            None => {
                unnamed += 1;
                format!("#{unnamed}")
            }
        };
        let index = *by_name.entry(name.clone()).or_insert(threads.len());
        if index == threads.len() {
            let blocks = Vec::new();
            threads.push(Thread { name, blocks });
        }
        threads[index].blocks.push((time, block));
    }
    threads
}

impl Thread<'_> {
    fn first(&self) -> &ThreadBlock {
        self.blocks[0].1
    }

    fn replicas(&self) -> Option<u64> {
        self.first().replicas.as_ref().map(|count| count.value)
    }

    /// The clones that must be made before anything is moved into a thread.
    pub(crate) fn clones(&self) -> Clones {
        clones(self.first(), &self.name, self.replicas())
    }

    /// Adds the thread to the plan. `shared` is what every thread can use.
    pub(crate) fn planned(
        &self,
        context: &Context<'_>,
        shared: &[Ident],
        clones: &Clones,
    ) -> TokenStream {
        let name = &self.name;
        let body = self.body(context);
        let Own { plan, conan, .. } = &context.own;
        let shared = used(shared, &body);
        let takes = self.first().takes.iter();
        let takes = takes.map(|name| {
            let name = in_script(context, name);
            // rustc blames a use after a move on this, too.
            quote_spanned!(first_span(&name)=>
                #[allow(unused_mut, unused_variables)]
                let mut #name = #name;
            )
        });
        let cloned: Vec<&Ident> = clones.names.iter().map(|(name, _)| name).collect();
        let own: Vec<&Ident> = clones.names.iter().map(|(_, own)| own).collect();
        let closure = quote! {
            move |#conan| {
                #(let #shared = &*#shared;)*
                #(#takes)*
                #(#[allow(unused_mut, unused_variables)] let mut #cloned = #cloned;)*
                #body
                Ok(())
            }
        };
        let Some(count) = self.replicas() else {
            return quote! {
                #plan.thread(#name, {
                    #(let #shared = #shared.clone();)*
                    #(let #cloned = #own;)*
                    #closure
                });
            };
        };
        let count = Literal::u64_unsuffixed(count);
        let numbered = format!("{name}.{{index}}");
        let own = own
            .iter()
            .map(|own| quote!(let mut #own = #own.into_iter();));
        let taken = clones.names.iter().map(
            |(name, own)| quote!(let #name = #own.next().expect("one clone for each replica");),
        );
        quote! {
            #(#own)*
            for index in 0..#count {
                let index: usize = index;
                #(let #shared = #shared.clone();)*
                #(#taken)*
                #plan.thread(format!(#numbered), #closure);
            }
        }
    }

    fn body(&self, context: &Context<'_>) -> TokenStream {
        let conan = &context.own.conan;
        let blocks = self.blocks.iter().map(|(time, block)| {
            let holes: Vec<Span> = block.code.templates.iter().map(|t| t.span).collect();
            let code = context
                .fragments
                .tokens_with(block.code.span, &holes, |index| {
                    template::expand(context, &block.code.templates[index])
                });
            let code = prepare(context, code);
            let place = if block.code.span.is_empty() {
                block.span
            } else {
                block.code.span
            };
            let at = arguments(context, *time, place);
            quote!(#conan.at_tick(#at); #code)
        });
        quote!(#(#blocks)*)
    }
}

/// The checks of a sequence outside any thread, if there are any.
pub(crate) fn checks(
    context: &Context<'_>,
    sequence: &Sequence,
    shared: &[Ident],
) -> Option<TokenStream> {
    let Own { plan, conan, .. } = &context.own;
    let mut body = TokenStream::new();
    let mut last = 0;
    for (time, item) in sequence.items() {
        let (span, check) = match item {
            TickItem::Thread(_) => continue,
            TickItem::Template(template) => (template.span, template::expand(context, template)),
            TickItem::Suspended(names, span) => {
                (*span, standing(context, "suspended", names, *span))
            }
            TickItem::Finished(names, span) => (*span, standing(context, "finished", names, *span)),
        };
        if time != last {
            let at = arguments(context, time, span);
            body.extend(quote!(#conan.at_rest(#at);));
            last = time;
        }
        body.extend(check);
    }
    let shared = used(shared, &body);
    (!body.is_empty()).then(|| {
        quote! {
            #plan.checks({
                #(let #shared = #shared.clone();)*
                move |#conan| {
                    #(let #shared = &*#shared;)*
                    #body
                    Ok(())
                }
            });
        }
    })
}

/// A name where the script says it, so that rustc can point there; reshaping
/// keeps plain words only.
fn in_script(context: &Context<'_>, name: &Name) -> TokenStream {
    let said = context.fragments.tokens(name.span);
    if said.is_empty() {
        let name = ident(&name.value);
        return quote!(#name);
    }
    said
}

/// Those of the shared names that the code uses.
fn used<'n>(shared: &'n [Ident], code: &TokenStream) -> Vec<&'n Ident> {
    let mut found = HashSet::new();
    words(code.clone(), &mut found);
    shared
        .iter()
        .filter(|name| found.contains(&name.to_string()))
        .collect()
}

fn standing(context: &Context<'_>, method: &str, names: &[Name], span: Span) -> TokenStream {
    let conan = &context.own.conan;
    let method = ident(method);
    let (line, column) = context.place(span.start);
    let (line, column) = (literal(line), literal(column));
    let names = names.iter().map(|name| &name.value);
    quote!(#conan.#method(#line, #column, &[#(#names),*]);)
}

/// `time, line, column`
fn arguments(context: &Context<'_>, time: u64, span: Span) -> TokenStream {
    let time = Literal::u64_unsuffixed(time);
    let (line, column) = context.place(span.start);
    let (line, column) = (literal(line), literal(column));
    quote!(#time, #line, #column)
}
