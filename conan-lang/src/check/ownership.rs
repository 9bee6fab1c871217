//! `takes` and `clones`: who has a component, and who may use it.

use std::collections::{BTreeMap, HashMap, HashSet};

use syn::parse::Parser;
use syn::visit::Visit;

use super::Context;
use crate::diagnostic::{Code, Diagnostic};
use crate::rust::first_uses;
use crate::span::{Name, Span};
use crate::tree::{Sequence, TemplateKind, ThreadBlock, TickItem};

pub(super) fn check(context: &mut Context<'_>) {
    let script = context.script;
    let components = script.cuts.iter().flat_map(|cut| &cut.names);
    let components: HashSet<&str> = components.map(|name| name.value.as_str()).collect();
    for sequence in &script.sequences {
        let owned = declarations(context, sequence, &components);
        if !owned.is_empty() {
            uses(context, sequence, &owned);
        }
    }
}

/// Who takes or clones a component of a sequence.
#[derive(Default)]
struct Owners {
    taker: Option<(String, Span)>,
    cloners: HashMap<String, Span>,
}

/// What tells one thread from another: its id, or its place if it has none.
fn thread_key(block: &ThreadBlock) -> String {
    match &block.id {
        Some(id) => id.value.clone(),
        None => format!("@{}", block.span.start),
    }
}

/// Checks every `takes` and `clones` and returns what they say.
fn declarations<'s>(
    context: &mut Context<'_>,
    sequence: &'s Sequence,
    components: &HashSet<&str>,
) -> BTreeMap<&'s str, Owners> {
    let mut owned: BTreeMap<&str, Owners> = BTreeMap::new();
    let mut first_blocks: HashMap<String, &ThreadBlock> = HashMap::new();
    for (_, block) in sequence.thread_blocks() {
        let key = thread_key(block);
        let first = *first_blocks.entry(key.clone()).or_insert(block);
        let takes = block.takes.iter().map(|name| (name, true));
        let clones = block.clones.iter().map(|name| (name, false));
        for (name, is_take) in takes.chain(clones) {
            if !components.contains(name.value.as_str()) {
                context.report(unknown_component(name));
                continue;
            }
            if first.span != block.span {
                context.report(
                    Diagnostic::new(
                        Code::BadOwnership,
                        format!(
                            "`{}` must be given to the thread from its start",
                            name.value
                        ),
                        name.span,
                    )
                    .label("this is not the thread's first block")
                    .related(first.head, "say it here"),
                );
            }
            let owners = owned.entry(name.value.as_str()).or_default();
            let clash = if is_take {
                owners.take(&key, block, name)
            } else {
                owners.clone_for(&key, name)
            };
            if let Some(diagnostic) = clash {
                context.report(diagnostic);
            }
        }
    }
    owned
}

impl Owners {
    fn take(&mut self, key: &str, block: &ThreadBlock, name: &Name) -> Option<Diagnostic> {
        let component = &name.value;
        if block.replicas.is_some() {
            let message = format!("`{component}` cannot be taken by several threads");
            return Some(
                Diagnostic::new(Code::BadOwnership, message, name.span)
                    .label("this thread is replicated")
                    .help(format!("give each a clone: `clones {component}`")),
            );
        }
        if let Some((_, first)) = &self.taker {
            let message = format!("`{component}` is taken twice");
            return Some(
                Diagnostic::new(Code::BadOwnership, message, name.span)
                    .label("it can be moved into one thread only")
                    .related(*first, "taken here already"),
            );
        }
        self.taker = Some((key.to_owned(), name.span));
        self.both(key, name)
    }

    fn clone_for(&mut self, key: &str, name: &Name) -> Option<Diagnostic> {
        if let Some(first) = self.cloners.insert(key.to_owned(), name.span) {
            let message = format!("`{}` is cloned twice for one thread", name.value);
            return Some(
                Diagnostic::new(Code::BadOwnership, message, name.span)
                    .label("one clone is enough")
                    .related(first, "cloned here already"),
            );
        }
        self.both(key, name)
    }

    fn both(&self, key: &str, name: &Name) -> Option<Diagnostic> {
        let (taker, taken) = self.taker.as_ref()?;
        let cloned = self.cloners.get(key)?;
        (taker == key).then(|| {
            let message = format!("one thread both takes and clones `{}`", name.value);
            Diagnostic::new(Code::BadOwnership, message, *cloned)
                .label("a thread has one of the two")
                .related(*taken, "taken here")
        })
    }
}

fn unknown_component(name: &Name) -> Diagnostic {
    Diagnostic::new(
        Code::BadOwnership,
        format!("there is no component `{}`", name.value),
        name.span,
    )
    .label("no `#cut` declares it")
}

/// All the code of one thread, or of the checks outside any thread.
#[derive(Default)]
struct Body {
    /// Where it uses components that belong to threads, first.
    uses: BTreeMap<String, Span>,
    /// The names that the code binds itself.
    bound: HashSet<String>,
}

/// Finds threads that use a component without having it.
fn uses(context: &mut Context<'_>, sequence: &Sequence, owned: &BTreeMap<&str, Owners>) {
    let mut bodies: BTreeMap<String, Body> = BTreeMap::new();
    for (_, item) in sequence.items() {
        let (key, span, holes, templates) = match item {
            TickItem::Thread(block) => {
                let code = &block.code;
                (
                    thread_key(block),
                    code.span,
                    context.holes(code),
                    code.templates.as_slice(),
                )
            }
            TickItem::Template(template) => {
                let holes = vec![template.span];
                (
                    String::new(),
                    template.span,
                    holes,
                    std::slice::from_ref(template),
                )
            }
            TickItem::Suspended(..) | TickItem::Finished(..) => continue,
        };
        // A fragment that is no Rust has been reported already.
        let Some(tokens) = context.rust(span).raw_tokens() else {
            continue;
        };
        let body = bodies.entry(key).or_default();
        for (name, place) in first_uses(tokens, owned) {
            let place = context.rust(span).place(place);
            body.uses.entry(name.to_owned()).or_insert(place);
        }
        bind(context, span, &holes, &mut body.bound);
        for template in templates {
            if let TemplateKind::ExcMonitor { code, .. } = &template.kind {
                bind(context, code.span, &[], &mut body.bound);
            }
        }
    }
    for (component, owners) in owned {
        for (key, body) in &bodies {
            let is_taker = owners.taker.as_ref().is_some_and(|(taker, _)| taker == key);
            let has_it = is_taker || owners.cloners.contains_key(key);
            if has_it || body.bound.contains(*component) {
                continue;
            }
            if let Some(&place) = body.uses.get(*component) {
                context.report(foreign(component, owners, place, key.is_empty()));
            }
        }
    }
}

/// Collects the names that statements bind, by `let`, a pattern or a parameter.
fn bind(context: &Context<'_>, span: Span, holes: &[Span], bound: &mut HashSet<String>) {
    struct Binder<'n>(&'n mut HashSet<String>);
    impl<'ast> Visit<'ast> for Binder<'_> {
        fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
            self.0.insert(pattern.ident.to_string());
            syn::visit::visit_pat_ident(self, pattern);
        }
    }
    let tokens = context.rust(span).tokens(holes).ok();
    let statements = tokens.and_then(|tokens| syn::Block::parse_within.parse2(tokens).ok());
    for statement in statements.iter().flatten() {
        Binder(bound).visit_stmt(statement);
    }
}

fn foreign(component: &str, owners: &Owners, place: Span, outside: bool) -> Diagnostic {
    let user = if outside {
        "no thread here has"
    } else {
        "this thread does not have"
    };
    let diagnostic = Diagnostic::new(
        Code::ForeignComponent,
        format!("`{component}` belongs to other threads"),
        place,
    )
    .label(format!("{user} `{component}`"));
    let cloned = owners.cloners.values().min().copied();
    let diagnostic = match (&owners.taker, cloned) {
        (Some((_, taken)), _) => diagnostic.related(*taken, "it is moved into this thread"),
        (None, Some(cloned)) => diagnostic.related(cloned, "every thread has a clone of its own"),
        (None, None) => diagnostic,
    };
    if outside {
        return diagnostic.help("use it inside the thread that has it");
    }
    diagnostic.help(format!(
        "say `clones {component}` on this thread's first block"
    ))
}
