//! A waiter gives up; later ones wait for a notification each, and get it.
//!
//! Cooperari counted the one that had given up among those that wait, and said
//! that this deadlocks.

use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use conan_explore::Stage;

/// Puts its threads on the stage.
pub fn set(stage: &mut Stage) {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let [gives_up, waits, notifies] = [0, 1, 2].map(|_| Arc::clone(&shared));
    stage.spawn("gives up", move || {
        let guard = gives_up.0.lock().unwrap();
        let waited = gives_up.1.wait_timeout(guard, Duration::from_secs(1));
        assert!(waited.unwrap().1.timed_out(), "nobody has notified");
    });
    stage.spawn("waits", move || {
        for round in 1..3 {
            thread::sleep(Duration::from_secs(2));
            let mut count = waits.0.lock().unwrap();
            while *count < round {
                count = waits.1.wait(count).unwrap();
            }
        }
    });
    stage.spawn("notifies", move || {
        for _ in 0..2 {
            thread::sleep(Duration::from_secs(3));
            *notifies.0.lock().unwrap() += 1;
            notifies.1.notify_one();
        }
    });
}
