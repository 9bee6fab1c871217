//! The look of rustc.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::Source;
use crate::span::Span;

/// Lines around a place that are shown at the most, in bytes: a message about
/// one line of ten megabytes must not print it.
const MAX_SHOWN: usize = 400;

/// Renders one diagnostic as rustc would, with colours if `colour`.
pub fn human(source: &Source, diagnostic: &Diagnostic, colour: bool) -> String {
    let window = Window::around(source, diagnostic);
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut snippet = Snippet::source(&source.text()[window.span.range()])
        .line_start(window.line)
        .path(source.name())
        .fold(true);
    let primary = AnnotationKind::Primary.span(window.range(diagnostic.span));
    snippet = snippet.annotation(match diagnostic.label.as_str() {
        "" => primary,
        label => primary.label(label),
    });
    for related in &diagnostic.related {
        if window.span.contains(related.span) {
            let annotation = AnnotationKind::Context.span(window.range(related.span));
            snippet = snippet.annotation(annotation.label(related.label.as_str()));
        }
    }
    let title = level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code.id());
    let mut group = title.element(snippet);
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let mut report: Vec<Group<'_>> = vec![group];
    if let Some(suggestion) = &diagnostic.suggestion
        && window.span.contains(suggestion.span)
    {
        let patch = Patch::new(
            window.range(suggestion.span),
            suggestion.replacement.as_str(),
        );
        let snippet = Snippet::source(&source.text()[window.span.range()])
            .line_start(window.line)
            .path(source.name())
            .patch(patch);
        report.push(Level::HELP.secondary_title("write").element(snippet));
    }
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut text = renderer.decor_style(DecorStyle::Ascii).render(&report).to_string();
    text.push('\n');
    text
}

/// The lines that a diagnostic is about.
struct Window {
    span: Span,
    line: usize,
}

impl Window {
    fn around(source: &Source, diagnostic: &Diagnostic) -> Self {
        let text = source.text();
        let mut places = vec![diagnostic.span];
        places.extend(diagnostic.related.iter().map(|related| related.span));
        let mut span = places.into_iter().fold(diagnostic.span, Span::to);
        // All places if they can be shown, else the first one only.
        let line_start = |at: u32| source.line_start(source.line(at)) as usize;
        let line_end = |at: u32| {
            let at = at as usize;
            text[at..].find('\n').map_or(text.len(), |len| at + len)
        };
        let widest = source.widest_line(span);
        if widest > MAX_SHOWN {
            span = diagnostic.span;
        }
        let mut start = line_start(span.start);
        let mut end = line_end(span.end.max(span.start));
        let line = source.line(span.start);
        if source.widest_line(span) > MAX_SHOWN {
            start = floor_char(text, (span.start as usize).saturating_sub(60).max(start));
            end = floor_char(text, (span.start as usize + 60).min(end));
        }
        Self {
            span: Span::new(start, end.max(start)),
            line,
        }
    }

    fn range(&self, span: Span) -> std::ops::Range<usize> {
        let base = self.span.start;
        let len = self.span.end - base;
        let start = (span.start.saturating_sub(base)).min(len);
        let end = (span.end.saturating_sub(base)).min(len);
        start as usize..end.max(start) as usize
    }
}

fn floor_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
