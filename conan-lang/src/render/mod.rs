//! Diagnostics as text: one structure, many looks, one file each.

#[cfg(feature = "json")]
mod json;
mod human;
mod short;

#[cfg(feature = "json")]
pub use json::json;
pub use human::human;
pub use short::{github, short};
