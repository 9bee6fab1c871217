//! Names of components, shared objects and sequences: Rust must allow them,
//! and each must be there once.

use std::collections::HashMap;

use super::Context;
use crate::diagnostic::{Code, Diagnostic};
use crate::keywords::is_keyword;
use crate::span::{Name, Span};
use crate::tree::{MemberKind, Shared};

/// Names that the driver itself brings into scope of every fragment.
const TAKEN: [&str; 4] = ["time", "ticks", "index", "conan"];

pub(super) fn check(context: &mut Context<'_>) {
    components(context);
    sequences(context);
    shared(context);
}

fn components(context: &mut Context<'_>) {
    let script = context.script;
    let mut seen: HashMap<&str, Span> = HashMap::new();
    for name in script.cuts.iter().flat_map(|cut| &cut.names) {
        check_name(context, name, "a component");
        if let Some(first) = seen.insert(&name.value, name.span) {
            context.report(
                Diagnostic::new(
                    Code::DuplicateComponent,
                    format!("component `{}` is declared twice", name.value),
                    name.span,
                )
                .label("the second declaration")
                .related(first, "the first one"),
            );
        }
    }
    let globals = script.shared.iter();
    let locals = script.sequences.iter().filter_map(|s| s.shared.as_ref());
    for block in globals.chain(locals) {
        check_name(context, &block.id, "a shared object");
        if let Some(&first) = seen.get(block.id.value.as_str()) {
            context.report(
                Diagnostic::new(
                    Code::DuplicateShared,
                    format!("`{}` is a component already", block.id.value),
                    block.id.span,
                )
                .label("the shared object needs a name of its own")
                .related(first, "the component"),
            );
        }
    }
}

fn sequences(context: &mut Context<'_>) {
    let script = context.script;
    let mut seen: HashMap<String, Span> = HashMap::new();
    for (sequence, number) in script.sequences.iter().zip(1..) {
        let (name, span) = match &sequence.name {
            Some(name) => {
                check_name(context, name, "a sequence");
                (name.value.clone(), name.span)
            }
            None => (format!("sequence_{number}"), sequence.begin),
        };
        let message = format!("two sequences are called `{name}`");
        if let Some(first) = seen.insert(name, span) {
            context.report(
                Diagnostic::new(Code::DuplicateSequence, message, span)
                    .label("each sequence is a test with a name of its own")
                    .related(first, "the first one"),
            );
        }
    }
}

fn shared(context: &mut Context<'_>) {
    let script = context.script;
    let global = script.shared.as_ref();
    if let Some(global) = global {
        members(context, global, None);
    }
    for local in script.sequences.iter().filter_map(|s| s.shared.as_ref()) {
        members(context, local, global);
    }
}

/// Members of a block are distinct; only a method may override one of the
/// block that is inherited.
fn members(context: &mut Context<'_>, block: &Shared, inherited: Option<&Shared>) {
    let mut seen: HashMap<&str, (Span, &MemberKind)> = HashMap::new();
    for member in &block.members {
        let this = (member.name.span, &member.kind);
        if let Some((first, _)) = seen.insert(&member.name.value, this) {
            context.report(twice(&member.name, first));
        }
    }
    for old in inherited.iter().flat_map(|block| &block.members) {
        let Some(&(new, kind)) = seen.get(old.name.value.as_str()) else {
            continue;
        };
        if old.kind != MemberKind::Method || *kind != MemberKind::Method {
            let name = Name {
                value: old.name.value.clone(),
                span: new,
            };
            let diagnostic = twice(&name, old.name.span);
            context.report(diagnostic.help("only a method can override an inherited one"));
        }
    }
    for member in &block.members {
        let is_hook = matches!(member.name.value.as_str(), "setup" | "teardown");
        if !is_hook || member.kind != MemberKind::Method {
            continue;
        }
        let text = &context.mask.text[member.span.range()];
        let head: String = text
            .split('{')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let allowed = match member.name.value.as_str() {
            "setup" => head.contains("(&self)") || head.contains("(&mutself)"),
            _ => head.contains("(&self)"),
        };
        if !allowed {
            let name = &member.name.value;
            let help = match name.as_str() {
                "setup" => "write `fn setup(&self)` or `fn setup(&mut self)`",
                _ => "write `fn teardown(&self)`: threads may still hold the object",
            };
            context.report(
                Diagnostic::new(
                    Code::BadShared,
                    format!("`{name}` cannot be called with these parameters"),
                    member.name.span,
                )
                .label("the driver calls it without arguments")
                .help(help),
            );
        }
    }
}

fn twice(name: &Name, first: Span) -> Diagnostic {
    Diagnostic::new(
        Code::DuplicateShared,
        format!("`{}` is declared twice in the shared object", name.value),
        name.span,
    )
    .label("the second declaration")
    .related(first, "the first one")
}

/// A name must be an identifier, no keyword, and not one of the driver's own.
fn check_name(context: &mut Context<'_>, name: &Name, of: &str) {
    let value = name.value.as_str();
    let problem = if is_keyword(value) {
        format!("`{value}` is a Rust keyword and cannot name {of}")
    } else if !is_identifier(value) {
        format!("`{value}` cannot name {of}: it is no Rust identifier")
    } else if TAKEN.contains(&value) && of != "a sequence" {
        format!("`{value}` cannot name {of}: fragments have `{value}` from the driver")
    } else {
        return;
    };
    let diagnostic = Diagnostic::new(Code::BadName, problem, name.span);
    context.report(diagnostic.label("choose another name"));
}

fn is_identifier(name: &str) -> bool {
    let raw = name.strip_prefix("r#");
    if raw.is_some_and(|name| matches!(name, "crate" | "self" | "super" | "Self" | "_")) {
        return false;
    }
    let mut chars = raw.unwrap_or(name).chars();
    let first = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    first && chars.all(|c| c.is_alphanumeric() || c == '_')
}
