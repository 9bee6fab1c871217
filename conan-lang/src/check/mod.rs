//! Semantic checks, one concern a file. Each looks at the tree and adds what
//! it finds; none stops another.

mod conditions;
mod control_flow;
mod fragments;
mod names;
mod ownership;
mod shape;
mod threads;
mod wake_times;

use crate::build::Built;
use crate::diagnostic::{Code as Mistake, Diagnostic, MAX_DIAGNOSTICS};
use crate::mask::Mask;
use crate::rust::Rust;
use crate::source::Source;
use crate::span::Span;
use crate::tree::{Code, Script};

/// What every check looks at.
pub(crate) struct Context<'s> {
    source: &'s Source,
    mask: &'s Mask,
    script: &'s Script,
    broken: &'s [Span],
    is_complete: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'s> Context<'s> {
    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }

    fn rust(&self, span: Span) -> Rust<'s> {
        Rust {
            source: self.source,
            mask: self.mask,
            span,
        }
    }

    /// The parts of a place that are known to be wrong.
    fn broken_in(&self, place: Span) -> &'s [Span] {
        let broken = self.broken;
        let first = broken.partition_point(|span| span.end <= place.start);
        let len = broken[first..].partition_point(|span| span.start < place.end);
        &broken[first..first + len]
    }

    /// True if nothing in the place has been reported that makes its Rust
    /// unreadable.
    fn is_sound(&self, place: Span) -> bool {
        self.mask.is_readable(place) && self.broken_in(place).is_empty()
    }

    /// The parts of a thread's code that are not Rust statements.
    fn holes(&self, code: &Code) -> Vec<Span> {
        let templates = code.templates.iter().map(|template| template.span);
        let broken = self.broken_in(code.span).iter().copied();
        let mut holes: Vec<Span> = templates.chain(broken).collect();
        holes.sort_unstable();
        holes
    }
}

/// True if the tree has all that the script says. Where it has not, what seems
/// to be missing may be there.
fn is_complete(built: &Built) -> bool {
    !built
        .diagnostics
        .iter()
        .any(|diagnostic| match diagnostic.code {
            Mistake::ExtraEnd | Mistake::WrongPlace => true,
            Mistake::UnknownDirective => diagnostic.suggestion.is_none(),
            _ => false,
        })
}

/// Runs every check.
pub(crate) fn check(source: &Source, mask: &Mask, built: &Built) -> Vec<Diagnostic> {
    let mut context = Context {
        source,
        mask,
        script: &built.script,
        broken: &built.broken,
        is_complete: is_complete(built),
        diagnostics: Vec::new(),
    };
    for check in [
        shape::check,
        names::check,
        conditions::check,
        threads::check,
        wake_times::check,
        fragments::check,
        ownership::check,
    ] {
        check(&mut context);
    }
    context.diagnostics
}
