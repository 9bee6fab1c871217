//! A lock is given up in the middle of its section, and taken again: what
//! was seen before may not hold any more, and others see what is half done.
//!
//! Between the two, the thread yields. A component that has such a gap can be
//! lucky for years; the mutant shall be unlucky at once.
//!
//! Two places are tried in each section: between check and act, and before
//! the last use of the guard. That the lock is given up before a notification
//! at the section's end is no fault, and no mutant.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Block, Expr, File, Local, Pat, Stmt};

use super::Edit;
use super::waits::{self, Wait};
use crate::text::Text;

pub(super) fn edits(file: &File, text: Text<'_>) -> Vec<Edit> {
    let mut walk = Walk {
        text,
        edits: Vec::new(),
    };
    walk.visit_file(file);
    walk.edits
}

struct Walk<'s> {
    text: Text<'s>,
    edits: Vec<Edit>,
}

impl<'t> Visit<'t> for Walk<'_> {
    fn visit_block(&mut self, block: &'t Block) {
        for (index, statement) in block.stmts.iter().enumerate() {
            if let Some(section) = self.section(statement) {
                self.split(section, &block.stmts[index + 1..]);
            }
        }
        visit::visit_block(self, block);
    }
}

/// A lock that is held from a `let` on.
struct Section<'s> {
    guard: Guard,
    /// How the lock is taken.
    lock: &'s str,
    /// True if the `let` has also checked something, as `wait_while` does.
    is_checked: bool,
}

#[derive(Clone)]
struct Guard {
    name: String,
    is_mutable: bool,
}

/// What a statement of a section does with its guard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    None,
    Check,
    Act,
}

impl<'s> Walk<'s> {
    /// The section that a statement opens.
    fn section(&self, statement: &Stmt) -> Option<Section<'s>> {
        let Stmt::Local(local) = statement else {
            return None;
        };
        let guard = guard_in(&local.pat)?;
        let init = &*local.init.as_ref()?.expr;
        let inner = waits::without_unwrapping(init);
        if is_lock(inner) {
            return Some(Section {
                guard,
                lock: self.text.of(init),
                is_checked: false,
            });
        }
        match waits::wait(inner)? {
            Wait::Condvar(wait) if is_lock(waits::without_unwrapping(wait.guard)) => {
                Some(Section {
                    guard,
                    lock: self.text.of(wait.guard),
                    is_checked: true,
                })
            }
            _ => None,
        }
    }

    fn split(&mut self, section: Section<'s>, statements: &[Stmt]) {
        let mut guard = section.guard;
        let mut last = if section.is_checked {
            Use::Check
        } else {
            Use::None
        };
        let mut before_last = None;
        for (index, statement) in statements.iter().enumerate() {
            if drops(statement, &guard.name) {
                break;
            }
            let (how, rebound) = usage(statement, &guard.name);
            if how == Use::Act && last == Use::Check {
                // Right after the check, whatever stands before the act.
                let next = first_after_use(statements, index, &guard.name);
                let edit = self.retake(&statements[next], &guard, section.lock);
                self.edits.push(edit);
            }
            if let Some(act) = act_in_branch(statement, &guard.name) {
                let edit = self.retake(act, &guard, section.lock);
                self.edits.push(edit);
            }
            if how != Use::None {
                if last != Use::None {
                    before_last = Some(self.retake(statement, &guard, section.lock));
                }
                last = how;
            }
            guard = rebound.unwrap_or(guard);
        }
        self.edits.extend(before_last);
    }

    /// Gives the lock up and takes it again, before a statement.
    fn retake(&self, statement: &Stmt, guard: &Guard, lock: &str) -> Edit {
        let start = self.text.range(statement).start;
        let Guard { name, is_mutable } = guard;
        // One that is not mutable gets a namesake.
        let binding = if *is_mutable { "" } else { "let " };
        let before = &self.text.source[self.text.line_start(start)..start];
        let space = if before.trim().is_empty() {
            format!("\n{before}")
        } else {
            " ".to_owned()
        };
        let gap =
            format!("drop({name}); ::std::thread::yield_now(); {binding}{name} = {lock};{space}");
        Edit::new(start..start, gap)
    }
}

/// The first statement after the last use before `index`.
fn first_after_use(statements: &[Stmt], index: usize, name: &str) -> usize {
    let uses = |statement: &Stmt| mentions(statement.to_token_stream(), name);
    let used = statements[..index].iter().rposition(uses);
    used.map_or(0, |used| used + 1)
}

/// `if *count > 0 { *count -= 1; }`: the act in the branch of a check.
fn act_in_branch<'t>(statement: &'t Stmt, name: &str) -> Option<&'t Stmt> {
    let Stmt::Expr(Expr::If(node), _) = statement else {
        return None;
    };
    let branch = &node.then_branch;
    let is_about_it = mentions(node.cond.to_token_stream(), name)
        && mentions(branch.to_token_stream(), name)
        && !matches!(&*node.cond, Expr::Let(_))
        && !waits::waits_itself(branch);
    branch.stmts.first().filter(|_| is_about_it)
}

/// What a statement does with the guard, and the guard that it hands on.
fn usage(statement: &Stmt, name: &str) -> (Use, Option<Guard>) {
    if !mentions(statement.to_token_stream(), name) {
        return (Use::None, None);
    }
    match statement {
        // `let (guard, _) = condvar.wait_timeout_while(guard, …)…;`
        Stmt::Local(Local { pat, init, .. }) => {
            let init = init
                .as_ref()
                .map(|init| waits::without_unwrapping(&init.expr));
            match init.and_then(waits::wait) {
                Some(Wait::Condvar(_)) => (Use::Check, guard_in(pat)),
                _ => (Use::Act, None),
            }
        }
        Stmt::Expr(Expr::While(_) | Expr::Loop(_) | Expr::If(_), _) => (Use::Check, None),
        Stmt::Expr(Expr::Assign(assign), _) => {
            match waits::wait(waits::without_unwrapping(&assign.right)) {
                Some(_) => (Use::Check, None),
                None => (Use::Act, None),
            }
        }
        _ => (Use::Act, None),
    }
}

/// `drop(guard);`
fn drops(statement: &Stmt, name: &str) -> bool {
    let Stmt::Expr(Expr::Call(call), _) = statement else {
        return false;
    };
    let Expr::Path(function) = &*call.func else {
        return false;
    };
    let last = function.path.segments.last();
    let is_drop = last.is_some_and(|last| last.ident == "drop");
    is_drop && call.args.len() == 1 && mentions(call.args[0].to_token_stream(), name)
}

/// The name that a guard is bound to: the whole pattern, or the first in a
/// pair of guard and time-out.
fn guard_in(pattern: &Pat) -> Option<Guard> {
    match pattern {
        Pat::Ident(pattern) if pattern.ident != "_" => Some(Guard {
            name: pattern.ident.to_string(),
            is_mutable: pattern.mutability.is_some(),
        }),
        Pat::Type(pattern) => guard_in(&pattern.pat),
        Pat::Tuple(pattern) => guard_in(pattern.elems.first()?),
        _ => None,
    }
}

/// `….lock()`, and a `match` that looks into what it gives.
fn is_lock(expr: &Expr) -> bool {
    match expr {
        Expr::MethodCall(call) => {
            let names = ["lock", "read", "write"];
            call.args.is_empty() && names.iter().any(|name| call.method == name)
        }
        Expr::Match(node) => is_lock(&node.expr),
        _ => false,
    }
}

fn mentions(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        _ => false,
    })
}
