//! Who waits for whom in a process that hangs.

use conan_explore::WaitFor;
use conan_kernel::World;
use conan_kernel::preload::Relation;

/// What stands between the blocked threads of a world.
pub(crate) fn relations(world: &World) -> Vec<Relation> {
    let wait_for = WaitFor::new(world);
    let threads = world.threads().into_iter().map(|info| info.id);
    let relations = threads.map(|thread| Relation {
        thread,
        backtrace: wait_for.backtrace(thread).map(str::to_owned),
        held_by: wait_for
            .holders(thread)
            .map_or_else(Vec::new, |holders| holders.threads.clone()),
        cycle: wait_for.cycle(thread).unwrap_or_default(),
    });
    relations.collect()
}
