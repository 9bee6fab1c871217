//! Generates the Rust test driver of a checked script.
//!
//! The same generator serves two masters. For `cargo conan expand` it makes a
//! formatted file. For the `script!` macro it makes tokens whose fragments
//! keep the places that the compiler gave them, so that rustc's errors point
//! into the script. Both go the same way: the script is [reshaped](reshape)
//! into a text that is a Rust token stream with every fragment at its own line
//! and column, somebody lexes that text, and the [`Fragments`] of the lexed
//! stream are put into the driver.
//!
//! Nothing here reads or writes a file.

mod component;
mod driver;
mod format;
mod fragments;
mod reshape;
mod sequence;
mod shared;
mod statements;
mod template;
mod thread;

use std::str::FromStr;

use conan_lang::Parsed;
use proc_macro2::TokenStream;

pub use driver::{Origin, driver, module_name, sequence_name};
pub use fragments::Fragments;
pub use reshape::reshape;

/// The driver as a formatted Rust file.
pub fn expand(parsed: &Parsed, origin: &Origin) -> Result<String, String> {
    conan_lang::on_large_stack(|| expanded(parsed, origin))
}

fn expanded(parsed: &Parsed, origin: &Origin) -> Result<String, String> {
    let text = reshape(parsed, "");
    let lexed = TokenStream::from_str(&text.body).map_err(|error| error.to_string())?;
    let fragments = Fragments::new(&parsed.source, lexed);
    let tokens = driver(parsed, &fragments, origin);
    let file: syn::File = syn::parse2(tokens.clone()).map_err(|error| error.to_string())?;
    Ok(format::formatted(&file, &tokens))
}
