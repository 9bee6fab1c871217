//! What is known of a suspended thread, in words.

use std::time::Duration;

use crate::engine::{LastWake, Patience, Running, Suspension, Waker};
use crate::event::Failure;
use crate::script::Script;
use crate::wake::joined;

impl Suspension {
    /// What the thread does: suspended for good or until a time-out, or still
    /// running. `since` is a tick, if it is known.
    pub(crate) fn state(&self, since: Option<u64>) -> String {
        let tick = since.map(|tick| format!(" since tick {tick}"));
        let comma = if tick.is_some() { "," } else { "" };
        let since = tick.unwrap_or_default();
        match (self.running, self.until) {
            (Some(Running::InCall), _) => format!("still in a system call{since}"),
            (Some(Running::Computes | Running::Yields), _) => format!("still running{since}"),
            (None, Some(tick)) => {
                format!("suspended{since}{comma} until a time-out at tick {tick}")
            }
            (None, None) => format!("suspended{since}{comma} for good"),
        }
    }

    /// What a thread does that is not suspended, and how long it was waited for.
    fn activity(&self, patience: Patience) -> Option<String> {
        let seconds = |time: Duration| match time.as_secs() {
            1 => "1 second".to_owned(),
            number => format!("{number} seconds"),
        };
        Some(match self.running? {
            Running::Computes => format!(
                "it computes, and was given up after {} of processor time",
                seconds(patience.processor)
            ),
            Running::InCall => format!(
                "the engine does not emulate this call, and gave it up after {} without progress",
                seconds(patience.call)
            ),
            Running::Yields => "it yields or asks for the time, again and again".to_owned(),
        })
    }

    /// Which thread holds the lock that it waits for, as far as that is known.
    fn holder(&self) -> Option<String> {
        let probably = if self.holder_is_certain {
            ""
        } else {
            "probably "
        };
        let others = self.held_by.join(" or ");
        let holds = match (others.as_str(), self.holds_itself) {
            ("", false) => return None,
            ("", true) => format!("it {probably}holds itself"),
            (others, false) => format!("{others} {probably}holds"),
            (others, true) => format!("{others} {probably}holds, or it holds it itself"),
        };
        Some(format!("it waits for a lock that {holds}"))
    }

    /// Adds what else is known, a note each.
    pub(crate) fn describe(&self, script: &Script, patience: Patience, failure: &mut Failure) {
        let notes = &mut failure.notes;
        notes.extend(self.activity(patience));
        if let Some(location) = &self.location {
            notes.push(format!("blocked at {}", script.shown_location(location)));
        }
        if let Some(thread) = &self.joins {
            notes.push(format!("it waits for the end of {thread}"));
        }
        notes.extend(self.holder());
        if let Some(first) = self.cycle.first() {
            let next = self.cycle.iter().skip(1).chain([first]);
            let each = self.cycle.iter().zip(next);
            let each: Vec<_> = each
                .map(|(one, next)| format!("{one} waits for {next}"))
                .collect();
            notes.push(format!("a cycle: {}", joined(&each, "and")));
        }
        if let Some((tick, waker)) = &self.woken {
            let by = waker.in_words(script);
            notes.push(format!("woken at tick {tick}{by}, and waited again"));
        }
        if let Some(last) = &self.last_wake {
            notes.push(last.in_words(script));
        }
        match self.others.as_slice() {
            [] => {}
            [one] => notes.push(format!("{one} waits for the same")),
            more => notes.push(format!("{} wait for the same", joined(more, "and"))),
        }
    }
}

impl LastWake {
    fn in_words(&self, script: &Script) -> String {
        let Self { tick, by, woke } = self;
        let by = by.in_words(script);
        match woke {
            Some(woke) => format!("the last wake there, at tick {tick}{by}, woke {woke}"),
            None => format!("the last wake there, at tick {tick}{by}, found nobody waiting"),
        }
    }
}

impl Waker {
    /// Such as: by thread third in `m.receive()`. Nothing if nothing is known.
    pub(crate) fn in_words(&self, script: &Script) -> String {
        if self.time_out {
            return " by its time-out".to_owned();
        }
        let Some(thread) = &self.thread else {
            return String::new();
        };
        match self.place {
            Some(place) => format!(" by thread {thread} in `{}`", script.code_at(place)),
            None => format!(" by thread {thread}"),
        }
    }

    /// The same in few words, for a timeline.
    pub(crate) fn name(&self) -> Option<String> {
        match (&self.thread, self.time_out) {
            (_, true) => Some("its time-out".to_owned()),
            (Some(name), _) => Some(format!("thread {name}")),
            (None, _) => None,
        }
    }
}
