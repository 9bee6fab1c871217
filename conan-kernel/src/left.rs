//! Locks in static variables that threads of closed worlds have.
//!
//! A lock's word is not 0 while a thread has the lock. So the static variables
//! are copied whenever a world that leaves threads behind is closed: what is
//! locked in the copy was locked when no managed thread ran.

use std::ops::Range;

use crate::crew::copy;
use crate::executable;

/// The static variables, as they were once.
#[derive(Default)]
pub(crate) struct Statics(Vec<u8>);

impl Statics {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Copies all of them.
    pub(crate) fn save(&mut self) {
        let ranges = executable::statics();
        self.0.resize(ranges.iter().map(Range::len).sum(), 0);
        let mut place = 0;
        for range in ranges {
            copy(
                range.start,
                self.0[place..].as_mut_ptr() as usize,
                range.len(),
            );
            place += range.len();
        }
    }

    /// The word at this address, as it was; nothing if it is in no static
    /// variable, or if nothing has been saved.
    pub(crate) fn word(&self, address: usize) -> Option<u32> {
        let mut place = 0;
        for range in executable::statics() {
            if range.contains(&address) {
                let start = place + (address - range.start);
                let bytes = self.0.get(start..start + size_of::<u32>())?;
                return bytes.try_into().ok().map(u32::from_ne_bytes);
            }
            place += range.len();
        }
        None
    }
}
