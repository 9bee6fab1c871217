//! Threads that still run when their world is at rest.

mod common;

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::{is_finished, spawn, world};
use conan_kernel::{Patience, Running, ThreadId, World};

fn running(world: &World, id: ThreadId) -> Option<Running> {
    let threads = world.threads();
    let info = threads.iter().find(|info| info.id == id);
    let running = info.expect("the thread is of this world").running;
    assert_eq!(running, world.running(id));
    running
}

#[test]
fn a_thread_that_computes_is_waited_for_until_its_processor_time_is_used_up() {
    let mut world = world();
    let may_end = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&may_end);
    let (sender, receiver) = mpsc::channel();
    let computes = spawn(&mut world, "computes", move || {
        while !seen.load(Ordering::SeqCst) {
            hint::spin_loop();
        }
        sender.send(()).unwrap();
    });
    let blocked = spawn(&mut world, "waits", move || receiver.recv().unwrap());
    let now = world.now();
    world.run(now);
    assert_eq!(running(&world, computes), Some(Running::Computes));
    assert_eq!(running(&world, blocked), None);

    let little = Duration::from_millis(50);
    let mut patience = Patience {
        processor: little,
        call: Duration::from_secs(60),
    };
    assert!(!world.await_running(&mut patience));

    // It is waited for as long as it takes, however long that is in real time.
    may_end.store(true, Ordering::SeqCst);
    patience.processor = Duration::from_secs(60);
    while !is_finished(&world, blocked) {
        assert!(world.await_running(&mut patience));
        world.run(now);
    }
    assert!(is_finished(&world, computes));
    assert_eq!(running(&world, computes), None);
    assert!(!world.await_running(&mut patience), "no thread is left");
}

#[test]
fn a_thread_that_yields_for_ever_is_running_and_not_blocked() {
    let mut world = world();
    let may_end = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&may_end);
    let yields = spawn(&mut world, "yields", move || {
        while !seen.load(Ordering::SeqCst) {
            thread::yield_now();
        }
    });
    let now = world.now();
    world.run(now);
    assert_eq!(running(&world, yields), Some(Running::Yields));
    may_end.store(true, Ordering::SeqCst);
    world.run(now);
    assert!(is_finished(&world, yields));
}
