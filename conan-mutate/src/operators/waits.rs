//! What a wait looks like: the methods of the condition variables of std and
//! of `parking_lot`, and parking.

use syn::visit::{self, Visit};
use syn::{
    Block, Expr, ExprAsync, ExprCall, ExprClosure, ExprForLoop, ExprLoop, ExprMethodCall,
    ExprReference, ExprWhile, Item,
};

/// A call that waits.
pub(crate) enum Wait<'t> {
    /// `condvar.wait(guard)` and its relatives.
    Condvar(Condvar<'t>),
    /// `thread::park()`, `thread::park_timeout(…)`
    Park,
}

/// A call of a condition variable's.
pub(crate) struct Condvar<'t> {
    pub(crate) call: &'t ExprMethodCall,
    pub(crate) guard: &'t Expr,
    /// The condition of `wait_while` and its relatives.
    pub(crate) condition: Option<&'t ExprClosure>,
    /// When to give up.
    pub(crate) limit: Option<&'t Expr>,
}

impl Condvar<'_> {
    /// True if the guard is lent, as `parking_lot` has it, and not given away.
    pub(crate) fn lends_its_guard(&self) -> bool {
        matches!(
            self.guard,
            Expr::Reference(ExprReference {
                mutability: Some(_),
                ..
            })
        )
    }
}

/// The wait that an expression is.
pub(crate) fn wait(expr: &Expr) -> Option<Wait<'_>> {
    match expr {
        Expr::MethodCall(call) => condvar(call).map(Wait::Condvar),
        Expr::Call(call) if is_park(call) => Some(Wait::Park),
        _ => None,
    }
}

/// The wait that a method call is.
pub(crate) fn condvar(call: &ExprMethodCall) -> Option<Condvar<'_>> {
    // Where the condition and the limit stand among the arguments.
    let (count, condition, limit) = match call.method.to_string().as_str() {
        "wait" => (1, None, None),
        "wait_timeout" | "wait_timeout_ms" | "wait_for" | "wait_until" => (2, None, Some(1)),
        "wait_while" => (2, Some(1), None),
        "wait_timeout_while" => (3, Some(2), Some(1)),
        "wait_while_for" | "wait_while_until" => (3, Some(1), Some(2)),
        _ => return None,
    };
    if call.args.len() != count {
        return None;
    }
    let condition = match condition.map(|index| &call.args[index]) {
        Some(Expr::Closure(closure)) => Some(closure),
        // A condition that is not written here cannot be changed here.
        Some(_) | None => None,
    };
    Some(Condvar {
        call,
        guard: &call.args[0],
        condition,
        limit: limit.map(|index| &call.args[index]),
    })
}

fn is_park(call: &ExprCall) -> bool {
    let Expr::Path(path) = &*call.func else {
        return false;
    };
    let last = path.path.segments.last();
    last.is_some_and(|last| last.ident == "park" || last.ident == "park_timeout")
}

/// An expression without what makes a value of a `Result` around it:
/// `.unwrap()`, `.expect("…")`, `.unwrap_or_else(…)`, `?`.
pub(crate) fn without_unwrapping(mut expr: &Expr) -> &Expr {
    loop {
        expr = match expr {
            Expr::MethodCall(call)
                if ["unwrap", "expect", "unwrap_or_else"]
                    .iter()
                    .any(|name| call.method == name) =>
            {
                &call.receiver
            }
            Expr::Try(expr) => &expr.expr,
            Expr::Paren(expr) => &expr.expr,
            _ => return expr,
        };
    }
}

/// True if a block waits itself: not in a loop or a closure inside it.
pub(crate) fn waits_itself(block: &Block) -> bool {
    #[derive(Default)]
    struct Search {
        found: bool,
    }
    impl<'t> Visit<'t> for Search {
        fn visit_expr(&mut self, expr: &'t Expr) {
            self.found |= wait(expr).is_some();
            visit::visit_expr(self, expr);
        }
        fn visit_expr_while(&mut self, _: &'t ExprWhile) {}
        fn visit_expr_loop(&mut self, _: &'t ExprLoop) {}
        fn visit_expr_for_loop(&mut self, _: &'t ExprForLoop) {}
        fn visit_expr_closure(&mut self, _: &'t ExprClosure) {}
        fn visit_expr_async(&mut self, _: &'t ExprAsync) {}
        fn visit_item(&mut self, _: &'t Item) {}
    }
    let mut search = Search::default();
    search.visit_block(block);
    search.found
}
