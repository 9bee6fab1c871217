//! `#wakeTimes` lists, and the `#wakeCheck take` that take from them.

use std::collections::{HashMap, HashSet};

use super::Context;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::{Name, Span};
use crate::tree::{Sequence, TemplateKind, TickItem, Wake};

pub(super) fn check(context: &mut Context<'_>) {
    let script = context.script;
    for sequence in &script.sequences {
        let mut lists: HashMap<&str, Span> = HashMap::new();
        for list in &sequence.wake_times {
            if let Some(first) = lists.insert(&list.name.value, list.name.span) {
                context.report(
                    Diagnostic::new(
                        Code::BadWakeTimes,
                        format!("two lists are called `{}`", list.name.value),
                        list.name.span,
                    )
                    .label("the second list")
                    .related(first, "the first one"),
                );
            }
        }
        let mut takes = HashSet::new();
        for name in takes_in(sequence) {
            takes.insert(name.value.as_str());
            if !lists.contains_key(name.value.as_str()) {
                context.report(
                    Diagnostic::new(
                        Code::BadWakeTimes,
                        format!("there is no list `{}` to take from", name.value),
                        name.span,
                    )
                    .label("not declared in this sequence")
                    .help(format!(
                        "declare it in the sequence: `#wakeTimes {} 3 4`",
                        name.value
                    )),
                );
            }
        }
        for list in &sequence.wake_times {
            let is_taken = !takes.insert(list.name.value.as_str());
            if context.is_complete && !is_taken && !list.times.is_empty() {
                context.report(
                    Diagnostic::new(
                        Code::BadWakeTimes,
                        format!("nothing takes from the list `{}`", list.name.value),
                        list.name.span,
                    )
                    .label("what is left over at the end is an error")
                    .help(format!(
                        "take from it: `#wakeCheck take {} #end`",
                        list.name.value
                    )),
                );
            }
        }
    }
}

fn takes_in(sequence: &Sequence) -> impl Iterator<Item = &Name> {
    let templates = sequence.items().flat_map(|(_, item)| match item {
        TickItem::Thread(block) => block.code.templates.as_slice(),
        TickItem::Template(template) => std::slice::from_ref(template),
        _ => &[],
    });
    templates.filter_map(|template| match &template.kind {
        TemplateKind::WakeCheck(Wake::Take(name)) => Some(name),
        _ => None,
    })
}
