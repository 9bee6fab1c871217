//! Engines: how threads are started, and when a tick is over.
//!
//! Everything else is the same for all of them. An engine opens a session
//! for each sequence; the session starts the sequence's threads and says when
//! they have come to rest, so that the clock can tick.

mod settle;
mod wall;

use std::time::Duration;

pub use wall::Wall;

/// A way for time to pass.
pub trait Engine: Send + Sync {
    /// The name, as `--clock` and `CONAN_CLOCK` spell it.
    fn name(&self) -> &'static str;

    /// Begins a sequence whose ticks have this length.
    fn open(&self, ticktime: Duration) -> Box<dyn Session>;
}

/// What a thread runs.
pub type Job = Box<dyn FnOnce() + Send>;

/// One sequence under an engine.
pub trait Session {
    /// Starts a thread of the sequence.
    fn spawn(&mut self, name: &str, job: Job) -> std::io::Result<()>;

    /// Returns when the present tick is over: its threads have come to rest,
    /// as far as the engine can tell. May return early once all
    /// threads have ended.
    fn come_to_rest(&mut self, sequence: &dyn Watch);
}

/// What an engine may ask about the sequence that it drives.
pub trait Watch {
    /// Waits up to `limit` for every thread to end; true if they have.
    fn wait_for_the_end(&self, limit: Duration) -> bool;
}

/// Every engine that can run here, the default first.
pub fn engines() -> &'static [&'static dyn Engine] {
    &[&Wall]
}

/// The engine of this name.
pub fn engine(name: &str) -> Result<&'static dyn Engine, String> {
    let found = engines().iter().find(|engine| engine.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = engines().iter().map(|engine| engine.name()).collect();
        format!("there is no clock `{name}`; there is: {}", names.join(", "))
    })
}
