//! Sequences: each becomes a `#[test]`, a description and a function that
//! plans its components and threads.

use conan_lang::tree::Reached;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::component::{self, Owners};
use crate::driver::{Context, ident};
use crate::shared;
use crate::statements::literal;
use crate::thread::{checks, threads};

/// What a sequence becomes.
pub(crate) struct Generated {
    pub(crate) description: TokenStream,
    pub(crate) test: TokenStream,
    pub(crate) builder: TokenStream,
}

impl Generated {
    pub(crate) fn new(context: &Context<'_>, index: usize) -> Self {
        let sequence = &context.parsed.script.sequences[index];
        let name = context.sequence_name(index);
        let test_name = ident(&name);
        let number = Literal::usize_unsuffixed(index);
        let (line, _) = context.place(sequence.begin.start);
        let line = literal(line);
        let conditions: Vec<&str> = sequence
            .test
            .iter()
            .map(|name| name.value.as_str())
            .collect();
        let ticks = Literal::u64_unsuffixed(sequence.ticks.len() as u64);
        let stays = sequence.stays.iter().map(|stays| {
            let (line, column) = context.place(stays.span.start);
            let (line, column) = (literal(line), literal(column));
            let thread = &stays.value;
            quote!(driver::Stays { thread: #thread, line: #line, column: #column })
        });
        let wake_times = sequence.wake_times.iter().map(|list| {
            let (line, column) = context.place(list.span.start);
            let (line, column) = (literal(line), literal(column));
            let name = &list.name.value;
            let times = list
                .times
                .iter()
                .map(|time| Literal::u64_unsuffixed(time.value));
            quote! {
                driver::WakeTimes {
                    name: #name, line: #line, column: #column, times: &[#(#times),*]
                }
            }
        });
        let explore = match &sequence.explore {
            Some(explore) => {
                let words = &explore.value;
                quote!(Some(#words))
            }
            None => quote!(None),
        };
        let hot_spots = sequence.hot_spots.iter().map(|spot| {
            let (line, column) = context.place(spot.name.span.start);
            let (line, column) = (literal(line), literal(column));
            let name = &spot.name.value;
            let reached = match spot.reached {
                Reached::Always => quote!(Always),
                Reached::Never => quote!(Never),
                Reached::Sometimes => quote!(Sometimes),
            };
            quote! {
                driver::HotSpot {
                    name: #name, reached: driver::Reached::#reached, line: #line, column: #column
                }
            }
        });
        let description = quote! {
            driver::Sequence {
                name: #name,
                line: #line,
                conditions: &[#(#conditions),*],
                ticks: #ticks,
                stays: &[#(#stays),*],
                wake_times: &[#(#wake_times),*],
                explore: #explore,
                hot_spots: &[#(#hot_spots),*],
                build: Plans::#test_name,
            }
        };
        let doc = (!conditions.is_empty()).then(|| {
            let text = format!(" Exercises {}.", conditions.join(" "));
            quote!(#[doc = #text])
        });
        let test = quote! {
            #doc
            #[test]
            fn #test_name() {
                driver::test(&SCRIPT, #number);
            }
        };
        let body = plan(context, index);
        let plan = &context.own.plan;
        let builder = quote! {
            fn #test_name(#plan: &mut driver::Plan) {
                #body
            }
        };
        Self {
            description,
            test,
            builder,
        }
    }
}

fn plan(context: &Context<'_>, index: usize) -> TokenStream {
    let sequence = &context.parsed.script.sequences[index];
    let owners = Owners::new(context, sequence);
    let components = component::construction(context, &owners);
    let mut shared = component::shared_names(context, &owners);
    let object = shared::object(context, index);
    let construction = object.as_ref().map(|object| &object.construction);
    shared.extend(
        object
            .iter()
            .flat_map(|object| object.names.iter().cloned()),
    );
    let threads = threads(sequence);
    let clones: Vec<_> = threads.iter().map(crate::thread::Thread::clones).collect();
    let made = clones.iter().map(|clones| &clones.made);
    let planned = threads
        .iter()
        .zip(&clones)
        .map(|(thread, clones)| thread.planned(context, &shared, clones));
    let checks = checks(context, sequence, &shared);
    quote! {
        #components
        #construction
        #(#made)*
        #(#planned)*
        #checks
    }
}
