//! Which panics say that a tool gave up, and not that the program failed.

use std::any::Any;

use crate::asked::End;

/// How the messages begin with which a tool stops at a bound of its own. A
/// program that takes many steps comes to it, whether it is right or wrong.
const BOUNDS: [&str; 2] = [
    // loom: `max_branches`, 1,000 by default.
    "Model exceeded maximum number of branches",
    // shuttle: `max_steps`, 1,000,000 by default.
    "exceeded max_steps bound",
];

/// The end of an exploration that returns, or panics in an execution.
pub fn end_of(explored: Result<(), Box<dyn Any + Send>>) -> End {
    match explored {
        Ok(()) => End::NotFound,
        Err(panic) if is_bound(message(&*panic)) => End::GaveUp,
        Err(_) => End::Found,
    }
}

fn is_bound(message: &str) -> bool {
    BOUNDS.iter().any(|bound| message.starts_with(bound))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    let constant = panic.downcast_ref::<&str>().copied();
    owned.or(constant).unwrap_or_default()
}
