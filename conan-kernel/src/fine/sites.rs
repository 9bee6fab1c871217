//! Places in the code that access memory, by the address to which their hook
//! returns.

/// Room for so many; a power of two.
const ROOM: usize = 1 << 13;

/// A place in the code.
#[derive(Debug, Clone, Copy)]
struct Site {
    /// 0 where there is none.
    address: usize,
    has_met: bool,
    is_adopted: bool,
}

const NONE: Site = Site {
    address: 0,
    has_met: false,
    is_adopted: false,
};

/// All that have been seen.
pub(super) struct Sites {
    table: Vec<Site>,
    known: usize,
    waiting: usize,
    adopted: usize,
}

impl Sites {
    pub(super) const fn new() -> Self {
        Self {
            table: Vec::new(),
            known: 0,
            waiting: 0,
            adopted: 0,
        }
    }

    pub(super) fn begin(&mut self) {
        if self.table.is_empty() {
            self.table.resize(ROOM, NONE);
        }
    }

    pub(super) fn forget(&mut self) {
        self.table.fill(NONE);
        self.known = 0;
        self.waiting = 0;
        self.adopted = 0;
    }

    pub(super) fn adopt(&mut self) -> usize {
        for site in &mut self.table {
            site.is_adopted |= site.has_met;
        }
        self.adopted += self.waiting;
        std::mem::take(&mut self.waiting)
    }

    pub(super) fn adopted(&self) -> usize {
        self.adopted
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(super) fn is_adopted(&self, address: usize) -> bool {
        let known = self.place_of(address).map(|index| &self.table[index]);
        known.is_some_and(|site| site.is_adopted)
    }

    /// The number of a site. Nothing if there is no room for another one.
    pub(super) fn number(&mut self, address: usize) -> Option<u32> {
        let index = self.place_of(address)?;
        if self.table[index].address == 0 {
            // A table that is nearly full is slow.
            if self.known > ROOM * 3 / 4 {
                return None;
            }
            self.known += 1;
            self.table[index].address = address;
        }
        Some(index as u32)
    }

    /// A site has met another one.
    pub(super) fn meets(&mut self, number: u32) {
        let site = &mut self.table[number as usize];
        if !site.has_met {
            site.has_met = true;
            self.waiting += 1;
        }
    }

    /// Where a site is, or would be.
    fn place_of(&self, address: usize) -> Option<usize> {
        let start = super::scatter(address);
        (0..self.table.len())
            .map(|step| start.wrapping_add(step) % ROOM)
            .find(|&index| {
                matches!(self.table[index].address, 0) || self.table[index].address == address
            })
    }
}
