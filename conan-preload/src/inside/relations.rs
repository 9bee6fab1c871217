//! Who waits for whom in a process that hangs.

use conan_explore::{WaitFor, Waits};
use conan_kernel::World;
use conan_kernel::preload::Relation;

/// What stands between the blocked threads of a world.
pub(crate) fn relations(world: &World) -> Vec<Relation> {
    let wait_for = WaitFor::new(world);
    let threads = world.threads().into_iter().map(|info| info.id);
    let relations = threads.map(|thread| Relation {
        thread,
        backtrace: wait_for.backtrace(thread).map(str::to_owned),
        held_by: match wait_for.waits(thread) {
            Waits::Lock => wait_for.on(thread).to_vec(),
            _ => Vec::new(),
        },
        cycle: wait_for.cycle(thread).unwrap_or_default(),
    });
    relations.collect()
}
