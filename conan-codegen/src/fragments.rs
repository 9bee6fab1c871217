//! The tokens of a reshaped script, found by their place in the script.

use conan_lang::{Source, Span};
use proc_macro2::{Group, LineColumn, TokenStream, TokenTree};

/// The lexed tokens of a script, each with the bytes of the script that it
/// stands for.
#[derive(Debug)]
pub struct Fragments {
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    start: u32,
    /// For a group: where its closing bracket is.
    close: u32,
    token: TokenTree,
    /// What is inside a group.
    inner: Vec<Node>,
}

impl Fragments {
    /// Takes the tokens that a [reshaped](crate::reshape) script was lexed to.
    /// Their spans must know lines and columns.
    pub fn new(source: &Source, tokens: TokenStream) -> Self {
        let mut offsets = Offsets::new(source);
        Self {
            nodes: nodes(tokens, &mut offsets),
        }
    }

    /// True if the tokens have places at all: not every macro server knows.
    pub fn have_places(&self) -> bool {
        match self.nodes.as_slice() {
            [first, .., last] => first.start < last.start,
            _ => true,
        }
    }

    /// The tokens of one place.
    pub fn tokens(&self, span: Span) -> TokenStream {
        self.tokens_with(span, &[], |_| TokenStream::new())
    }

    /// The tokens of one place; each of the `holes` in it is filled anew.
    pub fn tokens_with(
        &self,
        span: Span,
        holes: &[Span],
        fill: impl FnMut(usize) -> TokenStream,
    ) -> TokenStream {
        let mut collector = Collector {
            holes,
            next: 0,
            filled: None,
            fill,
        };
        collector.collect(slice(&self.nodes, span))
    }
}

fn nodes(tokens: TokenStream, offsets: &mut Offsets<'_>) -> Vec<Node> {
    let mut list = Vec::new();
    for token in tokens {
        let (start, inner, close) = match &token {
            TokenTree::Group(group) => {
                let start = offsets.at(group.span_open().start());
                let inner = nodes(group.stream(), offsets);
                (start, inner, offsets.at(group.span_close().start()))
            }
            _ => {
                let start = offsets.at(token.span().start());
                (start, Vec::new(), start)
            }
        };
        list.push(Node {
            start,
            close,
            token,
            inner,
        });
    }
    list
}

/// The tokens of a place. It can be inside brackets, but cuts through none.
fn slice(nodes: &[Node], span: Span) -> &[Node] {
    let first = nodes.partition_point(|node| node.start < span.start);
    if let Some(before) = first.checked_sub(1)
        && nodes[before].close > span.start
    {
        return slice(&nodes[before].inner, span);
    }
    let len = nodes[first..].partition_point(|node| node.start < span.end);
    &nodes[first..first + len]
}

struct Collector<'h, F> {
    holes: &'h [Span],
    /// The first hole that is not behind us.
    next: usize,
    /// The hole that was filled last.
    filled: Option<usize>,
    fill: F,
}

impl<F: FnMut(usize) -> TokenStream> Collector<'_, F> {
    fn collect(&mut self, nodes: &[Node]) -> TokenStream {
        let mut out = TokenStream::new();
        for node in nodes {
            let behind = |hole: &Span| hole.end <= node.start;
            while self.holes.get(self.next).is_some_and(behind) {
                self.next += 1;
            }
            let hole = self.holes.get(self.next);
            if hole.is_some_and(|hole| hole.start <= node.start) {
                // Reshaping leaves a token in every hole.
                if self.filled != Some(self.next) {
                    self.filled = Some(self.next);
                    out.extend((self.fill)(self.next));
                }
                continue;
            }
            match &node.token {
                TokenTree::Group(group) if hole.is_some_and(|hole| hole.start < node.close) => {
                    let mut rebuilt = Group::new(group.delimiter(), self.collect(&node.inner));
                    rebuilt.set_span(group.span());
                    out.extend([TokenTree::Group(rebuilt)]);
                }
                token => out.extend([token.clone()]),
            }
        }
        out
    }
}

/// Turns lines and columns into bytes. Tokens come in order, so that a long
/// line is walked along once.
struct Offsets<'s> {
    source: &'s Source,
    line: usize,
    column: usize,
    offset: usize,
}

impl<'s> Offsets<'s> {
    fn new(source: &'s Source) -> Self {
        Self {
            source,
            line: 1,
            column: 0,
            offset: 0,
        }
    }

    /// The byte at a line (from 1) and a column (from 0, in characters).
    fn at(&mut self, place: LineColumn) -> u32 {
        let text = self.source.text();
        if place.line == 0 || place.line > self.source.line_count() {
            return text.len() as u32;
        }
        if place.line != self.line || place.column < self.column {
            self.line = place.line;
            self.column = 0;
            self.offset = self.source.line_start(place.line) as usize;
        }
        let ahead = place.column - self.column;
        let skipped = text[self.offset..].chars().take(ahead);
        self.offset += skipped.map(char::len_utf8).sum::<usize>();
        self.column = place.column;
        self.offset as u32
    }
}
