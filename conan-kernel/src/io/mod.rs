//! Descriptors: calls that would wait in the system wait here, in virtual
//! time, as waits on a futex do.
//!
//! A call whose descriptor is ready is made at once. Any other waits in the
//! list of [`waiting`]; the system is asked again about all descriptors of
//! that list when no thread is ready, before time moves. Whether somebody
//! outside could still make one ready, and time must therefore keep to real
//! time, is in [`inside`].

mod births;
#[cfg(target_arch = "x86_64")]
mod by_number;
mod descriptor;
mod inside;
mod loopback;
mod random;
mod reads;
mod sets;
mod timers;
mod waiting;
mod writes;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;

#[cfg(target_arch = "x86_64")]
pub(crate) use by_number::call;
use descriptor::{Address, Identity, Kind};
pub(crate) use inside::remember_inherited;
pub(crate) use random::{is_any_random_device, is_random_device, reads_random_device};
use timers::Timers;
use waiting::Waiter;
pub(crate) use waiting::wait_really;

use crate::real::anchored;

/// A call that waits for descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The function of libc.
    pub name: &'static str,
    /// The descriptor, if there is one only.
    pub descriptor: Option<i32>,
}

impl Call {
    /// What the descriptor is: `socket`, `pipe`; nothing if that is not to be
    /// had.
    pub fn kind(&self) -> Option<&'static str> {
        let (kind, _) = descriptor::look(self.descriptor?)?;
        match kind {
            Kind::Pipe => Some("pipe"),
            Kind::Socket => Some("socket"),
            Kind::Device => Some("device"),
            Kind::File | Kind::Anonymous => None,
        }
    }
}

/// What the state of the engine has of descriptors.
pub(crate) struct Io {
    waiters: Vec<Waiter>,
    timers: Timers,
    /// Turns that threads have had since the system was asked last.
    turns: u32,
    /// What the process had before it began.
    inherited: BTreeSet<Identity>,
    /// What managed threads have made, in a world that is not the process.
    made: BTreeSet<Identity>,
    /// The devices that random numbers are read from.
    random: BTreeSet<Identity>,
    /// What something has come in from, and is known to be inside or not.
    met: BTreeSet<Identity>,
    /// The addresses that sockets of the process have, or have had.
    own: BTreeSet<Address>,
    /// Where sockets have sent something, or were connected to.
    sent_to: BTreeMap<Identity, Vec<Address>>,
    /// Whether anybody outside is behind a descriptor, and when that was found
    /// out.
    verdicts: BTreeMap<c_int, (Identity, u64, bool)>,
}

impl Io {
    pub(crate) const fn new() -> Self {
        Self {
            waiters: Vec::new(),
            timers: Timers::new(),
            turns: 0,
            inherited: BTreeSet::new(),
            made: BTreeSet::new(),
            random: BTreeSet::new(),
            met: BTreeSet::new(),
            own: BTreeSet::new(),
            sent_to: BTreeMap::new(),
            verdicts: BTreeMap::new(),
        }
    }

    /// True if no thread waits for a descriptor.
    pub(crate) fn is_quiet(&self) -> bool {
        self.waiters.is_empty()
    }

    /// A world has come to its end.
    pub(crate) fn forget(&mut self) {
        self.waiters.clear();
        self.timers.clear();
        self.made.clear();
        self.sent_to.clear();
        self.verdicts.clear();
        self.own.clear();
    }
}

/// The addresses of all functions that take libc's place here.
pub(crate) fn anchor() -> usize {
    reads::prepare();
    writes::prepare();
    anchored(&[
        births::anchor(),
        reads::anchor(),
        sets::anchor(),
        timers::anchor(),
        writes::anchor(),
    ])
}
