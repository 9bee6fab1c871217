//! Threads: once in a tick, replicated alike, and named only where they exist.

use std::collections::HashMap;

use super::Context;
use crate::diagnostic::{Code, Diagnostic};
use crate::keywords::is_keyword;
use crate::nearest::{MAX_COMPARED, nearest};
use crate::span::{Name, Span};
use crate::tree::{Sequence, ThreadBlock, TickItem};

pub(super) fn check(context: &mut Context<'_>) {
    let script = context.script;
    for sequence in &script.sequences {
        once_in_a_tick(context, sequence);
        let threads = replicated_alike(context, sequence);
        named_threads_exist(context, sequence, &threads);
    }
}

fn once_in_a_tick(context: &mut Context<'_>, sequence: &Sequence) {
    for tick in &sequence.ticks {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for item in &tick.items {
            let TickItem::Thread(ThreadBlock { id: Some(id), .. }) = item else {
                continue;
            };
            check_id(context, id);
            if let Some(first) = seen.insert(&id.value, id.span) {
                context.report(
                    Diagnostic::new(
                        Code::DuplicateThread,
                        format!("thread `{}` is in this tick twice", id.value),
                        id.span,
                    )
                    .label("the second block")
                    .related(first, "the first one")
                    .help("put the code of both into one block"),
                );
            }
        }
    }
}

fn check_id(context: &mut Context<'_>, id: &Name) {
    let value = &id.value;
    let message = if is_keyword(value) {
        format!("`{value}` is a Rust keyword and cannot name a thread")
    } else if value.contains('.') {
        format!("`{value}` cannot name a thread: a dot stands before a replica's number")
    } else if value.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        format!("`{value}` cannot name a thread: a name begins with a letter or `_`")
    } else {
        return;
    };
    let diagnostic = Diagnostic::new(Code::BadName, message, id.span);
    context.report(diagnostic.label("choose another name"));
}

/// Every thread's number of replicas; 0 stands for a thread of its own.
type Threads<'s> = HashMap<&'s str, u64>;

fn replicated_alike<'s>(context: &mut Context<'_>, sequence: &'s Sequence) -> Threads<'s> {
    let mut firsts: HashMap<&str, &ThreadBlock> = HashMap::new();
    for (_, block) in sequence.thread_blocks() {
        let Some(id) = &block.id else { continue };
        let first = *firsts.entry(&id.value).or_insert(block);
        let Some(count) = &block.replicas else {
            continue;
        };
        if first.replicas.as_ref().map(|c| c.value) != Some(count.value) {
            context.report(
                Diagnostic::new(
                    Code::BadHead,
                    format!("thread `{}` changes its number of replicas", id.value),
                    count.span,
                )
                .label("say `x` on the thread's first block")
                .related(first.head, "the first block"),
            );
        }
    }
    let count = |block: &ThreadBlock| block.replicas.as_ref().map_or(0, |count| count.value);
    firsts
        .into_iter()
        .map(|(id, block)| (id, count(block)))
        .collect()
}

fn named_threads_exist(context: &mut Context<'_>, sequence: &Sequence, threads: &Threads<'_>) {
    if !context.is_complete {
        return;
    }
    let in_ticks = sequence.items().flat_map(|(_, item)| match item {
        TickItem::Suspended(names, _) | TickItem::Finished(names, _) => names.as_slice(),
        _ => &[],
    });
    let names = sequence.stays.iter().chain(in_ticks);
    let mut strangers = names
        .filter(|name| !exists(&name.value, threads))
        .peekable();
    if strangers.peek().is_none() {
        return;
    }
    let mut known: Vec<&str> = threads.keys().copied().collect();
    known.sort_unstable();
    known.truncate(MAX_COMPARED);
    for name in strangers {
        let diagnostic = Diagnostic::new(
            Code::UnknownThread,
            format!("no thread is called `{}`", name.value),
            name.span,
        )
        .label("not a thread of this sequence");
        context.report(diagnostic.help(help_for(&name.value, threads, &known)));
    }
}

/// What to write instead of the name of a thread that does not exist.
fn help_for(name: &str, threads: &Threads<'_>, known: &[&str]) -> String {
    let base = name.rsplit_once('.').map(|(base, _)| base);
    let replicas = base.and_then(|base| threads.get_key_value(base));
    if let Some((base, &count)) = replicas {
        return match count {
            0 => format!("the thread `{base}` is not replicated"),
            _ => format!(
                "the threads `{base}` are `{base}.0` to `{base}.{}`",
                count - 1
            ),
        };
    }
    if let Some(meant) = nearest(name, known) {
        return format!("there is a thread `{meant}`");
    }
    match known {
        [] => "give the thread a name: `#thread <name>`".to_owned(),
        known if known.len() <= 8 => format!("the named threads are: {}", known.join(", ")),
        known => format!("the named threads are: {}, …", known[..8].join(", ")),
    }
}

/// `producer`, or `producer.3` of a replicated one.
fn exists(name: &str, threads: &Threads<'_>) -> bool {
    if threads.contains_key(name) {
        return true;
    }
    let Some((id, index)) = name.rsplit_once('.') else {
        return false;
    };
    let count = threads.get(id).copied().unwrap_or(0);
    index
        .parse::<u64>()
        .is_ok_and(|index| index < count && index.to_string() == name[id.len() + 1..])
}
