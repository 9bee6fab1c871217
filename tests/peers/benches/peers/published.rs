//! Cooperari's Table 5.3 (Simões, 2014): executions to the bug, at most 1,000,
//! for 2, 4, 8, 16 and 32 threads; the better of its two columns with a
//! cooperative scheduler.

/// Numbers of threads.
pub const THREADS: [usize; 5] = [2, 4, 8, 16, 32];

/// What the better column says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// There is no bug with so few threads.
    Impossible,
    /// In neither column.
    Missed,
    /// In this execution.
    Found(u64),
}

use Published::{Found as F, Impossible as I, Missed as M};

/// The rows.
pub const TABLE: [(&str, [Published; 5]); 12] = [
    ("alarm clock", [I, F(7), F(3), F(1), F(2)]),
    ("apache lang", [F(1), F(1), F(1), F(1), F(1)]),
    ("bank", [F(1), F(1), F(1), F(2), F(1)]),
    ("clean", [F(3), F(2), F(1), F(1), F(1)]),
    ("dining", [F(2), F(9), F(48), F(581), M]),
    ("linked list", [F(2), F(1), F(1), F(1), F(1)]),
    ("merge sort", [F(99), F(11), F(51), F(14), F(4)]),
    ("piper", [I, F(2), F(1), F(1), F(1)]),
    ("reorder", [F(2), F(13), F(4), F(7), F(10)]),
    ("semaphore", [I, F(8), F(137), M, M]),
    ("two stage", [F(52), F(57), F(11), F(15), F(28)]),
    ("wrong lock", [F(5), F(1), F(2), F(3), F(1)]),
];
