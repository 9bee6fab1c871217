//! Diagnostics as text: one structure, many looks, one file each.

mod human;
#[cfg(feature = "json")]
mod json;
mod short;

pub use human::human;
#[cfg(feature = "json")]
pub use json::json;
pub use short::{github, short};
