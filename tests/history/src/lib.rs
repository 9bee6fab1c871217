//! Known bugs of published crates; all is in `README.md` and `tests/history.rs`.
