//! What happened, one column a thread and one row a tick.

use std::collections::VecDeque;

use crate::event::{ErrorKind, Place};

/// Moments that are kept; of a longer sequence the last ones.
const MAX_MOMENTS: usize = 1000;

/// How wide a timeline may be.
pub(crate) const WIDTH: usize = 100;

/// No column is narrower than this.
pub(crate) const NARROWEST: usize = 14;

/// The moments of a sequence.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The threads' names, in the order of the script.
    pub threads: Vec<String>,
    /// What happened, in order.
    pub moments: VecDeque<Moment>,
}

/// Something that a thread did or that happened to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The clock's time.
    pub tick: u64,
    /// The thread's number.
    pub thread: usize,
    /// What it was.
    pub what: What,
}

/// What happened to a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// It began the call at this place.
    Call(Place),
    /// It was in its call still when the tick was over.
    Suspended,
    /// It was in its call still when the tick was over, and ran.
    Running,
    /// It came out of a call that it had been suspended in.
    Woken(Option<String>),
    /// It was woken in its call and waited again.
    WokenInVain(Option<String>),
    /// A check of it failed.
    Error(ErrorKind),
    /// It ended.
    Ended,
}

impl What {
    /// A few words, for a cell of the table.
    pub(crate) fn words(&self, code: &dyn Fn(Place) -> String) -> String {
        match self {
            Self::Call(place) => code(*place),
            Self::Suspended => "... suspended".to_owned(),
            Self::Running => "... still running".to_owned(),
            Self::Woken(Some(by)) | Self::WokenInVain(Some(by)) => format!("woken by {by}"),
            Self::Woken(None) | Self::WokenInVain(None) => "woken".to_owned(),
            Self::Error(kind) => format!("^ {}", kind.title()),
            Self::Ended => "ended".to_owned(),
        }
    }
}

impl Timeline {
    pub(crate) fn add(&mut self, tick: u64, thread: usize, what: What) {
        if thread >= self.threads.len() {
            return;
        }
        let moment = Moment { tick, thread, what };
        if self.moments.len() == MAX_MOMENTS {
            self.moments.pop_front();
        }
        self.moments.push_back(moment);
    }

    /// A thread is in a call at the end of a tick, suspended or running. Said
    /// once, however long it lasts; the call itself, too, if it was not said
    /// when it began.
    pub(crate) fn stay(&mut self, tick: u64, thread: usize, call: What, how: What) {
        let of_thread = |m: &&Moment| m.thread == thread && !matches!(m.what, What::Error(_));
        let mut own = self.moments.iter().rev().filter(of_thread);
        match own.next().map(|last| &last.what) {
            Some(last) if *last == how => return,
            Some(What::WokenInVain(_) | What::Suspended | What::Running) => {}
            Some(last) if *last == call => {}
            _ => self.add(tick, thread, call),
        }
        self.add(tick, thread, how);
    }

    /// The table as text, at most 100 columns wide. Where there are too many
    /// threads, those are shown to which most happened.
    pub(crate) fn table(&self, code: &dyn Fn(Place) -> String) -> String {
        let shown = self.shown_threads();
        if shown.is_empty() || self.moments.is_empty() {
            return String::new();
        }
        let width = ((WIDTH - 4) / shown.len()).saturating_sub(3).min(40);
        let mut out = row(
            "tick",
            shown.iter().map(|&thread| self.threads[thread].as_str()),
            width,
        );
        let rule: Vec<String> = shown.iter().map(|_| "-".repeat(width)).collect();
        out.push_str(&format!("-----+-{}\n", rule.join("-+-")));
        let mut ticks: Vec<u64> = self.moments.iter().map(|moment| moment.tick).collect();
        ticks.sort_unstable();
        ticks.dedup();
        for tick in ticks {
            let of_tick = |thread: usize| {
                let own = move |m: &&Moment| m.tick == tick && m.thread == thread;
                self.moments.iter().filter(own).map(|m| m.what.words(code))
            };
            let cells: Vec<Vec<String>> = shown
                .iter()
                .map(|&thread| of_tick(thread).collect())
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for line in 0..height {
                let label = if line == 0 {
                    tick.to_string()
                } else {
                    String::new()
                };
                let texts = cells
                    .iter()
                    .map(|cell| cell.get(line).map_or("", String::as_str));
                out.push_str(&row(&label, texts, width));
            }
        }
        let hidden = self.threads.len() - shown.len();
        if hidden > 0 {
            let more = match hidden {
                1 => "1 more thread is".to_owned(),
                _ => format!("{hidden} more threads are"),
            };
            out.push_str(&format!("({more} not shown)\n"));
        }
        out
    }

    fn shown_threads(&self) -> Vec<usize> {
        let most = (WIDTH - 4) / (NARROWEST + 3);
        let mut threads: Vec<usize> = (0..self.threads.len()).collect();
        if threads.len() > most {
            let weight = |thread: usize| {
                let own = self.moments.iter().filter(|moment| moment.thread == thread);
                own.map(|moment| match moment.what {
                    What::Error(_) => 100,
                    What::Suspended | What::Running => 10,
                    What::Woken(_) | What::WokenInVain(_) => 5,
                    What::Call(_) | What::Ended => 1,
                })
                .sum::<usize>()
            };
            threads.sort_by_key(|&thread| std::cmp::Reverse(weight(thread)));
            threads.truncate(most);
            threads.sort_unstable();
        }
        threads
    }
}

/// A line of a table.
pub(crate) fn row<'t>(label: &str, texts: impl Iterator<Item = &'t str>, width: usize) -> String {
    let cells: Vec<String> = texts
        .map(|text| format!("{:width$}", cut(text, width)))
        .collect();
    let line = format!("{label:>4} | {}", cells.join(" | "));
    format!("{}\n", line.trim_end())
}

/// Text in lines of this width at most, broken between words where it can be.
#[cfg(conan_kernel)]
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a line");
        let length = last.chars().count();
        if length > 0 && length + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if length > 0 {
                last.push(' ');
            }
            last.push_str(word);
        }
        let last = lines.last_mut().expect("there is a line");
        if last.chars().count() > width {
            *last = narrowed(last, width);
        }
    }
    lines
}

/// A word that is too wide: of a path the first folder, which is the library's,
/// and the file are left, or the file alone.
#[cfg(conan_kernel)]
fn narrowed(word: &str, width: usize) -> String {
    let folder = word.split_once('/').map_or("", |(first, _)| first);
    let file = word.rsplit_once('/').map_or(word, |(_, last)| last);
    for path in [format!("{folder}/~/{file}"), format!("~/{file}")] {
        if file != word && path.chars().count() <= width {
            return path;
        }
    }
    // The end of a word says more than its beginning.
    let skipped = word.chars().count() + 1 - width;
    let end: String = word.chars().skip(skipped).collect();
    format!("~{end}")
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    // The name matters more than the words around it.
    for (long, short) in [("woken by thread ", "woken by "), ("woken by ", "by ")] {
        if let Some(name) = text.strip_prefix(long) {
            return cut(&format!("{short}{name}"), width);
        }
    }
    let start: String = text.chars().take(width - 1).collect();
    format!("{start}~")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: u32) -> Place {
        Place { line, column: 1 }
    }

    fn code(place: Place) -> String {
        let codes = [
            "m.send(1)",
            "m.receive()",
            "m.a_call_with_a_long_name(thread)",
        ];
        codes[place.line as usize - 1].to_owned()
    }

    #[test]
    fn a_tick_is_a_row_and_a_thread_a_column() {
        let mut timeline = Timeline {
            threads: vec!["first".to_owned(), "second".to_owned()],
            ..Timeline::default()
        };
        let call = What::Call(place(1));
        timeline.stay(1, 0, call.clone(), What::Suspended);
        timeline.stay(2, 0, call, What::Suspended);
        timeline.add(3, 1, What::Call(place(2)));
        timeline.add(3, 0, What::Woken(Some("thread second".to_owned())));
        let table = timeline.table(&code);
        let lines: Vec<&str> = table.lines().map(str::trim_end).collect();
        assert_eq!(lines.len(), 5, "{table}");
        assert!(lines[2].starts_with("   1 | m.send(1)"), "{table}");
        assert!(lines[3].starts_with("     | ... suspended"), "{table}");
        assert!(
            lines[4].contains("woken by thread second") && lines[4].contains("m.receive()"),
            "{table}"
        );
    }

    #[cfg(conan_kernel)]
    #[test]
    fn of_a_path_that_is_too_wide_the_library_and_the_file_are_left() {
        let path = "at parking_lot_core-0.9.12/src/thread_parker/linux.rs:112:13";
        let narrowest = |width| wrapped(path, width).pop().expect("two lines");
        assert_eq!(narrowest(41), "parking_lot_core-0.9.12/~/linux.rs:112:13");
        assert_eq!(narrowest(40), "~/linux.rs:112:13");
        assert_eq!(narrowest(10), "~rs:112:13");
    }

    #[test]
    fn twenty_threads_still_fit_a_hundred_columns() {
        let threads: Vec<String> = (0..20).map(|n| format!("producer_number_{n}")).collect();
        let mut timeline = Timeline {
            threads,
            ..Timeline::default()
        };
        for thread in 0..20 {
            timeline.add(1, thread, What::Call(place(3)));
        }
        timeline.add(1, 17, What::Error(ErrorKind::Value));
        let table = timeline.table(&code);
        assert!(
            table.lines().all(|line| line.chars().count() <= WIDTH),
            "{table}"
        );
        assert!(table.contains("producer_numb"), "{table}");
        assert!(table.contains("^ value error"), "{table}");
        assert!(table.contains("more threads are not shown"), "{table}");
    }
}
