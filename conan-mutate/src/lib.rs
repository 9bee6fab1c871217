//! Mutants of concurrent components: text in, list of mutants out.
//!
//! A *mutant* is a component with one small fault, of the kind that people
//! make with locks and condition variables: `if` for `while`, `notify_one`
//! for `notify_all`, a bound off by one. A script that is worth its lines
//! fails on each of them.
//!
//! The source is parsed, but a mutant is made from the text: one range of
//! bytes is replaced, and all the rest stays as it was.
//!
//! ```
//! let source = "fn open(c: &std::sync::Condvar) { c.notify_all(); }";
//! let component = conan_mutate::component(source)?;
//! let ids: Vec<String> = component.mutants.iter().map(|mutant| mutant.id()).collect();
//! assert_eq!(ids, ["no-notify:1:35", "notify-one:1:37"]);
//! assert!(component.mutants[1].apply(source).contains("c.notify_one();"));
//! # Ok::<(), conan_mutate::SyntaxError>(())
//! ```

mod comments;
mod diff;
mod equivalent;
mod generate;
mod mutant;
mod operator;
mod operators;
mod tests_left_out;
mod text;

pub use equivalent::Problem;
pub use generate::{Component, SyntaxError, component};
pub use mutant::Mutant;
pub use operator::Operator;
