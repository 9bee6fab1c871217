//! Runs a concurrent program under many schedules, and replays the one that
//! breaks it.
//!
//! A *program* is executed again and again, each time in a
//! [`World`](conan_kernel::World) of its own. Wherever it can go on in more
//! than one way, a [`Search`] decides: who runs next, whom a wake wakes, what
//! falls due first. The [`Explorer`] goes on until the program fails, or every
//! schedule was tried, or a bound is reached, and says which it was. Only
//! [`Dfs`] can know that nothing is left to try.
//!
//! The decisions of a failing execution can be kept as a [`Token`], a short
//! text, and taken again by [`replay`], in another process and on another
//! machine. They are made simpler first: few preemptions are easier to read
//! than many.
//!
//! What is explored is what the engine sees: threads can change places where
//! one of them waits, wakes, yields, creates, joins or ends, and wherever code
//! calls [`point`](conan_kernel::point) or [`access`](conan_kernel::access).
//! Two sections under a lock that nobody else wants at that moment have no
//! such place between them, unless they were compiled with hooks (see
//! [`fine`](conan_kernel::fine)). Then there is one before each access to memory
//! at which threads meet; where they do is learned in some executions before
//! the search.
//!
//! What is deliberately absent: files, output, clocks, scripts.

mod digests;
mod explorer;
mod failure;
mod learning;
mod panics;
mod prng;
mod program;
mod race;
mod schedule;
mod search;
mod shrink;
mod single;
mod threads;
mod token;
mod trace;
mod wait_for;
mod waits;

pub use explorer::{Bound, Counts, End, Exploration, Explorer, Found, Replayed, Shard, replay};
pub use failure::{Failure, Holder, Panic, Stuck, Suspended, Waits, Why};
pub use learning::{learn_from, learned};
pub use prng::Prng;
pub use program::{Outcome, Program, Verdict};
pub use race::{Raced, Racer};
pub use schedule::{InHand, Schedule};
pub use search::{Abreast, Bounds, Dfs, Fixed, History, Mixed, Pct, Pos, Progress, Random, Search};
pub use shrink::Shrunk;
pub use single::Single;
pub use threads::{Stage, Threads};
pub use token::{Token, TokenError};
pub use trace::{Taken, Trace};
pub use wait_for::{Holders, WaitFor};
