//! Errors that leave a fragment by `?`.

use std::fmt::Debug;
use std::panic::Location;

/// An error that `?` has carried out of a fragment.
///
/// It takes any error that can be shown; for that it must not be `Debug`
/// itself, or the conversion would overlap with the identity.
pub struct Escaped {
    pub(crate) shown: String,
    pub(crate) location: &'static Location<'static>,
}

impl<E: Debug> From<E> for Escaped {
    #[track_caller]
    fn from(error: E) -> Self {
        Self {
            shown: format!("{error:?}"),
            location: Location::caller(),
        }
    }
}

/// How a thread's code ends.
pub type Ended = Result<(), Escaped>;

/// What `return` in a thread's code returns.
pub fn ended() -> Ended {
    Ok(())
}
