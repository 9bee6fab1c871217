//! `#shared id`, then fields with initial values and methods.

use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;

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
        members,
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
    let members = members
        .into_iter()
        .map(|member| member.place(rust))
        .collect();
    Some(Shared {
        span,
        id,
        body: Fragment { span: body },
        members,
    })
}

/// A member as syn sees it.
enum Parsed {
    Field {
        attributes: Vec<syn::Attribute>,
        visibility: syn::Visibility,
        name: syn::Ident,
        ty: syn::Type,
        init: syn::Expr,
        semicolon: syn::Token![;],
    },
    Method(Box<syn::ImplItemFn>),
}

fn members(input: ParseStream<'_>) -> syn::Result<Vec<Parsed>> {
    let mut members = Vec::new();
    while !input.is_empty() {
        members.push(member(input)?);
    }
    Ok(members)
}

fn member(input: ParseStream<'_>) -> syn::Result<Parsed> {
    let ahead = input.fork();
    ahead.call(syn::Attribute::parse_outer)?;
    ahead.parse::<syn::Visibility>()?;
    // Methods begin with a keyword.
    if !ahead.peek(syn::Ident) {
        return Ok(Parsed::Method(Box::new(input.parse()?)));
    }
    let attributes = input.call(syn::Attribute::parse_outer)?;
    let visibility = input.parse()?;
    let name = input.parse()?;
    input.parse::<syn::Token![:]>()?;
    let ty = input.parse()?;
    input.parse::<syn::Token![=]>()?;
    let init = syn::Expr::parse(input)?;
    let semicolon = input.parse()?;
    Ok(Parsed::Field {
        attributes,
        visibility,
        name,
        ty,
        init,
        semicolon,
    })
}

impl Parsed {
    fn place(&self, rust: Rust<'_>) -> Member {
        match self {
            Self::Field {
                attributes,
                visibility,
                name,
                ty,
                init,
                semicolon,
            } => {
                let name_span = rust.place(name.span());
                let first = attributes.first().map(|attribute| rust.place_of(attribute));
                let visible = match visibility {
                    syn::Visibility::Inherited => None,
                    other => Some(rust.place_of(other)),
                };
                let start = first.or(visible).unwrap_or(name_span).start as usize;
                Member {
                    span: Span::new(start, rust.place_of(semicolon).end as usize),
                    name: Spanned::new(name.to_string(), name_span),
                    kind: MemberKind::Field {
                        attributes: Fragment {
                            span: Span::new(start, name_span.start as usize),
                        },
                        ty: Fragment {
                            span: rust.place_of(ty),
                        },
                        init: Fragment {
                            span: rust.place_of(init),
                        },
                    },
                }
            }
            Self::Method(method) => Member {
                span: rust.place(method.span()),
                name: Spanned::new(
                    method.sig.ident.to_string(),
                    rust.place(method.sig.ident.span()),
                ),
                kind: MemberKind::Method,
            },
        }
    }
}
