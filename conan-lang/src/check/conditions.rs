//! Conditions: declared once, named by a `#test`, and no others named.

use std::collections::{HashMap, HashSet};

use super::Context;
use crate::diagnostic::{Code, Diagnostic};
use crate::nearest::{MAX_COMPARED, nearest};

pub(super) fn check(context: &mut Context<'_>) {
    let script = context.script;
    let Some(conditions) = &script.conditions else {
        return;
    };
    let mut declared = HashMap::new();
    for condition in &conditions.items {
        let id = condition.id.value.as_str();
        if let Some(first) = declared.insert(id, condition.id.span) {
            context.report(
                Diagnostic::new(
                    Code::DuplicateCondition,
                    format!("condition `{id}` is declared twice"),
                    condition.id.span,
                )
                .label("the second declaration")
                .related(first, "the first one"),
            );
        }
    }
    let known = conditions
        .items
        .iter()
        .map(|condition| condition.id.value.as_str());
    let known: Vec<&str> = known.take(MAX_COMPARED).collect();
    let mut exercised = HashSet::new();
    for name in script.sequences.iter().flat_map(|sequence| &sequence.test) {
        exercised.insert(name.value.as_str());
        if !declared.contains_key(name.value.as_str()) {
            let diagnostic = Diagnostic::new(
                Code::UndeclaredCondition,
                format!("condition `{}` is not declared", name.value),
                name.span,
            )
            .label("no such condition")
            .related(conditions.head, "the conditions are declared here");
            context.report(match nearest(&name.value, &known) {
                Some(meant) => diagnostic.help(format!("there is a condition `{meant}`")),
                None => diagnostic,
            });
        }
    }
    if !context.is_complete {
        return;
    }
    for condition in &conditions.items {
        if !exercised.contains(condition.id.value.as_str()) {
            context.report(
                Diagnostic::new(
                    Code::UnexercisedCondition,
                    format!("condition `{}` is never exercised", condition.id.value),
                    condition.id.span,
                )
                .label("no `#test` names it"),
            );
        }
    }
}
