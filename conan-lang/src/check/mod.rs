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

use crate::diagnostic::Diagnostic;
use crate::mask::Mask;
use crate::rust::Rust;
use crate::source::Source;
use crate::span::Span;
use crate::tree::Script;

/// What every check looks at.
pub(crate) struct Context<'s> {
    pub(crate) source: &'s Source,
    pub(crate) mask: &'s Mask,
    pub(crate) script: &'s Script,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<'s> Context<'s> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn rust(&self, span: Span) -> Rust<'s> {
        Rust {
            source: self.source,
            mask: self.mask,
            span,
        }
    }
}

/// Runs every check.
pub(crate) fn check(source: &Source, mask: &Mask, script: &Script) -> Vec<Diagnostic> {
    let mut context = Context {
        source,
        mask,
        script,
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
