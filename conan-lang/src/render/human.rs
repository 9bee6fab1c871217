//! The look of rustc.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet};

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::Source;
use crate::span::Span;

/// So much text at the most is handed to the renderer, in bytes: a message
/// about one line of ten megabytes must not print it, or even look at it.
const MAX_SHOWN: usize = 16 * 1024;

/// Renders one diagnostic as rustc would, with colours if `colour`.
pub fn human(source: &Source, diagnostic: &Diagnostic, colour: bool) -> String {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code.id());
    let mut group = with_places(Group::with_title(title), source, diagnostic);
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let mut report = vec![group];
    report.extend(suggestion(source, diagnostic));
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut text = renderer.decor_style(DecorStyle::Ascii).render(&report);
    text.push('\n');
    text
}

fn suggestion<'s>(source: &'s Source, diagnostic: &'s Diagnostic) -> Option<Group<'s>> {
    let suggestion = diagnostic.suggestion.as_ref()?;
    let window = Window::around(source, suggestion.span)?;
    let range = window.range(suggestion.span);
    let patch = Patch::new(range, suggestion.replacement.as_str());
    let snippet = Snippet::source(window.text)
        .line_start(window.line)
        .path(source.name())
        .patch(patch);
    Some(Level::HELP.secondary_title("write").element(snippet))
}

/// All places in one snippet if there is not too much text between them, else
/// each in its own.
fn with_places<'s>(
    mut group: Group<'s>,
    source: &'s Source,
    diagnostic: &'s Diagnostic,
) -> Group<'s> {
    let mut places = vec![(
        AnnotationKind::Primary,
        diagnostic.span,
        diagnostic.label.as_str(),
    )];
    for related in &diagnostic.related {
        places.push((
            AnnotationKind::Context,
            related.span,
            related.label.as_str(),
        ));
    }
    let all = places
        .iter()
        .fold(diagnostic.span, |all, place| all.to(place.1));
    let together = Window::around(source, all).is_some();
    let snippets = places.chunks(if together { places.len() } else { 1 });
    for places in snippets {
        let all = places
            .iter()
            .fold(places[0].1, |all, place| all.to(place.1));
        group = match Window::around(source, all) {
            Some(window) => group.element(window.snippet(source, places)),
            None => without_text(group, source, places),
        };
    }
    group
}

/// For a line that is too long to be shown.
fn without_text<'s>(
    mut group: Group<'s>,
    source: &'s Source,
    places: &[(AnnotationKind, Span, &'s str)],
) -> Group<'s> {
    for (_, span, label) in places {
        let at = source.position(span.start);
        let origin = Origin::path(source.name());
        group = group.element(origin.line(at.line).char_column(at.column));
        if !label.is_empty() {
            group = group.element(Level::NOTE.message(*label));
        }
    }
    group
}

/// The lines that a place touches.
struct Window<'s> {
    text: &'s str,
    start: usize,
    line: usize,
}

impl<'s> Window<'s> {
    /// Nothing, if it would be too much.
    fn around(source: &'s Source, span: Span) -> Option<Self> {
        let line = source.line(span.start);
        let start = source.line_start(line) as usize;
        let end = source.line_end(source.line(span.end.max(span.start)));
        (end - start <= MAX_SHOWN).then(|| Self {
            text: &source.text()[start..end],
            start,
            line,
        })
    }

    fn snippet(
        &self,
        source: &'s Source,
        places: &[(AnnotationKind, Span, &'s str)],
    ) -> Snippet<'s, annotate_snippets::Annotation<'s>> {
        let snippet = Snippet::source(self.text)
            .line_start(self.line)
            .path(source.name())
            .fold(true);
        snippet.annotations(places.iter().map(|(kind, span, label)| {
            let annotation = kind.span(self.range(*span));
            match *label {
                "" => annotation,
                label => annotation.label(label),
            }
        }))
    }

    fn range(&self, span: Span) -> std::ops::Range<usize> {
        let inside = |at: u32| {
            (at as usize)
                .saturating_sub(self.start)
                .min(self.text.len())
        };
        inside(span.start)..inside(span.end).max(inside(span.start))
    }
}
