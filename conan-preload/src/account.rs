//! What came of a process, as the library has written it.

use std::time::Duration;

/// What came of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Account {
    /// Its threads were managed.
    Managed {
        /// The virtual time that passed.
        time: Duration,
        /// Tells one course of events from another.
        trace: String,
        /// Why the run was not exact; empty if it was.
        inexact: Vec<Inexact>,
        /// How it stood when nothing could move any more.
        hang: Option<Hang>,
        /// What was decided in it, if it was asked to follow a schedule.
        scheduled: Option<Scheduled>,
    },
    /// The schedule that it was asked to follow is none, for this reason.
    Refused(String),
    /// They could not be, for this reason.
    Unmanaged(String),
}

/// What was decided in a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduled {
    /// Stands for all decisions, and the points at which they were taken.
    pub hash: u64,
    /// How many of them were about who runs next.
    pub turns: u64,
    /// The same decisions again, if that is short.
    pub token: Option<String>,
    /// False if it is known that it has come to other points than it should.
    pub fits: bool,
}

/// Why a run was not exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inexact {
    /// What happened.
    pub reason: Reason,
    /// The thread's name, if it has one.
    pub thread: Option<String>,
}

/// What made a run inexact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A thread computed or polled for long without a scheduling point.
    Running,
    /// A thread was blocked in something that the engine does not see.
    Blocked,
    /// A thread woke one that is not managed.
    WokeOutside,
    /// A thread was woken by one that is not managed.
    WokenFromOutside,
    /// A thread had to do with somebody else, who is behind a descriptor.
    Io,
    /// Somebody outside sent a signal.
    Signal,
    /// The process started another one.
    Process,
    /// A thread sent as much as the buffers of a connection take.
    Room,
    /// Somebody drew the system's random numbers.
    Random,
}

/// Nothing will come of the process any more.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hang {
    /// Threads still run, but only to yield or to wait for time to pass;
    /// otherwise every one is suspended for good.
    pub is_alive: bool,
    /// The threads, in the order in which they were started.
    pub threads: Vec<Suspended>,
}

/// A thread of a hang.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspended {
    /// Its name, if it has one. The system keeps 15 bytes of it.
    pub name: Option<String>,
    /// Its number in the process: 0 is the main thread.
    pub number: usize,
    /// What it waits for.
    pub cause: Cause,
    /// For how long, in virtual time.
    pub waited: Duration,
    /// The threads of which one probably holds the lock that it waits for, by
    /// their places in the list. It may be among them.
    pub held_by: Vec<usize>,
    /// The way over those that it waits for back to itself, who is the first;
    /// empty if there is none.
    pub cycle: Vec<usize>,
    /// Its backtrace, as std prints it.
    pub backtrace: String,
}

/// What a suspended thread waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// A wake: a lock, a condition variable, a channel.
    Wake,
    /// The end of a thread.
    Join {
        /// Its name, if it has one.
        name: Option<String>,
        /// Its number in the process, if that is known.
        number: Option<usize>,
    },
    /// It yields, again and again.
    Yield,
    /// A descriptor.
    Io {
        /// The function of libc.
        call: String,
        /// What the descriptor is, if that is known: `socket`, `pipe`.
        kind: Option<String>,
    },
    /// Something else.
    Other,
}

impl Account {
    /// Reads what the library wrote. Nothing if it is not whole: the process
    /// was ended by force.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(reason) = text.strip_prefix("unavailable ") {
            return Some(Self::Unmanaged(reason.trim_end().to_owned()));
        }
        if let Some(reason) = text.strip_prefix("refused ") {
            return Some(Self::Refused(reason.trim_end().to_owned()));
        }
        let mut time = None;
        let mut scheduled: Option<Scheduled> = None;
        let mut trace = String::new();
        let mut inexact = Vec::new();
        let mut hang: Option<Hang> = None;
        for line in text.lines() {
            let (key, rest) = match line.strip_prefix('|') {
                Some(frame) => ("|", frame),
                None => line.split_once(' ').unwrap_or((line, "")),
            };
            let thread = hang.as_mut().and_then(|hang| hang.threads.last_mut());
            match (key, thread) {
                ("virtual", _) => time = Some(nanoseconds(rest)?),
                ("trace", _) => rest.clone_into(&mut trace),
                ("inexact", _) => {
                    let (reason, name) = rest.split_once(' ').unwrap_or((rest, ""));
                    let reason = Reason::parse(reason)?;
                    let thread = named(name);
                    inexact.push(Inexact { reason, thread });
                }
                ("schedule", _) => {
                    let (hash, turns) = rest.split_once(' ')?;
                    scheduled = Some(Scheduled {
                        hash: u64::from_str_radix(hash, 16).ok()?,
                        turns: turns.parse().ok()?,
                        token: None,
                        fits: true,
                    });
                }
                ("token", _) => scheduled.as_mut()?.token = Some(rest.to_owned()),
                ("fits", _) => scheduled.as_mut()?.fits = false,
                ("hang", _) => {
                    let is_alive = rest != "blocked";
                    let threads = Vec::new();
                    hang = Some(Hang { is_alive, threads });
                }
                ("thread", _) => hang.as_mut()?.threads.push(Suspended {
                    name: named(rest),
                    number: 0,
                    cause: Cause::Other,
                    waited: Duration::ZERO,
                    held_by: Vec::new(),
                    cycle: Vec::new(),
                    backtrace: String::new(),
                }),
                ("number", Some(thread)) => thread.number = rest.parse().ok()?,
                ("cause", Some(thread)) => thread.cause = Cause::parse(rest),
                ("since", Some(thread)) => thread.waited = nanoseconds(rest)?,
                ("held", Some(thread)) => thread.held_by = numbers(rest)?,
                ("cycle", Some(thread)) => thread.cycle = numbers(rest)?,
                ("|", Some(thread)) => {
                    thread.backtrace.push_str(rest);
                    thread.backtrace.push('\n');
                }
                _ => return None,
            }
        }
        Some(Self::Managed {
            time: time?,
            trace,
            inexact,
            hang,
            scheduled,
        })
    }
}

impl Reason {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "running" => Some(Self::Running),
            "blocked" => Some(Self::Blocked),
            "woke-outside" => Some(Self::WokeOutside),
            "woken-from-outside" => Some(Self::WokenFromOutside),
            "io" => Some(Self::Io),
            "signal" => Some(Self::Signal),
            "process" => Some(Self::Process),
            "room" => Some(Self::Room),
            "random" => Some(Self::Random),
            _ => None,
        }
    }
}

impl Cause {
    fn parse(text: &str) -> Self {
        match text.split_once(' ').unwrap_or((text, "")) {
            ("futex", _) => Self::Wake,
            ("join", rest) => {
                let (number, name) = rest.split_once(' ').unwrap_or((rest, ""));
                Self::Join {
                    name: named(name),
                    number: number.parse().ok(),
                }
            }
            ("yield", _) => Self::Yield,
            ("io", rest) => {
                let (call, kind) = rest.split_once(' ').unwrap_or((rest, ""));
                Self::Io {
                    call: call.to_owned(),
                    kind: named(kind),
                }
            }
            _ => Self::Other,
        }
    }
}

fn named(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| name.to_owned())
}

fn numbers(text: &str) -> Option<Vec<usize>> {
    text.split(' ').map(|word| word.parse().ok()).collect()
}

fn nanoseconds(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_time_inexactness_and_the_threads_of_a_hang() {
        let text = "virtual 5000000001\ntrace ab\ninexact blocked reader\ninexact io \nhang blocked\n\
                    thread main\nnumber 0\ncause join 3 worker 1\nsince 12\n|   0: a::b\n|      at a.rs:1\n\
                    thread \nnumber 4\ncause futex\nsince 0\nheld 0 2\ncycle 1 0\nthread \ncause io accept socket\nsince 0\n\
                    thread \ncause io poll \nsince 0\n";
        let thread = |name: Option<&str>, cause, waited, backtrace: &str| Suspended {
            name: name.map(str::to_owned),
            number: 0,
            cause,
            waited: Duration::from_nanos(waited),
            held_by: Vec::new(),
            cycle: Vec::new(),
            backtrace: backtrace.to_owned(),
        };
        let join = Cause::Join {
            name: Some("worker 1".to_owned()),
            number: Some(3),
        };
        let io = |call: &str, kind: Option<&str>| Cause::Io {
            call: call.to_owned(),
            kind: kind.map(str::to_owned),
        };
        let threads = vec![
            thread(Some("main"), join, 12, "   0: a::b\n      at a.rs:1\n"),
            Suspended {
                held_by: vec![0, 2],
                cycle: vec![1, 0],
                number: 4,
                ..thread(None, Cause::Wake, 0, "")
            },
            thread(None, io("accept", Some("socket")), 0, ""),
            thread(None, io("poll", None), 0, ""),
        ];
        let inexact = vec![
            Inexact {
                reason: Reason::Blocked,
                thread: Some("reader".to_owned()),
            },
            Inexact {
                reason: Reason::Io,
                thread: None,
            },
        ];
        let expected = Account::Managed {
            time: Duration::from_nanos(5_000_000_001),
            trace: "ab".to_owned(),
            inexact,
            hang: Some(Hang {
                is_alive: false,
                threads,
            }),
            scheduled: None,
        };
        assert_eq!(Account::parse(text), Some(expected));
    }

    #[test]
    fn what_was_decided_is_part_of_it() {
        let text = "virtual 5\ntrace ab\nschedule 00000000000000ff 12\ntoken AQ\nfits no\n";
        let Some(Account::Managed { scheduled, .. }) = Account::parse(text) else {
            panic!("it is an account");
        };
        let expected = Scheduled {
            hash: 255,
            turns: 12,
            token: Some("AQ".to_owned()),
            fits: false,
        };
        assert_eq!(scheduled, Some(expected));
        let refused = Account::parse("refused `x`: why\n");
        assert_eq!(refused, Some(Account::Refused("`x`: why".to_owned())));
    }

    #[test]
    fn what_is_cut_off_or_strange_is_no_account() {
        for text in [
            "",
            "virtual",
            "virtual x\n",
            "thread a\n",
            "nonsense 1\n",
            "virtual 5\nheld 0\n",
            "virtual 5\nhang blocked\nthread a\nheld x\n",
        ] {
            assert_eq!(Account::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_process_that_was_not_managed_says_why() {
        let account = Account::parse("unavailable no reason\n");
        assert_eq!(account, Some(Account::Unmanaged("no reason".to_owned())));
    }
}
