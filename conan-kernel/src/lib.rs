//! Runs unmodified threads one at a time, in virtual time.
//!
//! A [`World`] is a set of *managed* threads and a clock. Exactly one managed
//! thread runs at any moment; it is switched at scheduling points only: where
//! it blocks, sleeps, yields, joins or ends, and, if the world's [`Strategy`]
//! preempts, where it wakes others too. Code is not changed or told. The
//! functions of libc through which std, `parking_lot`, crossbeam and others
//! block are defined in this crate, and the definition in the executable wins
//! over libc's.
//!
//! What is deliberately absent: any knowledge of scripts, ticks or reports.
//! Threads outside a world pass through and pay a look at a thread-local.

#[cfg(not(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!("conan-kernel runs on Linux with glibc, on x86-64 and aarch64 only");

mod aboard;
mod bottom;
mod child;
mod clocks;
mod crash;
mod crew;
mod deadlines;
mod decide;
mod executable;
mod fair;
pub mod fine;
mod futex;
mod handover;
mod interpose;
mod io;
mod left;
mod lock;
mod lock_holders;
mod me;
mod memory;
mod original;
mod parent;
mod places;
mod point;
mod polling;
pub mod preload;
mod process;
mod random;
mod raw;
mod real;
mod running;
mod schedule;
mod selfcheck;
mod settings;
mod signals;
#[cfg(target_arch = "x86_64")]
mod spins;
mod stack;
mod state;
mod thread;
mod time;
mod trap;
mod turn;
mod watchdog;
mod world;

pub use aboard::stay_aboard;
pub use child::connection_to_parent;
pub use crash::{Crash, Frame, Reporter, report_crashes};
pub use crew::Crew;
pub use decide::{access, has_failed, point};
pub use io::Call;
pub use lock_holders::Evidence;
pub use parent::end_with_parent;
pub use point::{Access, Choice, Kind, Place, Point, Step};
pub use process::{Account, Hang, account, manage_process};
pub use running::{Patience, Running};
pub use schedule::{Decision, Fifo, Recorded, Strategy};
pub use selfcheck::{Unavailable, available};
pub use thread::{Blocked, Cause, Inexact, Reason, ThreadId, ThreadInfo, Wake, WakeCall};
pub use world::{
    Stopped, World, aside, current_number, current_thread, is_component, last_wake, left_behind,
    park, set_tag, unpark,
};
