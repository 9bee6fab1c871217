//! The templates: `#excMonitor`, `#valueCheck`, `#matchCheck`, `#wakeCheck`.

use crate::diagnostic::{Code, Diagnostic};
use crate::mask::Mask;
use crate::pieces::Directive;
use crate::source::Source;
use crate::span::{Span, Spanned};
use crate::tree::{Exception, Fragment, TemplateKind, Wake};
use crate::words::{trim, words};

/// A template whose `#end` has been found.
pub(crate) struct Parts<'s> {
    pub(crate) directive: Directive,
    pub(crate) head: Span,
    pub(crate) body: Span,
    /// The lone `#`s outside its brackets.
    pub(crate) separators: &'s [Span],
    pub(crate) span: Span,
}

impl Parts<'_> {
    /// What the template checks, or nothing if it cannot be told.
    pub(crate) fn kind(
        &self,
        source: &Source,
        mask: &Mask,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<TemplateKind> {
        let (actual, expected) = self.halves(mask, diagnostics)?;
        let kind = match self.directive {
            Directive::ExcMonitor => TemplateKind::ExcMonitor {
                code: Fragment { span: actual },
                expected: expected.map(|span| exception(mask, span)),
            },
            Directive::ValueCheck => TemplateKind::ValueCheck {
                actual: Fragment { span: actual },
                expected: Fragment { span: expected? },
            },
            Directive::MatchCheck => TemplateKind::MatchCheck {
                actual: Fragment { span: actual },
                pattern: Fragment { span: expected? },
            },
            _ => TemplateKind::WakeCheck(wake(source, mask, actual)),
        };
        Some(kind)
    }

    /// Splits the body at its separator and checks that the halves are there.
    fn halves(
        &self,
        mask: &Mask,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(Span, Option<Span>)> {
        let word = self.directive.word();
        let may_have = self.directive != Directive::WakeCheck;
        let must_have = may_have && self.directive != Directive::ExcMonitor;
        let (start, end) = (self.body.start as usize, self.body.end as usize);
        let extra = self.separators.get(usize::from(may_have));
        if let Some(&extra) = extra {
            let mut diagnostic = Diagnostic::new(
                Code::ExtraSeparator,
                format!("`{word}` has no place for this `#`"),
                extra,
            );
            diagnostic = if may_have {
                diagnostic
                    .label("a second separator")
                    .related(self.separators[0], "the first one")
            } else {
                diagnostic.label("a wake-up check is one part: `#wakeCheck 3 #end`")
            };
            diagnostics.push(diagnostic);
            return None;
        }
        let separator = self.separators.first();
        let actual_end = separator.map_or(end, |separator| separator.start as usize);
        let actual = trim(&mask.text, Span::new(start.min(actual_end), actual_end));
        let expected = separator.map(|separator| {
            let from = separator.end as usize;
            trim(&mask.text, Span::new(from, end.max(from)))
        });
        let mut complete = true;
        if actual.is_empty() {
            let what = match self.directive {
                Directive::ExcMonitor => "code to run",
                Directive::WakeCheck => "the time of the wake-up",
                _ => "a value to check",
            };
            diagnostics.push(
                Diagnostic::new(Code::EmptyFragment, format!("`{word}` is empty"), self.head)
                    .label(format!("expected {what} after it")),
            );
            complete = false;
        }
        if (must_have || separator.is_some()) && expected.is_none_or(Span::is_empty) {
            let what = match self.directive {
                Directive::MatchCheck => "# pattern",
                _ => "# expected",
            };
            let place = separator.copied().unwrap_or(self.head);
            diagnostics.push(
                Diagnostic::new(
                    Code::MissingExpected,
                    format!("`{word}` does not say what is expected"),
                    place,
                )
                .label(format!("expected `{what}` before its `#end`"))
                .related(self.span, "in this template"),
            );
            complete = false;
        }
        complete.then_some((actual, expected))
    }
}

/// `panic`, `panic "part"`, or a pattern.
fn exception(mask: &Mask, span: Span) -> Exception {
    let text = &mask.text[span.range()];
    let Some(rest) = text.strip_prefix("panic") else {
        return Exception::Pattern(Fragment { span });
    };
    let from = span.end as usize - rest.len();
    let part = trim(&mask.text, Span::new(from, span.end as usize));
    if part.is_empty() {
        return Exception::Panic { part: None };
    }
    if rest.starts_with(|c: char| c.is_whitespace()) {
        let part = Some(Fragment { span: part });
        return Exception::Panic { part };
    }
    Exception::Pattern(Fragment { span })
}

/// `3`, `3..5`, `3..=4`, `{2, 4}` or `take w`.
fn wake(source: &Source, mask: &Mask, span: Span) -> Wake {
    let text = &mask.text[span.range()];
    let parts = words(&mask.text, span, false);
    if let [take, name] = parts.as_slice()
        && take.value == "take"
    {
        let value = source.slice(name.span).to_owned();
        return Wake::Take(Spanned::new(value, name.span));
    }
    let is_list = text.starts_with('{') && text.ends_with('}');
    if is_list {
        let inner = Span::new(span.start as usize + 1, span.end as usize - 1);
        return Wake::OneOf(list(mask, inner));
    }
    let outside = outside_brackets(text);
    if outside.contains("..") {
        Wake::Within(Fragment { span })
    } else {
        Wake::At(Fragment { span })
    }
}

/// The elements of a list, parted by commas outside brackets.
fn list(mask: &Mask, span: Span) -> Vec<Fragment> {
    let text = &mask.text[span.range()];
    let mut depth = 0_usize;
    let mut start = span.start as usize;
    let mut elements = Vec::new();
    let ends = std::iter::once((text.len(), ','));
    for (at, c) in text.char_indices().chain(ends) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                let end = span.start as usize + at;
                let element = trim(&mask.text, Span::new(start, end));
                if !element.is_empty() {
                    elements.push(Fragment { span: element });
                }
                start = end + 1;
            }
            _ => {}
        }
    }
    elements
}

fn outside_brackets(text: &str) -> String {
    let mut depth = 0_usize;
    let mut outside = String::new();
    for c in text.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => outside.push(c),
            _ => {}
        }
    }
    outside
}
