//! Threads of a component that live on after the world that started them.

mod common;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread;

use common::{run_to_the_end, spawn, world};
use conan_kernel::World;

/// The tests here go one after the other: what an ordinary thread does to a
/// pool should not meet the world of another test.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pool as components have them: its workers live as long as the process.
struct Pool(Mutex<mpsc::Sender<Job>>);

type Job = Box<dyn FnOnce() + Send>;

impl Pool {
    fn start(workers: usize) -> Self {
        let (sender, receiver) = mpsc::channel::<Job>();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..workers {
            let receiver = receiver.clone();
            thread::spawn(move || {
                loop {
                    let job = receiver.lock().unwrap().recv();
                    let Ok(job) = job else { return };
                    job();
                }
            });
        }
        Self(Mutex::new(sender))
    }

    /// The sum of the squares below a number, each computed by a worker.
    fn squares(&self, below: u64) -> u64 {
        let (sender, receiver) = mpsc::channel();
        for n in 0..below {
            let sender = sender.clone();
            let job = Box::new(move || sender.send(n * n).unwrap());
            self.0.lock().unwrap().send(job).unwrap();
        }
        drop(sender);
        receiver.iter().sum()
    }
}

/// Uses a pool from a thread of a new world; true if that came to its end.
fn use_in_a_world(pool: &'static OnceLock<Pool>) -> bool {
    let mut world = world();
    let sum = Arc::new(Mutex::new(None));
    let out = sum.clone();
    spawn(&mut world, "user", move || {
        let pool = pool.get_or_init(|| Pool::start(3));
        *out.lock().unwrap() = Some(pool.squares(10));
    });
    run_to_the_end(&mut world);
    let sum = *sum.lock().unwrap();
    assert_eq!(world.inexact(), []);
    assert!(sum.is_none() || sum == Some(285));
    sum.is_some() && own_threads_finished(&world)
}

fn own_threads_finished(world: &World) -> bool {
    let threads = world.threads();
    let mut own = threads.iter().filter(|info| !info.is_component);
    own.all(|info| info.is_finished)
}

#[test]
fn a_pool_that_a_world_has_started_can_be_used_by_the_next_worlds() {
    static POOL: OnceLock<Pool> = OnceLock::new();
    let _alone = alone();
    for round in 0..20 {
        assert!(use_in_a_world(&POOL), "world {round}");
    }
}

#[test]
fn a_pool_that_a_world_has_started_can_be_used_by_an_ordinary_thread_after_it() {
    static POOL: OnceLock<Pool> = OnceLock::new();
    let _alone = alone();
    assert!(use_in_a_world(&POOL));
    let pool = POOL.get().expect("the world has started it");
    for _ in 0..20 {
        assert_eq!(pool.squares(10), 285);
    }
}

#[test]
fn a_pool_is_used_by_worlds_and_ordinary_threads_in_turn() {
    static POOL: OnceLock<Pool> = OnceLock::new();
    let _alone = alone();
    for round in 0..20 {
        assert!(use_in_a_world(&POOL), "world {round}");
        let pool = POOL.get().expect("the world has started it");
        assert_eq!(pool.squares(10), 285, "after world {round}");
    }
}

/// Uses a pool from an ordinary thread while a world is open that has nothing
/// to do with it.
fn use_beside(pool: &'static OnceLock<Pool>, meanwhile: impl FnOnce(&mut World)) {
    assert!(use_in_a_world(pool));
    let pool = pool.get().expect("the world has started it");
    let mut world = world();
    let user = thread::spawn(|| pool.squares(10));
    meanwhile(&mut world);
    assert_eq!(user.join().ok(), Some(285));
    let threads = world.threads();
    assert!(
        threads.iter().all(|info| !info.is_component),
        "{threads:#?}"
    );
}

#[test]
fn a_pool_serves_an_ordinary_thread_beside_a_world_that_runs() {
    static POOL: OnceLock<Pool> = OnceLock::new();
    let _alone = alone();
    use_beside(&POOL, |world| {
        for _ in 0..100 {
            spawn(world, "other", thread::yield_now);
            run_to_the_end(world);
        }
    });
}

#[test]
fn a_pool_serves_an_ordinary_thread_beside_a_world_that_does_not_run() {
    static POOL: OnceLock<Pool> = OnceLock::new();
    let _alone = alone();
    use_beside(&POOL, |_| {});
}
