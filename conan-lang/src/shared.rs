//! `#shared id`, then fields with initial values and methods.

use syn::parse::ParseStream;

use crate::diagnostic::{Code, Diagnostic};
use crate::mask::Mask;
use crate::rust::Rust;
use crate::source::Source;
use crate::span::{Span, Spanned};
use crate::tree::{Fragment, Member, MemberKind, Shared};
use crate::words::{trim_items, words};

/// Takes a shared block apart; `body` begins with its name.
pub(crate) fn parse(
    source: &Source,
    mask: &Mask,
    head: Span,
    body: Span,
    span: Span,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Shared> {
    let line_len = mask.text[body.range()].find('\n');
    let line_end = line_len.map_or(body.end as usize, |len| body.start as usize + len);
    // The name stands on the line of `#shared` itself.
    let between = &mask.text[head.end as usize..body.start as usize];
    let names = words(
        source,
        mask,
        Span::new(body.start as usize, line_end),
        false,
    );
    let id = match names.into_iter().next() {
        Some(id) if !between.contains('\n') => id,
        _ => {
            diagnostics.push(
                Diagnostic::new(Code::BadHead, "this shared block has no name", head)
                    .label("expected `#shared name`")
                    .help("threads reach its fields and methods as `name.field`"),
            );
            return None;
        }
    };
    let rest = Span::new(id.span.end as usize, body.end as usize);
    let body = trim_items(source, mask, rest);
    let rust = Rust {
        source,
        mask,
        span: body,
    };
    let parsed = rust.parse(
        |input: ParseStream<'_>| {
            let mut members = Vec::new();
            while !input.is_empty() {
                members.push(member(input, rust)?);
            }
            Ok(members)
        },
        "fields, `name: Type = value;`, and methods, `fn name(&self) { … }`",
    );
    let members = match parsed {
        Ok(members) => members,
        Err(diagnostic) => {
            let code = match diagnostic.code {
                Code::RustSyntax => Code::BadShared,
                other => other,
            };
            diagnostics.push(Diagnostic { code, ..diagnostic });
            Vec::new()
        }
    };
    Some(Shared {
        span,
        id,
        body: Fragment { span: body },
        members,
    })
}

fn member(input: ParseStream<'_>, rust: Rust<'_>) -> syn::Result<Member> {
    let ahead = input.fork();
    ahead.call(syn::Attribute::parse_outer)?;
    ahead.parse::<syn::Visibility>()?;
    // A method begins with a keyword.
    if ahead.peek(syn::Ident) {
        field(input, rust)
    } else {
        method(input, rust)
    }
}

fn method(input: ParseStream<'_>, rust: Rust<'_>) -> syn::Result<Member> {
    let method: syn::ImplItemFn = input.parse()?;
    let name = &method.sig.ident;
    Ok(Member {
        span: rust.place_of(&method),
        name: Spanned::new(name.to_string(), rust.place(name.span())),
        kind: MemberKind::Method,
    })
}

fn field(input: ParseStream<'_>, rust: Rust<'_>) -> syn::Result<Member> {
    let first = input.span();
    input.call(syn::Attribute::parse_outer)?;
    input.parse::<syn::Visibility>()?;
    let name: syn::Ident = input.parse()?;
    input.parse::<syn::Token![:]>()?;
    let ty: syn::Type = input.parse()?;
    input.parse::<syn::Token![=]>()?;
    let init: syn::Expr = input.parse()?;
    let semicolon: syn::Token![;] = input.parse()?;
    let start = rust.place(first).start as usize;
    let name = Spanned::new(name.to_string(), rust.place(name.span()));
    let fragment = |span| Fragment { span };
    Ok(Member {
        span: Span::new(start, rust.place_of(&semicolon).end as usize),
        kind: MemberKind::Field {
            attributes: fragment(Span::new(start, name.span.start as usize)),
            ty: fragment(rust.place_of(&ty)),
            init: fragment(rust.place_of(&init)),
        },
        name,
    })
}
