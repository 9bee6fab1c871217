//! Exploration: a sequence under one schedule after the other.
//!
//! The script's ticks stay what they are; everything between them is decided
//! by a search: which thread of a tick goes first, who gets a lock, whom a
//! `notify_one` wakes, whether a time-out or a wake comes first.

#[cfg(conan_kernel)]
mod explored;
mod exploring;
#[cfg(conan_kernel)]
mod json;
#[cfg(conan_kernel)]
mod program;
#[cfg(conan_kernel)]
mod sequenced;
#[cfg(conan_kernel)]
mod steps;
#[cfg(conan_kernel)]
mod tick_order;

#[cfg(conan_kernel)]
pub use explored::{Explored, Failed, Finding, Replayed};
pub use exploring::{By, Exploring};
#[cfg(conan_kernel)]
pub use program::{Watch, explore, replay};
#[cfg(conan_kernel)]
pub(crate) use sequenced::{Replayer, doubt};
#[cfg(conan_kernel)]
pub(crate) use steps::{Outline, Steps};
#[cfg(conan_kernel)]
pub(crate) use tick_order::Course;
#[cfg(conan_kernel)]
pub use tick_order::TickOrder;
