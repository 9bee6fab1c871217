//! The templates: `#excMonitor`, `#valueCheck`, `#matchCheck`, `#wakeCheck`.

use crate::brackets;
use crate::diagnostic::{Code, Diagnostic};
use crate::mask::Mask;
use crate::pieces::Directive;
use crate::source::Source;
use crate::span::Span;
use crate::tree::{Exception, Fragment, TemplateKind, Wake};
use crate::words::{trim, words};

/// A template whose `#end` has been found.
pub(crate) struct Parts<'s> {
    pub(crate) directive: Directive,
    pub(crate) head: Span,
    pub(crate) body: Span,
    /// The lone `#`s outside its brackets.
    pub(crate) separators: &'s [Span],
    /// True if every bracket in it is closed.
    pub(crate) is_balanced: bool,
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
        let (actual, expected) = self.halves(source, mask, diagnostics)?;
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
            _ => TemplateKind::WakeCheck(wake(source, mask, actual, diagnostics)?),
        };
        Some(kind)
    }

    /// Splits the body at its separator and checks that the halves are there.
    fn halves(
        &self,
        source: &Source,
        mask: &Mask,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(Span, Option<Span>)> {
        let may_have = self.directive != Directive::WakeCheck;
        let must_have = may_have && self.directive != Directive::ExcMonitor;
        if let Some(&extra) = self.separators.get(usize::from(may_have)) {
            diagnostics.push(self.extra_separator(extra));
            return None;
        }
        let (start, end) = (self.body.start as usize, self.body.end as usize);
        let separator = self.separators.first();
        let actual_end = separator.map_or(end, |separator| separator.start as usize);
        let actual = trim(mask, Span::new(start.min(actual_end), actual_end));
        let expected = separator.map(|separator| {
            let from = separator.end as usize;
            trim(mask, Span::new(from, end.max(from)))
        });
        let found = diagnostics.len();
        if actual.is_empty() {
            diagnostics.push(self.empty());
        } else if must_have && separator.is_none() && !self.is_balanced {
            // The separator may be behind a bracket that is not closed.
            diagnostics.extend(brackets::mismatch(mask, self.body, &[]));
        }
        let lacks_expected = expected.is_none_or(Span::is_empty);
        if diagnostics.len() == found && (must_have || separator.is_some()) && lacks_expected {
            diagnostics.push(self.missing_expected(source, mask));
        }
        (diagnostics.len() == found).then_some((actual, expected))
    }

    fn extra_separator(&self, extra: Span) -> Diagnostic {
        let word = self.directive.word();
        let diagnostic = Diagnostic::new(
            Code::ExtraSeparator,
            format!("`{word}` has no place for this `#`"),
            extra,
        );
        match self.directive {
            Directive::WakeCheck => {
                diagnostic.label("a wake-up check is one part: `#wakeCheck 3 #end`")
            }
            _ => diagnostic
                .label("a second separator")
                .related(self.separators[0], "the first one"),
        }
    }

    fn empty(&self) -> Diagnostic {
        let word = self.directive.word();
        let what = match self.directive {
            Directive::ExcMonitor => "code to run",
            Directive::WakeCheck => "the time of the wake-up",
            _ => "a value to check",
        };
        Diagnostic::new(Code::EmptyFragment, format!("`{word}` is empty"), self.head)
            .label(format!("expected {what} after it"))
    }

    fn missing_expected(&self, source: &Source, mask: &Mask) -> Diagnostic {
        let word = self.directive.word();
        let what = match self.directive {
            Directive::MatchCheck => "# pattern",
            _ => "# expected",
        };
        let diagnostic = Diagnostic::new(
            Code::MissingExpected,
            format!("`{word}` does not say what is expected"),
            self.separators.first().copied().unwrap_or(self.head),
        )
        .label(format!("write `{what}` before its `#end`"));
        if !self.separators.is_empty() {
            return diagnostic;
        }
        if source.slice(self.body).contains("#[") {
            diagnostic.help("`#[` begins an attribute; put a space after the `#`")
        } else if mask.text[self.body.range()].contains('#') {
            diagnostic.help("a `#` inside brackets belongs to the Rust code")
        } else {
            diagnostic
        }
    }
}

/// `panic`, `panic "part"`, or a pattern.
fn exception(mask: &Mask, span: Span) -> Exception {
    let text = &mask.text[span.range()];
    let Some(rest) = text.strip_prefix("panic") else {
        return Exception::Pattern(Fragment { span });
    };
    let from = span.end as usize - rest.len();
    let part = trim(mask, Span::new(from, span.end as usize));
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
fn wake(
    source: &Source,
    mask: &Mask,
    span: Span,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Wake> {
    let text = &mask.text[span.range()];
    let parts = words(source, mask, span, false);
    match parts.as_slice() {
        [take, name] if take.value == "take" => return Some(Wake::Take(name.clone())),
        [take] if take.value == "take" => {
            diagnostics.push(
                Diagnostic::new(
                    Code::BadWakeTimes,
                    "`take` does not say from which list",
                    span,
                )
                .label("expected the name of a list, as in `take w`"),
            );
            return None;
        }
        _ => {}
    }
    let is_list = text.starts_with('{') && text.ends_with('}');
    if is_list {
        let inner = Span::new(span.start as usize + 1, span.end as usize - 1);
        let times = list(mask, inner);
        if times.is_empty() {
            let diagnostic = Diagnostic::new(Code::BadWakeTimes, "this list has no times", span);
            diagnostics.push(diagnostic.label("expected times, as in `{2, 4}`"));
            return None;
        }
        return Some(Wake::OneOf(times));
    }
    let fragment = Fragment { span };
    let wake = if has_range(text) {
        Wake::Within
    } else {
        Wake::At
    };
    Some(wake(fragment))
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
                let element = trim(mask, Span::new(start, end));
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

/// True if there is a `..` outside every bracket.
fn has_range(text: &str) -> bool {
    let mut depth = 0_usize;
    let mut after_dot = false;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'.' if depth == 0 && after_dot => return true,
            _ => {}
        }
        after_dot = byte == b'.' && depth == 0;
    }
    false
}
