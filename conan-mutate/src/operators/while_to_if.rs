//! Who wakes does not look again. A wake-up says that something may have
//! changed, not that it is this thread's turn.

use syn::visit::{self, Visit};
use syn::{
    Expr, ExprBreak, ExprClosure, ExprLoop, ExprMethodCall, ExprReturn, ExprWhile, File, Stmt,
};

use super::Edit;
use super::waits::{self, Condvar};
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
    fn visit_expr_while(&mut self, node: &'t ExprWhile) {
        if waits::waits_itself(&node.body) {
            let end = self.text.range(&node.while_token).end;
            // An `if` has no label.
            let start = match &node.label {
                Some(label) => self.text.range(label).start,
                None => self.text.range(&node.while_token).start,
            };
            self.edits.push(Edit::new(start..end, "if"));
        }
        visit::visit_expr_while(self, node);
    }

    fn visit_expr_loop(&mut self, node: &'t ExprLoop) {
        if let Some(edit) = self.leave_after_the_wait(node) {
            self.edits.push(edit);
        }
        visit::visit_expr_loop(self, node);
    }

    fn visit_expr_method_call(&mut self, call: &'t ExprMethodCall) {
        if let Some(edit) = waits::condvar(call).and_then(|wait| self.wait_once(&wait)) {
            self.edits.push(edit);
        }
        visit::visit_expr_method_call(self, call);
    }
}

impl Walk<'_> {
    /// `loop { if ready { break; } guard = condvar.wait(guard)?; }`
    fn leave_after_the_wait(&self, node: &ExprLoop) -> Option<Edit> {
        let last = node.body.stmts.last()?;
        let expr = match last {
            Stmt::Expr(Expr::Assign(assign), Some(_)) => &*assign.right,
            Stmt::Expr(expr, Some(_)) => expr,
            Stmt::Local(local) => &*local.init.as_ref()?.expr,
            _ => return None,
        };
        waits::wait(waits::without_unwrapping(expr))?;
        let mut leaving = Leaving::default();
        leaving.visit_block(&node.body);
        let end = self.text.range(last).end;
        leaving.breaks.then(|| Edit::new(end..end, " break;"))
    }

    /// `wait_while` as what it is, but with `if`.
    fn wait_once(&self, wait: &Condvar<'_>) -> Option<Edit> {
        let condition = wait.condition?;
        let body = self.text.of(&condition.body);
        let mut leaving = Leaving::default();
        leaving.visit_expr(&condition.body);
        if condition.inputs.len() != 1 || leaving.returns {
            return None;
        }
        let parameter = self.text.of(&condition.inputs[0]);
        let receiver = on_one_line(self.text.of(&wait.call.receiver));
        let limit = wait.limit.map(|limit| self.text.of(limit));
        let method = wait.call.method.to_string();
        let guard = self.text.of(wait.guard);
        // A guard that is lent is behind one more reference.
        let (binding, place) = if wait.lends_its_guard() {
            ("again", "**again")
        } else {
            ("mut again", "*again")
        };
        let holds = format!("let holds = {{ let {parameter} = &mut {place}; {body} }};");
        let (once, never) = match (method.as_str(), limit) {
            ("wait_while", None) => ("wait(again)".into(), "wait_while(again, |_| false)".into()),
            ("wait_timeout_while", Some(limit)) => (
                format!("wait_timeout(again, {limit})"),
                format!("wait_timeout_while(again, {limit}, |_| false)"),
            ),
            ("wait_while_for", Some(limit)) => (
                format!("wait_for(again, {limit})"),
                format!("wait_while_for(again, |_| false, {limit})"),
            ),
            ("wait_while_until", Some(limit)) => (
                format!("wait_until(again, {limit})"),
                format!("wait_while_until(again, |_| false, {limit})"),
            ),
            _ => return None,
        };
        let replacement = format!(
            "{{ let {binding} = {guard}; {holds} if holds {{ {receiver}.{once} }} else {{ {receiver}.{never} }} }}"
        );
        Some(Edit::new(self.text.range(wait.call), replacement))
    }
}

/// A receiver that is written over several lines.
fn on_one_line(receiver: &str) -> String {
    if receiver.contains("//") {
        return receiver.to_owned();
    }
    receiver.lines().map(str::trim).collect()
}

/// How code is left.
#[derive(Default)]
struct Leaving {
    breaks: bool,
    returns: bool,
}

impl<'t> Visit<'t> for Leaving {
    fn visit_expr_break(&mut self, node: &'t ExprBreak) {
        self.breaks |= node.expr.is_none();
    }

    fn visit_expr_return(&mut self, _: &'t ExprReturn) {
        self.returns = true;
    }

    fn visit_expr_closure(&mut self, _: &'t ExprClosure) {}
}
