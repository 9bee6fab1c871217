//! The two faults that the paper found in its pool of terminals.

use std::sync::{Arc, Mutex};

use crate::blocking_terminal_pool::{Terminal, TerminalError};

/// Makes the list of terminals without keeping others out meanwhile.
///
/// It sees to it that there is a place for each terminal, and then goes
/// through the list. If a terminal has been removed by then, a place stays
/// empty; if one has been added, there is no place for it. Of the pool only
/// the list is here.
#[derive(Debug)]
pub struct UnsynchronisedList<T> {
    terminals: Mutex<Vec<Arc<T>>>,
}

impl<T: Terminal> UnsynchronisedList<T> {
    /// A pool without a terminal.
    pub fn new(_maximum: usize) -> Self {
        Self {
            terminals: Mutex::new(Vec::new()),
        }
    }

    /// Adds a terminal to the list.
    pub fn add(&self, terminal: T) -> Result<(), TerminalError> {
        self.terminals.lock().unwrap().push(Arc::new(terminal));
        Ok(())
    }

    /// Removes a terminal from the list.
    pub fn remove(&self, name: &str) -> Result<(), TerminalError> {
        let mut terminals = self.terminals.lock().unwrap();
        let index = terminals
            .iter()
            .position(|terminal| terminal.name() == name);
        terminals.remove(index.ok_or(TerminalError::Unknown)?);
        Ok(())
    }

    /// The status of each terminal in the list.
    pub fn statuses(&self) -> Vec<String> {
        let count = self.terminals.lock().unwrap().len();
        let mut statuses = vec![String::new(); count];
        let mut place = 0;
        while let Some(terminal) = self.terminal(place) {
            statuses[place] = terminal.status();
            place += 1;
        }
        statuses
    }

    fn terminal(&self, place: usize) -> Option<Arc<T>> {
        self.terminals.lock().unwrap().get(place).cloned()
    }
}
