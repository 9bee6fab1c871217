//! The component's own tests are no part of it.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, Block, File, ItemImpl, ItemMod, ItemTrait, Meta, Token};

/// Takes out of the tree what is compiled for tests only.
pub(crate) fn leave_out(file: &mut File) {
    if are_for_tests(&file.attrs) {
        file.items.clear();
    }
    file.items.retain(is_kept);
    LeaveOut.visit_file_mut(file);
}

struct LeaveOut;

impl VisitMut for LeaveOut {
    fn visit_item_mod_mut(&mut self, module: &mut ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(is_kept);
        }
        visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, block: &mut ItemImpl) {
        block.items.retain(is_kept);
        visit_mut::visit_item_impl_mut(self, block);
    }

    fn visit_item_trait_mut(&mut self, item: &mut ItemTrait) {
        item.items.retain(is_kept);
        visit_mut::visit_item_trait_mut(self, item);
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        block.stmts.retain(is_kept);
        visit_mut::visit_block_mut(self, block);
    }
}

fn is_kept(node: &impl ToTokens) -> bool {
    let attributes = |input: ParseStream<'_>| {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<TokenStream>()?;
        Ok(attributes)
    };
    let attributes = attributes.parse2(node.to_token_stream());
    !are_for_tests(&attributes.unwrap_or_default())
}

fn are_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        if path.is_ident("cfg") {
            attribute
                .parse_args::<Meta>()
                .is_ok_and(|meta| needs_test(&meta))
        } else {
            path.is_ident("test") || path.is_ident("bench")
        }
    })
}

/// True if the configuration holds in tests only.
fn needs_test(meta: &Meta) -> bool {
    let Meta::List(list) = meta else {
        return meta.path().is_ident("test");
    };
    let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
    let parts = list.parse_args_with(parser).unwrap_or_default();
    if list.path.is_ident("all") {
        parts.iter().any(needs_test)
    } else if list.path.is_ident("any") {
        !parts.is_empty() && parts.iter().all(needs_test)
    } else {
        false
    }
}
