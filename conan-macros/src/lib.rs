//! The macros of `conan-test`: thin shells around `conan-lang` and
//! `conan-codegen`. Use them through `conan-test`.
//!
//! `script!` cannot make spans that point into a script: stable Rust gives
//! spans only to tokens that the compiler has read from a file itself. So it
//! lets the compiler do just that. It writes a *copy* of the script under the
//! target directory, [reshaped](conan_codegen::reshape) into a Rust token
//! stream with every fragment at its own line and column, and expands to an
//! `include!` of it. The copy is one invocation of [`fragments!`], which gets
//! the tokens with their spans and makes the driver.

mod copy;
mod expand;
mod locate;

use proc_macro::TokenStream;

/// Includes a script, or every script of a folder, as tests.
///
/// The path is relative to the package's root:
/// `conan_test::script!("tests/scripts/queue.conan");`
#[proc_macro]
pub fn script(input: TokenStream) -> TokenStream {
    expand::script(input.into()).into()
}

/// Makes a `main` that runs scripts and reports: for `cargo conan run`.
#[doc(hidden)]
#[proc_macro]
pub fn main(input: TokenStream) -> TokenStream {
    expand::main(input.into()).into()
}

/// What the copy of a script invokes: makes the driver of its fragments.
#[doc(hidden)]
#[proc_macro]
pub fn fragments(input: TokenStream) -> TokenStream {
    expand::fragments(input.into()).into()
}
