//! The numbers of places in memory, in the order in which a world's decisions
//! come to know of them; and tables by address.

use std::hash::Hasher;

/// Addresses and their numbers. Kept from one world to the next, so that most
/// worlds allocate nothing for it.
pub(crate) struct Places {
    /// Open addressing; a power of two of them, or none.
    table: Vec<Entry>,
    count: u32,
    world: u32,
}

/// An entry counts only in the world that has made it.
#[derive(Clone, Copy, Default)]
struct Entry {
    world: u32,
    number: u32,
    address: usize,
}

const ROOM: usize = 64;

/// Spreads addresses over a table.
fn spread(address: usize) -> usize {
    address.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The same for a table of std's.
#[derive(Default)]
pub(crate) struct ByAddress(u64);

impl Hasher for ByAddress {
    fn finish(&self) -> u64 {
        // Its tables go by the lowest bits, and by the highest.
        self.0 ^ self.0 >> 32
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = spread(address) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = spread(self.0 as usize ^ usize::from(byte)) as u64;
        }
    }
}

impl Places {
    pub(crate) const fn new() -> Self {
        Self {
            table: Vec::new(),
            count: 0,
            world: 1,
        }
    }

    /// The same without any entry.
    pub(crate) fn forgotten(mut self) -> Self {
        self.count = 0;
        self.world = self.world.wrapping_add(1);
        if self.world == 0 {
            self.table.clear();
            self.world = 1;
        }
        self
    }

    /// The number of an address: the next one, if it has none.
    #[inline]
    pub(crate) fn number(&mut self, address: usize) -> u32 {
        if self.count as usize * 2 >= self.table.len() {
            self.grow();
        }
        let place = self.find(address);
        let entry = &mut self.table[place];
        if entry.world != self.world {
            *entry = Entry {
                world: self.world,
                number: self.count,
                address,
            };
            self.count += 1;
        }
        entry.number
    }

    /// Where an address is, or would be.
    #[inline]
    fn find(&self, address: usize) -> usize {
        let last = self.table.len() - 1;
        let mut place = (spread(address) >> 40) & last;
        loop {
            let entry = &self.table[place];
            if entry.world != self.world || entry.address == address {
                return place;
            }
            place = (place + 1) & last;
        }
    }

    fn grow(&mut self) {
        let room = (self.table.len() * 2).max(ROOM);
        let old = std::mem::replace(&mut self.table, vec![Entry::default(); room]);
        for entry in old {
            if entry.world == self.world {
                let place = self.find(entry.address);
                self.table[place] = entry;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn places_are_numbered_as_they_come_and_anew_in_each_world() {
        let mut places = Places::new();
        for world in 0..3 {
            for number in 0..1000 {
                assert_eq!(places.number(number * 8 + world), number as u32);
                assert_eq!(places.number(world), 0);
            }
            places = places.forgotten();
        }
    }
}
