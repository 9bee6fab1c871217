//! Runs the sequences of `.conan` scripts.
//!
//! A generated driver is thin: it describes a [`Script`], builds a [`Plan`]
//! for a sequence (components, threads, checks) and leaves the rest to this
//! crate: the abstract [`Clock`], the threads, the templates' checks, the end
//! of the sequence, and the [`Report`]. Threads only send [`Event`]s; one
//! collector makes the report of them.
//!
//! How time passes is the business of an [`engine`]. The first one is `wall`,
//! which ticks in real time as the paper does.

mod asked;
mod backtrace;
mod clock;
mod collect;
mod crash;
pub mod engine;
mod escaped;
mod event;
pub mod explore;
#[cfg(conan_kernel)]
mod fresh;
mod harness;
mod hot_spot;
mod included;
mod left;
mod observe;
mod outcome;
mod output;
mod panics;
mod plan;
mod ran;
mod record;
mod report;
mod run;
mod scope;
mod script;
mod state;
mod suspension;
mod template;
mod thread;
mod timeline;
mod wake;

pub use clock::{Clock, MonitorClock};
pub use escaped::{Ended, Escaped, ended};
pub use event::{ErrorKind, Event, Failure, Place, Stack};
pub use harness::{main, test};
pub use hot_spot::{HotSpot, Reached, hotspot};
pub use included::every_script_is_included;
pub use observe::{Anything, Observe, ObserveResult, observe};
pub use plan::{Plan, Shareable};
pub use report::{Report, Totals, Verdict};
pub use run::{Settings, run};
pub use scope::{ticks, time};
pub use script::{Script, Sequence, Stays, WakeTimes};
pub use thread::Conan;
pub use timeline::{Moment, Timeline, What};
pub use wake::Wake;
