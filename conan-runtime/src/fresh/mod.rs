//! New processes for executions that what is left behind here must not disturb.
//!
//! A thread that an execution has left suspended for good keeps what it holds.
//! So a failure in a process in which there are such threads may not be one of
//! the component. The same execution is then made once more, in a new process of
//! the same executable, and only the result there counts. The decisions are still
//! taken here, by the same search: the new process asks for each of them. A
//! search need not know in which process an execution is.

mod launch;
mod points;
mod process;
mod room;
mod serve;

pub(crate) use launch::{be_a_driver, with_test};
pub(crate) use process::{Process, Request, Way};
pub(crate) use room::room;
pub(crate) use serve::serve_if_asked;
