//! What the macros expand to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use conan_codegen::{Fragments, Origin, driver, module_name, reshape};
use conan_lang::{Parsed, Severity, render};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{LitStr, Token};

use crate::copy;
use crate::locate::{self, Script};

/// `script!("path")`
pub(crate) fn script(input: TokenStream) -> TokenStream {
    let literal = match syn::parse2::<LitStr>(input) {
        Ok(literal) => literal,
        Err(error) => {
            let message = "expected the path of a script or a folder: \
                script!(\"tests/scripts/queue.conan\")";
            return syn::Error::new(error.span(), message).to_compile_error();
        }
    };
    let script = Script::at(&literal.value());
    let result = if script.path.is_dir() {
        folder(&script)
    } else {
        module(&script)
    };
    result.unwrap_or_else(|errors| compile_errors(literal.span(), &errors))
}

/// `main!("path" as "shown", …)`
pub(crate) fn main(input: TokenStream) -> TokenStream {
    struct Item {
        path: LitStr,
        shown: LitStr,
    }
    impl Parse for Item {
        fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
            let path = input.parse()?;
            input.parse::<Token![as]>()?;
            let shown = input.parse()?;
            Ok(Self { path, shown })
        }
    }
    let parser = Punctuated::<Item, Token![,]>::parse_terminated;
    let items = match syn::parse::Parser::parse2(parser, input) {
        Ok(items) => items,
        Err(error) => return error.to_compile_error(),
    };
    let mut out = TokenStream::new();
    let mut names = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let script = Script::called(PathBuf::from(item.path.value()), item.shown.value());
        let name = Ident::new(&format!("script_{index}"), Span::call_site());
        match contents(&script) {
            Ok(contents) => out.extend(quote!(mod #name { #contents })),
            Err(errors) => out.extend(compile_errors(item.path.span(), &errors)),
        }
        names.push(name);
    }
    quote! {
        #out
        fn main() -> ::std::process::ExitCode {
            ::conan_test::driver::main(&[#(&#names::SCRIPT),*])
        }
    }
}

/// A script as a module of its own.
fn module(script: &Script) -> Result<TokenStream, Vec<String>> {
    let contents = contents(script)?;
    let stem = script.path.file_stem().unwrap_or_default();
    let name = Ident::new(&module_name(&stem.to_string_lossy()), Span::call_site());
    Ok(quote!(pub(crate) mod #name { #contents }))
}

/// Every script of a folder, and a test that sees when one is added.
fn folder(folder: &Script) -> Result<TokenStream, Vec<String>> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        vec![format!("cannot {what} {}: {error}", folder.shown)]
    };
    let files = locate::scripts_in(&folder.path).map_err(|error| failed("read", &error))?;
    if files.is_empty() {
        return Err(vec![format!(
            "there is no `.conan` script in {}",
            folder.shown
        )]);
    }
    let mut tree = Tree::default();
    let mut errors = Vec::new();
    let mut listing = String::new();
    let mut paths = Vec::new();
    for file in &files {
        listing.push_str(&format!("{}\n", file.display()));
        paths.push(module_path(file));
        match module(&folder.below(file)) {
            Ok(module) => tree.insert(file.parent().unwrap_or(Path::new("")), module),
            Err(mut more) => errors.append(&mut more),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    // The listing is a file that the compiler knows, so that the test which
    // finds a new script can make cargo build again.
    let list = folder.copy.join("scripts.list");
    copy::write(&list, &listing, &folder.path).map_err(|error| failed("copy", &error))?;
    let stem = folder.path.file_name().unwrap_or_default();
    let name = Ident::new(&module_name(&stem.to_string_lossy()), Span::call_site());
    let (shown, path) = (&folder.shown, folder.path.display().to_string());
    let list = list.display().to_string();
    Ok(quote! {
        mod #name {
            #tree

            /// Every script of the folder.
            #[allow(dead_code)]
            pub(crate) static SCRIPTS: &[&::conan_test::driver::Script] = &[#(&#paths::SCRIPT),*];

            #[test]
            fn every_script_is_included() {
                ::conan_test::driver::every_script_is_included(
                    #shown, #path, #list, include_str!(#list),
                );
            }
        }
    })
}

/// The path of a script's module below its folder's.
fn module_path(file: &Path) -> TokenStream {
    let names = file.with_extension("");
    let names = names.components().map(|part| {
        let name = module_name(&part.as_os_str().to_string_lossy());
        Ident::new(&name, Span::call_site())
    });
    quote!(#(#names)::*)
}

/// Modules in folders.
#[derive(Default)]
struct Tree {
    modules: Vec<TokenStream>,
    folders: BTreeMap<String, Tree>,
}

impl Tree {
    fn insert(&mut self, folder: &Path, module: TokenStream) {
        let mut tree = self;
        for part in folder.components() {
            let name = module_name(&part.as_os_str().to_string_lossy());
            tree = tree.folders.entry(name).or_default();
        }
        tree.modules.push(module);
    }
}

impl quote::ToTokens for Tree {
    fn to_tokens(&self, out: &mut TokenStream) {
        out.extend(self.modules.iter().cloned());
        for (name, tree) in &self.folders {
            let name = Ident::new(name, Span::call_site());
            out.extend(quote!(pub(crate) mod #name { #tree }));
        }
    }
}

/// The contents of a script's module: its copy, included.
fn contents(script: &Script) -> Result<TokenStream, Vec<String>> {
    let (path, shown) = (included(&script.path)?, &script.shown);
    let parsed = read(&script.path, shown)?;
    let file = reshape(&parsed, &format!("{path:?} {shown:?}")).file;
    let copy = &script.copy;
    copy::write(copy, &file, &script.path).map_err(|error| {
        vec![format!(
            "cannot write the copy of {shown} that the compiler reads, {}: {error}",
            copy.display()
        )]
    })?;
    let copy = included(copy)?;
    Ok(quote! {
        #[allow(unused_imports)]
        use ::conan_test::driver::fragments as c;
        include!(#copy);
        const _: &[u8] = include_bytes!(#path);
    })
}

/// A path as the compiler can include it: from a string literal.
fn included(path: &Path) -> Result<&str, Vec<String>> {
    path.to_str().ok_or_else(|| {
        vec![format!(
            "the path of the script {path:?} is not UTF-8, and the compiler cannot include it; \
             rename the file or the folder"
        )]
    })
}

/// `c!{ …the reshaped script… "path" "shown" }`
pub(crate) fn fragments(input: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = input.into_iter().collect();
    let mut string = || {
        let literal = TokenStream::from_iter(tokens.pop());
        syn::parse2::<LitStr>(literal).map(|literal| literal.value())
    };
    let (Ok(shown), Ok(path)) = (string(), string()) else {
        let message = "this macro is for the copies of scripts only";
        return quote!(compile_error!(#message););
    };
    let parsed = match read(Path::new(&path), &shown) {
        Ok(parsed) => parsed,
        Err(errors) => return compile_errors(Span::call_site(), &errors),
    };
    let included = path;
    let origin = Origin { shown, included };
    let fragments = Fragments::new(&parsed.source, tokens.into_iter().collect());
    if fragments.have_places() {
        return driver(&parsed, &fragments, &origin);
    }
    // A macro server without lines and columns: the driver without places.
    let expanded = with_fallback(|| conan_codegen::expand(&parsed, &origin));
    match expanded.map(|text| text.parse()) {
        Ok(Ok(tokens)) => tokens,
        _ => quote!(compile_error!("the driver of this script could not be generated");),
    }
}

/// Reads and checks a script. The errors are ready to be shown.
fn read(path: &Path, shown: &str) -> Result<Parsed, Vec<String>> {
    let bytes =
        fs::read(path).map_err(|error| vec![format!("cannot read the script {shown}: {error}")])?;
    let parsed = with_fallback(|| conan_lang::parse_bytes(shown, bytes));
    if !parsed.has_errors() {
        return Ok(parsed);
    }
    let errors = parsed.diagnostics.iter();
    let errors = errors.filter(|diagnostic| diagnostic.severity() == Severity::Error);
    let rendered = errors.map(|diagnostic| {
        let text = render::human(&parsed.source, diagnostic, false);
        // The compiler says `error` itself.
        text.strip_prefix("error")
            .unwrap_or(&text)
            .trim_end()
            .to_owned()
    });
    Err(rendered.collect())
}

/// Rust in a script is looked at with proc-macro2's own lexer, which knows
/// places; the driver is made of the compiler's tokens.
fn with_fallback<R>(work: impl FnOnce() -> R) -> R {
    proc_macro2::fallback::force();
    let result = work();
    proc_macro2::fallback::unforce();
    result
}

fn compile_errors(span: Span, errors: &[String]) -> TokenStream {
    let errors = errors.iter().map(|error| {
        let error = syn::Error::new(span, error);
        error.to_compile_error()
    });
    errors.collect()
}
