//! The `wall` engine: a tick takes `#ticktime` of real time, as in the paper.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::settle::{Thread, settled};
use super::{Engine, Job, Session, Watch};
use crate::clock::{Clock, MonitorClock};

/// Real time.
#[derive(Debug)]
pub struct Wall;

impl Engine for Wall {
    fn name(&self) -> &'static str {
        "wall"
    }

    fn open(&self, ticktime: Duration) -> Box<dyn Session> {
        Box::new(WallSession {
            ticktime,
            began: None,
            threads: Vec::new(),
        })
    }
}

/// A tick waits so much longer at the most for a thread that has work to do
/// and does not get the processor.
const GRACE: Duration = Duration::from_millis(500);

/// The clock is ticked this precisely: a time-out of two ticks must not run
/// out before the second tick comes.
const PRECISION: Duration = Duration::from_micros(200);

struct WallSession {
    ticktime: Duration,
    /// When the present tick began.
    began: Option<Instant>,
    threads: Vec<Thread>,
}

impl Session for WallSession {
    fn spawn(&mut self, name: &str, job: Job) -> std::io::Result<()> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let job = move || {
            // The session may be gone already if the machine is that busy.
            let _ = sender.send(Thread::current());
            job();
        };
        thread::Builder::new().name(name.to_owned()).spawn(job)?;
        self.threads.extend(receiver.recv());
        Ok(())
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(MonitorClock::new())
    }

    fn let_run(&mut self, done: &dyn Watch, limit: Duration) {
        // Nothing is done in no time at all.
        done.wait(limit.max(Duration::from_secs(1)));
    }

    fn come_to_rest(&mut self, sequence: &dyn Watch) {
        // Ticks follow each other exactly, so that late wake-ups of this
        // thread do not add up.
        let began = self.began.unwrap_or_else(Instant::now);
        let end = began + self.ticktime;
        let left = |end: Instant| end.saturating_duration_since(Instant::now());
        if sequence.wait(left(end).saturating_sub(PRECISION)) {
            return;
        }
        let grace = Instant::now() + GRACE.max(self.ticktime);
        let mut extended = false;
        while !settled(&self.threads) && Instant::now() < grace {
            extended = true;
            if sequence.wait(Duration::from_millis(1)) {
                return;
            }
        }
        while !extended && Instant::now() < end {
            std::hint::spin_loop();
        }
        self.began = Some(if extended { Instant::now() } else { end });
    }
}
