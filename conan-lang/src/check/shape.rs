//! A script has a sequence, and a sequence has a tick.

use super::Context;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

pub(super) fn check(context: &mut Context<'_>) {
    let script = context.script;
    if script.sequences.is_empty() && context.is_complete {
        let text = context.source.text();
        let first_line = text.lines().next().unwrap_or_default();
        context.report(
            Diagnostic::new(
                Code::NoSequence,
                "this script has no sequence",
                Span::new(0, first_line.len()),
            )
            .help("a sequence is `#begin … #end`; `cargo conan new` writes one to start from"),
        );
    }
    for sequence in &script.sequences {
        if sequence.ticks.is_empty() && context.is_complete {
            context.report(
                Diagnostic::new(Code::NoTick, "this sequence has no tick", sequence.begin)
                    .label("expected at least one `#tick … #end`"),
            );
        }
    }
}
