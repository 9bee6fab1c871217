//! What `cargo conan` and the processes that it starts have to agree on: plain
//! data, without I/O and without dependencies.
//!
//! [`replay`] writes the command that repeats an execution. A driver prints it
//! under `cargo test`, and `cargo conan` prints it for what it has explored.
//! [`driver`] has the exit code of a driver that cannot do what it was asked for.

pub mod driver;
pub mod replay;
