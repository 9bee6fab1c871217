//! Sets of digests, which need not be hashed once more.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Digests that have been seen.
pub(crate) type Digests = HashSet<u64, BuildHasherDefault<AsItIs>>;

/// Takes a number for its own hash.
#[derive(Default)]
pub(crate) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }
}
