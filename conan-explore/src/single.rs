//! One execution, of a program that can be executed once in a process.

use crate::schedule::Schedule;
use crate::search::{Replay, Search};
use crate::token::Token;
use crate::trace::Trace;

/// A single execution of many. Each is in a process of its own, and whoever
/// starts those processes has the whole.
#[derive(Debug)]
pub struct Single {
    schedule: Schedule,
    /// What it follows, if it follows a token.
    token: Option<Token>,
}

impl Single {
    /// The execution with this number, counted from 0, of a search.
    pub fn of(search: impl Search + 'static, execution: u64) -> Self {
        let schedule = Schedule::new(search, 0);
        schedule.begin(execution);
        Self {
            schedule,
            token: None,
        }
    }

    /// The decisions that a token stands for, and the default after them.
    pub fn again(token: Token) -> Self {
        let schedule = Schedule::new(Replay::new(token.choices.clone()), token.spurious);
        schedule.begin(0);
        Self {
            schedule,
            token: Some(token),
        }
    }

    /// The strategy of the world that is the execution.
    pub fn strategy(&self) -> Schedule {
        self.schedule.clone()
    }

    /// What has been decided so far.
    pub fn trace(&self) -> Trace {
        self.schedule.trace()
    }

    /// The same, to be kept.
    pub fn token(&self) -> Token {
        let spurious = self.token.as_ref().map_or(0, |token| token.spurious);
        Token::of(&self.trace(), spurious)
    }

    /// False if it has followed a token, and has come to other points than
    /// those at which the decisions were taken.
    pub fn fits(&self) -> bool {
        let token = self.token.as_ref();
        token.is_none_or(|token| token.fits(&self.trace()))
    }

    /// What the search has to know in the next execution.
    pub fn memory(&self) -> Vec<u64> {
        self.schedule.with(|search, _| search.memory())
    }
}
