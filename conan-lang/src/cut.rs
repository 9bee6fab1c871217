//! `#cut pattern constructor`

use syn::parse::ParseStream;

use crate::diagnostic::{Code, Diagnostic};
use crate::keywords::is_keyword;
use crate::mask::Mask;
use crate::rust::Rust;
use crate::source::Source;
use crate::span::{Name, Span, Spanned};
use crate::tree::{Cut, Fragment};
use crate::words::trim;

/// Takes the argument of `#cut` apart.
pub(crate) fn parse(
    source: &Source,
    mask: &Mask,
    directive: Span,
    argument: Span,
) -> Result<Cut, Diagnostic> {
    let pattern = pattern_span(source, mask, argument)?;
    let rest = Span::new(pattern.end as usize, argument.end as usize);
    let constructor = trim(mask, rest);
    if constructor.is_empty() {
        return Err(
            Diagnostic::new(Code::BadHead, "this component has no constructor", pattern)
                .label("expected a name and a constructor")
                .help("as in `#cut m Component::new()`"),
        );
    }
    if mask.text[constructor.range()].starts_with('=') {
        let sign = Span::new(constructor.start as usize, constructor.start as usize + 1);
        return Err(
            Diagnostic::new(Code::BadHead, "there is no `=` in a `#cut`", sign)
                .label("expected the constructor")
                .help("as in `#cut m Component::new()`"),
        );
    }
    let word = source.slice(pattern);
    if is_keyword(word) && word != "_" {
        return Err(keyword(word, pattern));
    }
    let fragment = |span| Rust { source, mask, span };
    let pat = fragment(pattern).parse(syn::Pat::parse_single, "a name or a pattern")?;
    let mut names = Vec::new();
    bound_names(&pat, fragment(pattern), &mut names);
    if names.is_empty() {
        return Err(
            Diagnostic::new(Code::BadName, "this `#cut` names no component", pattern)
                .label("expected a name that begins with a small letter"),
        );
    }
    let constructor_rust = fragment(constructor);
    // `Buffer<u8>` is a type and no expression; it gets its `::new()` later.
    let as_path = || constructor_rust.parse(<syn::TypePath as syn::parse::Parse>::parse, "a type");
    let expression = <syn::Expr as syn::parse::Parse>::parse;
    if let Err(diagnostic) =
        constructor_rust.parse(expression, "a constructor, which is an expression")
        && as_path().is_err()
    {
        return Err(diagnostic);
    }
    Ok(Cut {
        span: directive.to(argument),
        pattern: Fragment { span: pattern },
        names,
        constructor: Fragment { span: constructor },
    })
}

fn keyword(word: &str, place: Span) -> Diagnostic {
    let message = format!("`{word}` is a Rust keyword and cannot name a component");
    Diagnostic::new(Code::BadName, message, place).label("choose another name")
}

/// Where the pattern ends and the constructor begins. A small-letter word
/// before white space is a plain name, whatever follows; anything else is
/// as long as syn finds a pattern to be.
fn pattern_span(source: &Source, mask: &Mask, argument: Span) -> Result<Span, Diagnostic> {
    let text = &mask.text[argument.range()];
    let start = argument.start as usize;
    let word_len = text
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(text.len());
    let rest = &text[word_len..];
    let is_plain = word_len > 0
        && !text.starts_with(char::is_uppercase)
        && !matches!(&text[..word_len], "mut" | "ref" | "box")
        && (rest.is_empty() || rest.starts_with(char::is_whitespace));
    if is_plain {
        return Ok(Span::new(start, start + word_len));
    }
    let rust = Rust {
        source,
        mask,
        span: argument,
    };
    let parser = |input: ParseStream<'_>| {
        let pattern = syn::Pat::parse_single(input)?;
        let rest: proc_macro2::TokenStream = input.parse()?;
        drop(rest);
        Ok(pattern)
    };
    let pattern = rust.parse(parser, "a name or a pattern, then a constructor")?;
    Ok(rust.place_of(&pattern))
}

/// The names that a pattern binds, in order.
fn bound_names(pattern: &syn::Pat, rust: Rust<'_>, names: &mut Vec<Name>) {
    struct Binder<'s, 'n> {
        rust: Rust<'s>,
        names: &'n mut Vec<Name>,
    }
    impl<'ast> syn::visit::Visit<'ast> for Binder<'_, '_> {
        fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
            let name = pattern.ident.to_string();
            // An upper-case name in a pattern is a constant or a variant.
            if !name.starts_with(char::is_uppercase) {
                let span = self.rust.place_of(&pattern.ident);
                self.names.push(Spanned::new(name, span));
            }
            syn::visit::visit_pat_ident(self, pattern);
        }
    }
    syn::visit::Visit::visit_pat(&mut Binder { rust, names }, pattern);
}
