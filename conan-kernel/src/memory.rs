//! Memory of the engine's own, where it is a library in a process that knows
//! nothing of it.
//!
//! Its owner and its watchdog run beside the program. If they took memory from
//! where the program takes it, that would get other addresses in each run; and
//! there is code that goes by addresses: `parking_lot` queues by those of locks,
//! some hash by those of statics and stacks.
//!
//! A list of free blocks for each power of two, and chunks to cut them from. It
//! is made for few and small things; nothing is given back to the system.

use std::alloc::{GlobalAlloc, Layout};
use std::mem;
use std::ptr;

use crate::lock::Lock;
use crate::raw;

/// An allocator, for the library that says so in
/// [`preload_entry`](crate::preload_entry).
pub struct Memory;

/// The smallest block has so many bytes, as a power of two.
const SMALLEST: usize = 4;
/// Blocks of so many different sizes.
const SIZES: usize = 44;
/// What is taken from the system at a time. It costs nothing before it is used.
const CHUNK: usize = 64 << 20;
const PAGE: usize = 4096;

static ROOM: Lock<Room> = Lock::new(Room {
    next: 0,
    end: 0,
    free: [ptr::null_mut(); SIZES],
});

/// A block that nobody uses: it begins with a pointer to the next.
struct Block {
    next: *mut Block,
}

struct Room {
    /// What is left of the last chunk.
    next: usize,
    end: usize,
    free: [*mut Block; SIZES],
}

// SAFETY: the blocks are nobody's but the room's.
unsafe impl Send for Room {}

/// Which of the sizes has room for it.
fn size_of(layout: Layout) -> usize {
    let needed = layout.size().max(layout.align()).max(1 << SMALLEST);
    needed.next_power_of_two().trailing_zeros() as usize - SMALLEST
}

impl Room {
    /// A block, and whether it is new and therefore zero; null if there is none.
    fn take(&mut self, layout: Layout) -> (*mut u8, bool) {
        let size = size_of(layout);
        // Larger blocks begin at pages, and no better.
        if size >= SIZES || layout.align() > PAGE {
            return (ptr::null_mut(), false);
        }
        // SAFETY: what is in the list is free, and a block.
        if let Some(block) = unsafe { self.free[size].as_mut() } {
            self.free[size] = block.next;
            return (ptr::from_mut(block).cast(), false);
        }
        (self.cut(1 << (size + SMALLEST)), true)
    }

    fn cut(&mut self, bytes: usize) -> *mut u8 {
        let start = |next: usize| next.next_multiple_of(bytes.min(PAGE));
        if start(self.next) + bytes > self.end {
            let chunk = bytes.max(CHUNK);
            let Some(address) = raw::map(chunk) else {
                return ptr::null_mut();
            };
            (self.next, self.end) = (address, address + chunk);
        }
        let block = start(self.next);
        self.next = block + bytes;
        block as *mut u8
    }

    /// # Safety
    ///
    /// The block must have been taken for this layout, and be of no use any more.
    #[allow(
        clippy::cast_ptr_alignment,
        reason = "blocks begin at 16 bytes at least"
    )]
    unsafe fn give_back(&mut self, block: *mut u8, layout: Layout) {
        let size = size_of(layout);
        let block = block.cast::<Block>();
        // SAFETY: the caller vouches for it; every block has room for a pointer,
        // and begins where one may be.
        unsafe {
            block.write(Block {
                next: self.free[size],
            });
        }
        self.free[size] = block;
    }
}

// SAFETY: a block is given to one caller at a time, and has the size and the
// alignment that were asked for.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ROOM.lock().take(layout).0
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (block, is_new) = ROOM.lock().take(layout);
        if !is_new && !block.is_null() {
            // SAFETY: it is that large.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller vouches for it.
        unsafe { ROOM.lock().give_back(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller vouches for the size.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if size_of(wanted) == size_of(layout) {
            return block;
        }
        // SAFETY: the caller vouches for the size, which is not 0; both blocks
        // have room for the smaller of the two.
        unsafe {
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

/// A child has a copy of it: nobody may be at work here while that is made.
pub(crate) extern "C" fn before_fork() {
    mem::forget(ROOM.lock());
}

/// To be called by whoever has called [`before_fork`], and in the child.
pub(crate) extern "C" fn after_fork() {
    // SAFETY: `before_fork` has left it locked.
    unsafe { ROOM.unlock() };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).expect("a layout")
    }

    /// Writes a byte of its own into each block and finds it again at the end:
    /// no two overlap, whatever is taken and given back between.
    #[test]
    fn blocks_keep_what_is_written_to_them() {
        let mut held: Vec<(*mut u8, Layout, u8)> = Vec::new();
        let mut number = 1_u64;
        for round in 0..20_000_u32 {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let pick = (number >> 33) as usize;
            if held.len() > 200 || pick.is_multiple_of(3) && !held.is_empty() {
                let (block, layout, byte) = held.swap_remove(pick % held.len());
                // SAFETY: it was taken below and is given back once.
                unsafe {
                    assert_eq!([*block, *block.add(layout.size() - 1)], [byte; 2]);
                    Memory.dealloc(block, layout);
                }
                continue;
            }
            let layout = layout(1 + pick % 10_000, 1 << (pick % 8));
            // SAFETY: the size is not 0, and the block is as large.
            unsafe {
                let block = Memory.alloc(layout);
                assert_eq!(block as usize % layout.align(), 0);
                block.write_bytes(round as u8, layout.size());
                held.push((block, layout, round as u8));
            }
        }
        for (block, layout, byte) in held {
            // SAFETY: as above.
            unsafe {
                assert_eq!([*block, *block.add(layout.size() - 1)], [byte; 2]);
                Memory.dealloc(block, layout);
            }
        }
    }

    #[test]
    fn a_block_that_was_used_before_is_zero_if_that_is_wanted() {
        let layout = layout(3000, 8);
        // SAFETY: what is taken is given back with the same layout.
        unsafe {
            let used = Memory.alloc(layout);
            used.write_bytes(0xff, 3000);
            Memory.dealloc(used, layout);
            let zero = Memory.alloc_zeroed(layout);
            assert!((0..3000).all(|place| *zero.add(place) == 0));
            Memory.dealloc(zero, layout);
        }
    }

    #[test]
    fn what_is_moved_keeps_its_content() {
        // SAFETY: what is taken is given back with its last size.
        unsafe {
            let block = Memory.alloc(layout(40, 8));
            block.write_bytes(7, 40);
            let larger = Memory.realloc(block, layout(40, 8), 70_000_000);
            assert!((0..40).all(|place| *larger.add(place) == 7));
            let smaller = Memory.realloc(larger, layout(70_000_000, 8), 20);
            assert!((0..20).all(|place| *smaller.add(place) == 7));
            Memory.dealloc(smaller, layout(20, 8));
        }
    }
}
