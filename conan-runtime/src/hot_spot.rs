//! Hot spots: places in the code that a script knows by name, and in which
//! executions they must be reached.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::{ErrorKind, Failure, Place};
use crate::panics::aside;
use crate::scope;

/// A name in `#always`, `#never` or `#sometimes`.
#[derive(Debug, Clone, Copy)]
pub struct HotSpot {
    /// What [`hotspot`] is called with.
    pub name: &'static str,
    /// In which executions it must be reached.
    pub reached: Reached,
    /// The line of the name in the script.
    pub line: u32,
    /// Its column.
    pub column: u32,
}

/// In which executions a hot spot must be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// In every one.
    Always,
    /// In none.
    Never,
    /// In at least one of an exploration.
    Sometimes,
}

/// The hot spots that a sequence has come to, and the tick of the first time.
pub(crate) type Spots = Arc<Mutex<BTreeMap<String, u64>>>;

/// The sequences that run at present, for threads that a component has
/// started: they do not know whose they are. With virtual time there is one.
static PRESENT: Mutex<Vec<Spots>> = Mutex::new(Vec::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says that the calling thread has come to the hot spot of this name. Does
/// nothing where no script runs.
pub fn hotspot(name: &str) {
    aside(|| match scope::spots() {
        Some((spots, tick)) => reach(&spots, name, tick),
        None => {
            for spots in locked(&PRESENT).iter() {
                reach(spots, name, 0);
            }
        }
    });
}

fn reach(spots: &Spots, name: &str, tick: u64) {
    let mut spots = locked(spots);
    if !spots.contains_key(name) {
        spots.insert(name.to_owned(), tick);
    }
}

/// While this lives, a sequence is told of its hot spots.
pub(crate) struct Watching(Spots);

impl Watching {
    pub(crate) fn begin() -> Self {
        let spots = Spots::default();
        locked(&PRESENT).push(Arc::clone(&spots));
        Self(spots)
    }

    pub(crate) fn spots(&self) -> Spots {
        Arc::clone(&self.0)
    }

    /// What is wrong with what one execution has reached, and the names of
    /// which an exploration needs one.
    pub(crate) fn judge(&self, wanted: &[HotSpot]) -> (Vec<Failure>, Vec<&'static str>) {
        let spots = locked(&self.0);
        let mut failures = Vec::new();
        let mut sometimes = Vec::new();
        for spot in wanted {
            match (spot.reached, spots.get(spot.name)) {
                (Reached::Always, None) => {
                    failures.push(spot.failure(0, "was not reached", "reached in every execution"));
                }
                (Reached::Never, Some(&tick)) => {
                    failures.push(spot.failure(tick, "was reached", "reached in no execution"));
                }
                (Reached::Sometimes, Some(_)) => sometimes.push(spot.name),
                _ => {}
            }
        }
        (failures, sometimes)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        locked(&PRESENT).retain(|spots| !Arc::ptr_eq(spots, &self.0));
    }
}

impl HotSpot {
    fn failure(&self, tick: u64, what: &str, expected: &str) -> Failure {
        Failure {
            kind: ErrorKind::Value,
            thread: None,
            tick,
            place: Place {
                line: self.line,
                column: self.column,
            },
            message: format!("the hot spot `{}` {what}", self.name),
            expected: Some(expected.to_owned()),
            actual: None,
            notes: Vec::new(),
            backtrace: None,
        }
    }
}
