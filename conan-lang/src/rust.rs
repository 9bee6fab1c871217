//! Rust fragments: lexed by proc-macro2, parsed by syn, with every error and
//! every token at its own byte of the script.
//!
//! Token positions come from proc-macro2's fallback implementation. Inside a
//! procedural macro the caller must force it (`proc_macro2::fallback::force`).

use std::collections::BTreeMap;
use std::str::FromStr;

use proc_macro2::{Spacing, TokenStream, TokenTree};
use syn::parse::Parser;

use crate::brackets;
use crate::diagnostic::{Code, Diagnostic};
use crate::limits;
use crate::mask::Mask;
use crate::source::Source;
use crate::span::Span;

/// A fragment about to be parsed.
#[derive(Clone, Copy)]
pub(crate) struct Rust<'s> {
    pub(crate) source: &'s Source,
    pub(crate) mask: &'s Mask,
    pub(crate) span: Span,
}

impl Rust<'_> {
    /// Parses the fragment. `what` says what it is read as, for the message.
    pub(crate) fn parse<P: Parser>(self, parser: P, what: &str) -> Result<P::Output, Diagnostic> {
        let tokens = self.tokens(&[])?;
        self.parse_tokens(tokens, parser, what)
    }

    /// The fragment's tokens. Each of the `holes`, which are in order, is read
    /// as a statement.
    pub(crate) fn tokens(self, holes: &[Span]) -> Result<TokenStream, Diagnostic> {
        limits::check(self.source, self.mask, self.span, holes)?;
        let mut text = String::with_capacity(self.span.range().len());
        let mut at = self.span.start;
        for hole in holes.iter().filter(|hole| self.span.contains(**hole)) {
            if hole.start < at || hole.is_empty() {
                continue;
            }
            text.push_str(self.source.slice(Span {
                start: at,
                end: hole.start,
            }));
            let len = hole.range().len();
            let statement = if len < "let _;".len() { ";" } else { "let _;" };
            text.push_str(statement);
            text.extend(std::iter::repeat_n(' ', len - statement.len()));
            at = hole.end;
        }
        text.push_str(self.source.slice(Span {
            start: at,
            end: self.span.end,
        }));
        TokenStream::from_str(&text).map_err(|error| {
            brackets::mismatch(self.mask, self.span, holes).unwrap_or_else(|| {
                let offset = self.span.start as usize + error.span().byte_range().start;
                let rest = &self.source.text()[offset..self.span.end as usize];
                let place = match rest.chars().next() {
                    Some(c) => Span::new(offset, offset + c.len_utf8()),
                    None => self.last_character(),
                };
                Diagnostic::new(Code::RustSyntax, "this is not Rust", place)
                    .label("no token of Rust begins here")
            })
        })
    }

    /// The fragment's tokens, templates and all, as far as it is Rust. A token
    /// stream is made and dropped without recursion: no limits here.
    pub(crate) fn raw_tokens(self) -> Option<TokenStream> {
        TokenStream::from_str(self.source.slice(self.span)).ok()
    }

    /// Parses tokens of this fragment.
    pub(crate) fn parse_tokens<P: Parser>(
        self,
        tokens: TokenStream,
        parser: P,
        what: &str,
    ) -> Result<P::Output, Diagnostic> {
        parser.parse2(tokens).map_err(|error| {
            let span = self.place(error.span());
            let message = error.to_string();
            let message = match message.strip_prefix("unexpected end of input") {
                Some(rest) => format!("the code ends too early{rest}"),
                None => message,
            };
            let diagnostic = Diagnostic::new(Code::RustSyntax, message, span);
            diagnostic.label(format!("read as {what}"))
        })
    }

    /// The place in the script of a span of this fragment's tokens. A span
    /// without a place means the end of the fragment.
    pub(crate) fn place(self, span: proc_macro2::Span) -> Span {
        let range = span.byte_range();
        let len = self.span.range().len();
        let base = self.span.start as usize;
        if range.is_empty() || range.end > len {
            return self.last_character();
        }
        Span::new(base + range.start, base + range.end)
    }

    fn last_character(self) -> Span {
        let text = self.source.slice(self.span);
        let last = text.chars().next_back().map_or(0, char::len_utf8);
        let end = self.span.end as usize;
        Span::new(end - last, end)
    }

    /// The place of a syntax node, from its first token to its last.
    pub(crate) fn place_of(self, node: &impl syn::spanned::Spanned) -> Span {
        self.place(node.span())
    }
}

/// Where each of the `names` occurs first as an identifier of its own in the
/// tokens: not as a field, a method or a segment of a path.
pub(crate) fn first_uses<'n>(
    tokens: TokenStream,
    names: &BTreeMap<&'n str, impl Sized>,
) -> BTreeMap<&'n str, proc_macro2::Span> {
    let mut uses = BTreeMap::new();
    let mut pending = vec![tokens.into_iter().peekable()];
    let mut before = Before::Other;
    while let Some(level) = pending.last_mut() {
        let Some(token) = level.next() else {
            pending.pop();
            before = Before::Other;
            continue;
        };
        before = match token {
            TokenTree::Group(group) => {
                pending.push(group.stream().into_iter().peekable());
                Before::Other
            }
            TokenTree::Ident(ident) => {
                let is_field = matches!(level.peek(), Some(TokenTree::Punct(next))
                    if next.as_char() == ':' && next.spacing() == Spacing::Alone);
                let is_member = matches!(before, Before::Dot | Before::PathSeparator);
                if !is_field
                    && !is_member
                    && let Some((name, _)) = names.get_key_value(ident.to_string().as_str())
                {
                    uses.entry(*name).or_insert_with(|| ident.span());
                }
                Before::Other
            }
            TokenTree::Punct(punct) => match (before, punct.as_char()) {
                (Before::Colon, ':') => Before::PathSeparator,
                (_, ':') => Before::Colon,
                (Before::Dot, '.') => Before::Other,
                (_, '.') => Before::Dot,
                _ => Before::Other,
            },
            TokenTree::Literal(_) => Before::Other,
        };
    }
    uses
}

/// What stands before a token.
#[derive(Clone, Copy)]
enum Before {
    Dot,
    Colon,
    PathSeparator,
    Other,
}
