//! What can be wrong with a script, as data. `render` makes text of it.

use crate::span::Span;

/// So many a stage of the checks reports at the most. Nobody mends more in one
/// go, and a file of ten megabytes can hold millions.
pub(crate) const MAX_DIAGNOSTICS: usize = 5_000;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The script can be used all the same.
    Warning,
    /// No driver is made of this script.
    Error,
}

impl Severity {
    /// `warning` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A second place that explains the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Where.
    pub span: Span,
    /// What stands there.
    pub label: String,
}

/// A replacement that would mend the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// What is to be replaced.
    pub span: Span,
    /// By what.
    pub replacement: String,
}

/// One thing that is wrong with a script, at its exact place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which of the known mistakes it is.
    pub code: Code,
    /// One line: what is wrong.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What stands at the place, in a few words.
    pub label: String,
    /// Other places that explain it.
    pub related: Vec<Related>,
    /// What to do about it.
    pub help: Option<String>,
    /// A replacement that mends it.
    pub suggestion: Option<Suggestion>,
}

impl Diagnostic {
    /// A diagnostic with nothing but its message and place.
    pub fn new(code: Code, message: impl Into<String>, span: Span) -> Self {
        Self {
            code,
            message: clip(message.into()),
            span,
            label: String::new(),
            related: Vec::new(),
            help: None,
            suggestion: None,
        }
    }

    /// Says what stands at the place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = clip(label.into());
        self
    }

    /// Adds a place that explains it.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        let label = clip(label.into());
        self.related.push(Related { span, label });
        self
    }

    /// Says what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(clip(help.into()));
        self
    }

    /// Offers a replacement.
    #[must_use]
    pub fn suggest(mut self, span: Span, replacement: impl Into<String>) -> Self {
        let replacement = replacement.into();
        self.suggestion = Some(Suggestion { span, replacement });
        self
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}

/// Messages quote names, and a name may be as long as its file.
fn clip(mut text: String) -> String {
    const MAX_CHARACTERS: usize = 300;
    if let Some((at, _)) = text.char_indices().nth(MAX_CHARACTERS) {
        text.truncate(at);
        text.push('…');
    }
    text
}

macro_rules! codes {
    ($( $name:ident = $number:literal, $severity:ident, $title:literal; )*) => {
        /// The known mistakes. Each has a page, which `cargo conan explain` shows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $( #[doc = $title] $name, )*
        }

        impl Code {
            /// All of them, by number.
            pub const ALL: &[Self] = &[$( Self::$name, )*];

            /// The code as messages print it, such as `CN001`.
            pub fn id(self) -> &'static str {
                match self { $( Self::$name => concat!("CN", $number), )* }
            }

            /// The mistake in a few words.
            pub fn title(self) -> &'static str {
                match self { $( Self::$name => $title, )* }
            }

            /// The page that explains it, in Markdown.
            pub fn page(self) -> &'static str {
                match self { $( Self::$name => include_str!(concat!("pages/CN", $number, ".md")), )* }
            }

            /// How bad it is.
            pub fn severity(self) -> Severity {
                match self { $( Self::$name => Severity::$severity, )* }
            }
        }
    };
}

codes! {
    UnknownDirective = "001", Error, "unknown directive";
    MissingEnd = "002", Error, "`#end` is missing";
    ExtraEnd = "003", Error, "`#end` without a block";
    WrongPlace = "004", Error, "a block in the wrong place";
    DuplicateThread = "005", Error, "a thread twice in one tick";
    DuplicateComponent = "006", Error, "a component declared twice";
    DuplicateShared = "007", Error, "a shared block or member declared twice";
    DuplicateSequence = "008", Error, "a sequence name used twice";
    UndeclaredCondition = "009", Error, "a condition that is not declared";
    DuplicateCondition = "010", Error, "a condition declared twice";
    UnexercisedCondition = "011", Warning, "a condition that no sequence exercises";
    BadTicktime = "012", Error, "`#ticktime` is not a length that a tick can have";
    DuplicateTicktime = "013", Error, "`#ticktime` given twice";
    MissingExpected = "014", Error, "a template without its `# expected`";
    EmptyFragment = "015", Error, "a template with nothing to run";
    RustSyntax = "016", Error, "a Rust syntax error in a fragment";
    NoSequence = "017", Error, "a script without a sequence";
    NoTick = "018", Error, "a sequence without a tick";
    InvalidUtf8 = "019", Error, "a file that is not UTF-8";
    BadName = "020", Error, "a name that Rust does not allow";
    UnknownThread = "021", Error, "a thread that does not exist";
    Unterminated = "022", Error, "a literal or comment without an end";
    ExtraSeparator = "023", Error, "a separator too many";
    StrayText = "024", Error, "text where a directive is expected";
    BadHead = "025", Error, "a directive that does not say what it must";
    ForeignComponent = "026", Error, "a component that belongs to other threads";
    BadOwnership = "027", Error, "`takes` or `clones` that cannot be";
    BadWakeTimes = "028", Error, "a list of wake-up times that does not fit";
    LeavesTemplate = "029", Error, "code that jumps out of its template";
    TooDeep = "030", Error, "a fragment nested too deeply";
    NotIncluded = "031", Warning, "a script that no test file includes";
    BadShared = "032", Error, "a shared block that is not fields and methods";
    BadExplore = "033", Error, "an exploration that cannot be";
    BadHotSpot = "034", Error, "a hot spot named twice";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbered_without_a_gap_and_every_page_begins_with_its_own() {
        for (index, code) in Code::ALL.iter().enumerate() {
            assert_eq!(code.id(), format!("CN{:03}", index + 1));
            let heading = format!("# {}: {}\n", code.id(), code.title());
            assert!(
                code.page().starts_with(&heading),
                "the page of {} must begin with {heading:?}",
                code.id()
            );
        }
    }
}
