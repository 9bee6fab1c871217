//! Rust fragments: lexed by proc-macro2, parsed by syn, with every error and
//! every token at its own byte of the script.
//!
//! Token positions come from proc-macro2's fallback implementation. Inside a
//! procedural macro the caller must force it (`proc_macro2::fallback::force`).

use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser;

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
    /// Parses the fragment. `what` names what is expected, for the message.
    pub(crate) fn parse<P: Parser>(self, parser: P, what: &str) -> Result<P::Output, Diagnostic> {
        let tokens = self.tokens(&[])?;
        self.parse_tokens(tokens, parser, what)
    }

    /// The fragment's tokens; each of the `holes` is read as `();`.
    pub(crate) fn tokens(self, holes: &[Span]) -> Result<TokenStream, Diagnostic> {
        limits::check(self.source, self.mask, self.span)?;
        let mut text = self.source.slice(self.span).to_owned();
        for hole in holes {
            let range = hole.start - self.span.start..hole.end - self.span.start;
            let range = range.start as usize..range.end as usize;
            // The shortest template is longer than the statement `();`.
            let filler = format!("{:width$}", "();", width = range.len());
            text.replace_range(range, &filler);
        }
        TokenStream::from_str(&text).map_err(|error| {
            let span = self.place(error.span());
            let message = match self.source.slice(span).chars().next() {
                Some(c) if "([{".contains(c) => format!("this `{c}` is never closed"),
                Some(c) if ")]}".contains(c) => format!("this `{c}` closes nothing"),
                _ => "this is not Rust".to_owned(),
            };
            Diagnostic::new(Code::RustSyntax, message, span)
        })
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
            diagnostic.label(format!("expected {what}"))
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

/// True if `name` occurs as an identifier of its own in the tokens: not as a
/// field, a method or a segment of a path.
pub(crate) fn mentions(tokens: TokenStream, name: &str) -> Option<proc_macro2::Span> {
    let mut pending = vec![tokens.into_iter()];
    let mut after_dot = false;
    while let Some(level) = pending.last_mut() {
        let Some(token) = level.next() else {
            pending.pop();
            continue;
        };
        let mut dot = false;
        match token {
            TokenTree::Group(group) => pending.push(group.stream().into_iter()),
            TokenTree::Ident(ident) if !after_dot && ident == name => return Some(ident.span()),
            TokenTree::Punct(punct) => dot = matches!(punct.as_char(), '.' | ':'),
            _ => {}
        }
        after_dot = dot;
    }
    None
}
