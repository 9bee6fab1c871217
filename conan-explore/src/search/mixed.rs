//! Several searches in turn.

use conan_kernel::Point;

use super::{Abreast, Fixed, Pct, Pos, Progress, Search};
use crate::trace::Trace;

/// Depths that are tried, from 1 on.
const DEPTHS: usize = 5;

/// Searches take turns, because each finds what others miss.
///
/// The first execution is that of [`Abreast`] in which threads go step by step,
/// the second the default one. After these come, again and again, [`Pos`],
/// which is good at orders of accesses to the same place, [`Abreast`], which is
/// good at many threads in the same code, and [`Pct`], which is good at bugs
/// that need few changes of place, with a depth of 1, of 2, and so on up to 5.
#[derive(Debug, Clone)]
pub struct Mixed {
    abreast: Abreast,
    fixed: Fixed,
    pos: Pos,
    pct: Vec<Pct>,
    turn: Turn,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Abreast,
    Fixed,
    Pos,
    Pct(usize),
}

impl Turn {
    fn of(execution: u64) -> Self {
        let Some(later) = execution.checked_sub(2) else {
            return if execution == 0 {
                Self::Abreast
            } else {
                Self::Fixed
            };
        };
        match later % 3 {
            0 => Self::Pos,
            1 => Self::Abreast,
            _ => Self::Pct((later / 3) as usize % DEPTHS),
        }
    }
}

impl Mixed {
    /// With this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            abreast: Abreast::new(seed),
            fixed: Fixed,
            pos: Pos::new(seed),
            pct: (1..=DEPTHS).map(|depth| Pct::new(seed, depth)).collect(),
            turn: Turn::of(0),
        }
    }

    fn present(&mut self) -> &mut dyn Search {
        match self.turn {
            Turn::Abreast => &mut self.abreast,
            Turn::Fixed => &mut self.fixed,
            Turn::Pos => &mut self.pos,
            Turn::Pct(depth) => &mut self.pct[depth],
        }
    }
}

impl Search for Mixed {
    fn begin(&mut self, execution: u64) {
        self.turn = Turn::of(execution);
        self.present().begin(execution);
    }

    fn decide(&mut self, point: &Point<'_>) -> usize {
        self.present().decide(point)
    }

    fn end(&mut self, trace: &Trace) -> Progress {
        self.present().end(trace)
    }
}
