//! What a driver says about its script: plain data, made at compile time.

use crate::event::Place;
use crate::hot_spot::HotSpot;
use crate::plan::Plan;

/// A script as its driver describes it.
#[derive(Debug)]
pub struct Script {
    /// The script's path, as messages show it.
    pub path: &'static str,
    /// The name under which the compiler knows the fragments' lines.
    pub file: &'static str,
    /// The script's text.
    pub source: &'static str,
    /// The length of a tick in milliseconds.
    pub ticktime: u64,
    /// The sequences, in order.
    pub sequences: &'static [Sequence],
}

/// A sequence as its driver describes it.
#[derive(Debug)]
pub struct Sequence {
    /// Its name: that of the `#[test]`.
    pub name: &'static str,
    /// The line of its `#begin`.
    pub line: u32,
    /// The conditions that it exercises.
    pub conditions: &'static [&'static str],
    /// How many tick blocks it has.
    pub ticks: u64,
    /// The threads that are meant to be suspended at its end.
    pub stays: &'static [Stays],
    /// The lists that wake-up checks take from.
    pub wake_times: &'static [WakeTimes],
    /// How its schedules are explored, as [`Exploring`] is written.
    ///
    /// [`Exploring`]: crate::explore::Exploring
    pub explore: Option<&'static str>,
    /// Places in the code that executions come to, or do not.
    pub hot_spots: &'static [HotSpot],
    /// Makes components and threads, anew for every run.
    pub build: fn(&mut Plan),
}

/// `#stays thread`
#[derive(Debug, Clone, Copy)]
pub struct Stays {
    /// The thread.
    pub thread: &'static str,
    /// The line of the name in the script.
    pub line: u32,
    /// Its column.
    pub column: u32,
}

/// `#wakeTimes name times`
#[derive(Debug, Clone, Copy)]
pub struct WakeTimes {
    /// The list's name.
    pub name: &'static str,
    /// The line of the directive in the script.
    pub line: u32,
    /// Its column.
    pub column: u32,
    /// The times, each as often as it may be taken.
    pub times: &'static [u64],
}

impl Script {
    /// A compiler's place as one of the script, if it is in the script.
    pub(crate) fn place_of(&self, file: &str, line: u32, column: u32) -> Option<Place> {
        (file == self.file).then(|| {
            let column = self.character_column(line, column);
            Place { line, column }
        })
    }

    /// The compiler counts the columns of a panic as a terminal shows them, a
    /// tab as four; people and editors count characters.
    fn character_column(&self, line: u32, shown: u32) -> u32 {
        const TAB: u32 = 4;
        let text = self.line(line).unwrap_or_default();
        let (mut width, mut column) = (1, 1);
        for c in text.chars() {
            if width >= shown {
                break;
            }
            width += if c == '\t' { TAB } else { 1 };
            column += 1;
        }
        column
    }

    /// A location of the compiler's as people know it: the copy of the script
    /// that the compiler read is called by the script's own path.
    pub(crate) fn shown_location(&self, location: &str) -> String {
        let mut parts = location.rsplitn(3, ':');
        let (column, line) = (parts.next(), parts.next());
        match (parts.next(), line, column) {
            (Some(file), Some(line), Some(column)) if self.file.ends_with(file) => {
                format!("{}:{line}:{column}", self.path)
            }
            _ => location.to_owned(),
        }
    }

    /// The code that stands at a place: a statement, or what a template runs.
    pub(crate) fn code_at(&self, place: Place) -> String {
        code_in(self.line(place.line).unwrap_or_default(), place.column)
    }

    /// The same for many places: the lines are looked for once.
    pub(crate) fn codes(&self) -> impl Fn(Place) -> String + use<> {
        let lines: Vec<&'static str> = self.source.lines().collect();
        move |place| {
            let line = lines.get((place.line as usize).wrapping_sub(1));
            code_in(line.copied().unwrap_or_default(), place.column)
        }
    }

    /// The text of a line (from 1), without its end.
    pub(crate) fn line(&self, line: u32) -> Option<&'static str> {
        self.source.lines().nth(line.checked_sub(1)? as usize)
    }
}

/// The code that begins at a column of a line.
fn code_in(line: &str, column: u32) -> String {
    let text: String = line.chars().skip(column as usize - 1).collect();
    let mut code = text.as_str();
    if let Some(template) = code.strip_prefix('#') {
        let word = template.find(char::is_whitespace).unwrap_or(template.len());
        // A wake-up check is nothing but numbers without its name.
        if &template[..word] != "wakeCheck" {
            code = &template[word..];
        }
        code = code.split(" # ").next().unwrap_or_default();
    }
    let code = code.split(" #end").next().unwrap_or_default();
    let code = code.split(" //").next().unwrap_or_default().trim();
    code.to_owned()
}
