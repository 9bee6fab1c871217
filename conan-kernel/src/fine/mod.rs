//! Fine granularity: what code does that was compiled with hooks.
//!
//! Such code tells of each access to memory before it makes it. Most of them
//! are nobody's business. Where threads *meet*, that is, where two of them touch
//! the same place, one of them writes, and nothing puts the one after the
//! other, another order is another execution: there, and only there, is a
//! scheduling point.
//!
//! Nobody knows beforehand where threads will meet. It is learned: an execution
//! shows which places in the code have met, and from then on they are scheduling
//! points, once the owner [`adopt`]s them. It is the owner who says when, so
//! that executions with the same decisions stay the same.

mod clocks;
mod frames;
mod hooks;
mod race;
mod shadow;
mod sites;

use std::backtrace::Backtrace;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::decide::{self, Doing};
use crate::lock::Guard;
use crate::me::{self, Inside};
use crate::point::Access;
use crate::state::{self, State};
use crate::turn;

use self::clocks::Clocks;
pub use self::frames::line_of_access;
pub(crate) use self::race::Races;
pub use self::race::{Race, Racing};
use self::shadow::Shadow;
use self::sites::Sites;

/// True once code with hooks was loaded.
static PRESENT: AtomicBool = AtomicBool::new(false);

/// True if any code of this process was compiled with hooks.
pub fn is_present() -> bool {
    PRESENT.load(Ordering::Relaxed)
}

/// Forgets where threads meet: until more is adopted, no access is a
/// scheduling point.
pub fn forget() {
    let _inside = Inside::enter();
    state::lock().fine.sites.forget();
}

/// Makes scheduling points of atomic operations, where nothing is known of them,
/// until something is adopted: most of those that threads make are made where
/// they meet. So are the first that a world comes to; there may be very many.
pub fn anticipate() {
    let _inside = Inside::enter();
    state::lock().fine.sites.anticipate();
}

/// Makes scheduling points of the places in the code that have been seen to
/// meet. To be called between worlds. Returns how many there were to look at:
/// as long as there are any, the next execution may show more.
///
/// Left out is where threads merely count references to what they share, and
/// code of this project's own, as far as functions with hooks have them in.
pub fn adopt() -> usize {
    let _inside = Inside::enter();
    let candidates = state::lock().fine.sites.candidates();
    let judged = sites::fit(candidates);
    let mut state = state::lock();
    for (candidate, is_fit) in &judged {
        state.fine.sites.settle(candidate, *is_fit);
    }
    judged.len()
}

/// How many places in the code are scheduling points.
pub fn adopted() -> usize {
    let _inside = Inside::enter();
    state::lock().fine.sites.adopted()
}

/// How many places in the code have been seen to meet, and are not adopted.
/// Where there was no room to look at all accesses, there may always be one
/// more.
pub fn waiting() -> usize {
    let _inside = Inside::enter();
    let state = state::lock();
    state.fine.sites.waiting() + usize::from(state.fine.shadow.is_full())
}

/// An access to memory that a thread is about to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) access: Access,
    pub(crate) is_atomic: bool,
    /// True if it may turn out to be a read only.
    pub(crate) is_conditional: bool,
    /// The place in the code: the address to which the hook returns.
    pub(crate) site: usize,
}

impl Touch {
    /// True if the two are not both reads, and have a byte in common.
    fn meets(&self, other: &Self) -> bool {
        let writes = self.access == Access::Store || other.access == Access::Store;
        let overlap = self.address < other.address.saturating_add(other.size)
            && other.address < self.address.saturating_add(self.size);
        writes && overlap
    }

    /// What a strategy is told. Accesses of different widths that overlap
    /// have to have the same place, so that is a word.
    fn doing(&self) -> Doing {
        let word = self.address >> 3;
        if word != self.address.saturating_add(self.size.max(1) - 1) >> 3 {
            return Doing::Point;
        }
        match self.access {
            Access::Load => Doing::Load(word << 3),
            Access::Store => Doing::Store(word << 3),
        }
    }
}

/// What an atomic operation has done, and how strictly.
#[derive(Debug, Clone, Copy, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
struct Effect {
    reads: bool,
    writes: bool,
    acquires: bool,
    releases: bool,
}

/// What is known of the accesses in a world.
pub(crate) struct Fine {
    is_on: bool,
    clocks: Clocks,
    shadow: Shadow,
    sites: Sites,
}

impl Fine {
    pub(crate) const fn new() -> Self {
        Self {
            is_on: false,
            clocks: Clocks::new(),
            shadow: Shadow::new(),
            sites: Sites::new(),
        }
    }

    /// A new world is open. All room is made here: hooks allocate nothing of
    /// their own, they may be in the middle of an allocation.
    pub(crate) fn begin(&mut self, preempts: bool) {
        self.is_on = preempts && is_present();
        if self.is_on {
            self.clocks.begin();
            self.shadow.begin();
            self.sites.begin();
        }
    }

    /// Nobody was ready: what comes now comes after all that was before.
    pub(crate) fn rests(&mut self) {
        if self.is_on {
            self.shadow.clear();
        }
    }

    /// What one thread has done comes before what the other will do.
    pub(crate) fn orders(&mut self, before: usize, after: usize) {
        if self.is_on {
            self.clocks.order(before, after);
        }
    }

    /// A thread waits or wakes others at a word. In code without hooks, it may
    /// have released that, and the locks that it holds.
    pub(crate) fn gives(&mut self, thread: usize, address: usize) {
        if self.is_on {
            self.clocks.give(thread, address);
        }
    }

    /// A thread has waited at a word. In code without hooks, it may acquire
    /// that, and the locks that it has held before.
    pub(crate) fn takes(&mut self, thread: usize, address: usize) {
        if self.is_on {
            self.clocks.take(thread, address);
        }
    }

    fn synchronizes(&mut self, thread: usize, address: usize, effect: Effect) {
        if self.is_on {
            self.clocks.operate(thread, address, effect);
        }
    }
}

/// Where to begin to look for a number in a table.
fn scatter(number: usize) -> usize {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// A thread is about to read or write memory in the ordinary way.
#[inline]
fn plain(touch: Touch) {
    if decide::is_preempting() {
        drop(arrive(touch));
    }
}

/// A thread makes an atomic operation.
#[inline]
fn atomic<R>(touch: Touch, operate: impl FnOnce() -> (R, Effect)) -> R {
    if !decide::is_preempting() {
        return operate().0;
    }
    let arrived = arrive(touch);
    let (result, effect) = operate();
    if let Some(mut arrived) = arrived {
        let number = arrived.number;
        let fine = &mut arrived.state.fine;
        fine.synchronizes(number, touch.address, effect);
    }
    result
}

/// A thread makes a fence.
#[inline]
fn fence(acquires: bool, releases: bool) {
    if decide::is_preempting()
        && let Some(slot) = me::managed()
    {
        let _inside = Inside::enter();
        let mut state = turn::enter(slot);
        let number = state.thread(slot.id).course.number;
        if state.fine.is_on {
            state.fine.clocks.fence(number, acquires, releases);
        }
    }
}

/// A thread that makes its access now: nobody else does anything meanwhile.
struct Arrived {
    // Goes first: the lock belongs to those inside.
    state: Guard<'static, State>,
    number: usize,
    _inside: Inside,
}

/// Comes to an access, lets others go first if that is decided, and takes note
/// of it. Nothing if it is none of the engine's business.
fn arrive(touch: Touch) -> Option<Arrived> {
    let slot = me::managed()?;
    // Nobody else writes there, or the writing is not safe Rust; and there are
    // too many of them.
    if !touch.is_atomic && slot.bottom.has_own(touch.address) {
        return None;
    }
    let inside = Inside::enter();
    let mut state = turn::enter(slot);
    if !state.fine.is_on {
        return None;
    }
    state.find_races(slot, &touch);
    if state.fine.sites.is_point(&touch) {
        state.thread(slot.id).course.touching = Some(touch);
        state = decide::pause(state, slot, touch.doing());
        state.thread(slot.id).course.touching = None;
        state.tell_race(slot);
    }
    let number = state.thread(slot.id).course.number;
    let Fine {
        clocks,
        shadow,
        sites,
        ..
    } = &mut state.fine;
    shadow.note(number, &touch, clocks, sites);
    sites.visit(touch.site, || slot.bottom.hidden(Backtrace::force_capture));
    Some(Arrived {
        state,
        number,
        _inside: inside,
    })
}
