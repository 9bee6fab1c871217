//! Programs with bugs, over std's own primitives, and what tests of them
//! share.

#![allow(dead_code, unreachable_pub)]

pub mod programs;

use conan_explore::{End, Exploration, Explorer, Failure, Found, Program, Search};

/// Explores a program that is known to fail, and returns how.
#[track_caller]
pub fn find<P: Program<Failure = Failure>>(
    program: &P,
    search: impl Search + 'static,
    executions: u64,
) -> (Found<Failure>, u64) {
    let exploration = Explorer::new(search)
        .executions(executions)
        .explore(program);
    let Exploration { end, counts } = exploration;
    assert_eq!(counts.inexact, 0);
    match end {
        End::Failed(found) => (*found, counts.executions),
        other => panic!(
            "nothing found in {} executions: {other:?}",
            counts.executions
        ),
    }
}

/// Explores a program and returns how that ended, if not by a failure.
#[track_caller]
pub fn passes<P: Program<Failure = Failure>>(
    program: &P,
    search: impl Search + 'static,
    executions: u64,
) -> Exploration<Failure> {
    let exploration = Explorer::new(search)
        .executions(executions)
        .explore(program);
    if let End::Failed(found) = &exploration.end {
        panic!("{}", found.failure);
    }
    assert_eq!(exploration.counts.inexact, 0);
    exploration
}
