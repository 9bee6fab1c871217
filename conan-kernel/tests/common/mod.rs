//! What the tests of worlds share.

#![allow(dead_code)]

use std::sync::{Arc, Mutex};

use conan_kernel::{Fifo, Strategy, ThreadId, World};

/// What happened, in its order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn note(&self, text: impl Into<String>) {
        self.0.lock().expect("nobody panics").push(text.into());
    }

    pub(crate) fn noted(&self) -> Vec<String> {
        self.0.lock().expect("nobody panics").clone()
    }
}

pub(crate) fn world() -> World {
    world_with(Fifo)
}

pub(crate) fn world_with(strategy: impl Strategy + 'static) -> World {
    World::open(strategy).expect("interposition works here")
}

pub(crate) fn spawn(
    world: &mut World,
    name: &str,
    job: impl FnOnce() + Send + 'static,
) -> ThreadId {
    world.spawn(name, job).expect("a thread can be started")
}

/// Runs until nothing moves any more, from deadline to deadline.
pub(crate) fn run_to_the_end(world: &mut World) {
    loop {
        world.run(u64::MAX);
        let Some(deadline) = world.next_deadline() else {
            return;
        };
        world.advance_to(deadline);
        world.fire_one();
    }
}

pub(crate) fn all_finished(world: &World) -> bool {
    world.threads().iter().all(|info| info.is_finished)
}

pub(crate) fn is_finished(world: &World, id: ThreadId) -> bool {
    let threads = world.threads();
    let info = threads.iter().find(|info| info.id == id);
    info.expect("the thread is of this world").is_finished
}

/// Pseudo-random numbers, the same for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}
