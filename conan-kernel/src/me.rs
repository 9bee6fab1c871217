//! What the calling thread is: managed or not, inside the engine or not.

use std::cell::Cell;

use crate::handover::Slot;
use crate::interpose;
use crate::signals;
use crate::state;
use crate::turn;

thread_local! {
    // Constants without a destructor: can be looked at at any time, also
    // while the thread's other thread-locals are being dropped.
    static SLOT: Cell<Option<&'static Slot>> = const { Cell::new(None) };
    // A managed thread that was let go; it comes back when it waits.
    static FREE: Cell<Option<&'static Slot>> = const { Cell::new(None) };
    // The place of a thread that the owner of a world is about to start.
    static SPAWNING: Cell<Option<&'static Slot>> = const { Cell::new(None) };
    // The thread has a world.
    static OWNER: Cell<bool> = const { Cell::new(false) };
    // The thread has called `exit`.
    static EXITS: Cell<bool> = const { Cell::new(false) };
    static INSIDE: Cell<u32> = const { Cell::new(0) };
    static END: End = const { End(Cell::new(false)) };
}

/// The calling thread's slot, if it is managed and not inside the engine.
#[inline]
pub(crate) fn managed() -> Option<&'static Slot> {
    let slot = SLOT.get()?;
    (INSIDE.get() == 0).then_some(slot)
}

/// The calling thread's slot, if it is managed.
#[inline]
pub(crate) fn slot() -> Option<&'static Slot> {
    SLOT.get()
}

/// True if the calling thread is not managed, nor about to be.
pub(crate) fn is_bystander() -> bool {
    SLOT.get().is_none() && INSIDE.get() == 0
}

/// True if the calling thread is inside the engine.
pub(crate) fn is_inside() -> bool {
    INSIDE.get() != 0
}

/// Makes the calling thread a managed one. Its end is noticed when its
/// thread-locals have been dropped: those registered later are dropped first.
pub(crate) fn become_managed(slot: &'static Slot) {
    let _inside = Inside::enter();
    // First: it is dropped at the thread's end, not at a job's.
    END.with(|end| end.0.set(true));
    SLOT.set(Some(slot));
}

/// Makes the calling thread a managed one that ends with the process only.
pub(crate) fn adopt(slot: &'static Slot) {
    SLOT.set(Some(slot));
}

/// From now on the thread runs as if there were no engine.
pub(crate) fn become_free() {
    FREE.set(SLOT.take());
}

/// The slot of a thread that was let go, if it is not inside the engine.
pub(crate) fn free() -> Option<&'static Slot> {
    let slot = FREE.get()?;
    (INSIDE.get() == 0).then_some(slot)
}

/// A thread that was let go is managed again.
pub(crate) fn come_back() {
    SLOT.set(FREE.take());
}

/// The calling thread is not managed any longer, and will not be again.
pub(crate) fn dismiss() {
    SLOT.take();
    FREE.take();
}

/// The calling thread ends the process. libc drops its thread-locals then, as if the
/// thread ended; but it goes on, and keeps its turn: no other thread is to run while
/// the process comes to its end, unless this one waits for it.
pub(crate) fn exits() {
    EXITS.set(true);
}

/// The next thread that the calling thread starts is to become a managed one.
pub(crate) fn set_spawning(slot: &'static Slot) {
    SPAWNING.set(Some(slot));
}

pub(crate) fn take_spawning() -> Option<&'static Slot> {
    SPAWNING.take()
}

/// The calling thread has opened a world, or closed it.
pub(crate) fn set_owner(is_owner: bool) {
    OWNER.set(is_owner);
}

/// True if the calling thread has a world: what it does while the threads of
/// that are at rest is part of the run.
pub(crate) fn is_owner() -> bool {
    OWNER.get()
}

/// While this lives, the interposed functions pass through.
pub(crate) struct Inside;

impl Inside {
    #[inline]
    pub(crate) fn enter() -> Self {
        INSIDE.set(INSIDE.get() + 1);
        Self
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        let depth = INSIDE.get() - 1;
        INSIDE.set(depth);
        if depth == 0 && signals::are_any() {
            signals::take_own();
        }
    }
}

/// Dropped when the thread ends.
struct End(Cell<bool>);

impl Drop for End {
    fn drop(&mut self) {
        if EXITS.get() {
            return;
        }
        if let Some(slot) = FREE.take() {
            let _inside = Inside::enter();
            let number = slot.number.load(std::sync::atomic::Ordering::Relaxed);
            state::lock().free_threads.remove(&number);
        }
        if self.0.get()
            && let Some(slot) = SLOT.get()
        {
            let was_kept = slot.berth.is_left();
            SLOT.take();
            let _inside = Inside::enter();
            if was_kept && slot.berth.is_detached() {
                interpose::detach_self();
            }
            turn::finish(slot);
            slot.vacate();
        }
    }
}
