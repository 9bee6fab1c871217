//! Where the engine does not run, no test is a copy.

use std::io;

use super::execute::Ran;
use super::library::{Library, Settings};
use super::list::Test;

/// There are none.
#[derive(Default)]
pub(super) struct Originals;

/// There is none.
pub(super) enum Original {}

impl Originals {
    /// Nothing.
    pub(super) fn of(&mut self, _: &Test<'_>, _: &Library) -> Option<&mut Original> {
        None
    }
}

impl Original {
    pub(super) fn copy(&mut self, _: &str, _: &Settings) -> io::Result<Option<Ran>> {
        match *self {}
    }
}
