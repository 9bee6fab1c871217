//! How commands end when their output cannot be written, and when they are
//! ended by a signal: the table in the book, cell by cell. What they print in
//! which format, and the replay command that they print.
#![cfg(target_os = "linux")]

mod fixture;
mod formats;
mod output;
mod replays;
mod signals;
