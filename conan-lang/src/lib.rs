//! The `.conan` script language.
//!
//! Text goes in, a tree and diagnostics come out; nothing here reads a file
//! or writes one. The stages, in order:
//!
//! 1. [`mask`](mod@mask): what Rust makes opaque (strings, comments) is hidden;
//! 2. `grammar.pest` and `pieces`: directives and pieces of Rust, flat;
//! 3. `build`: the nested [`tree`], with recovery from what is missing or wrong;
//! 4. `check`: names, conditions, threads, ownership, the syntax of fragments.
//!
//! ```
//! let script = "#cut m std::sync::Mutex::new(0)\n\
//!     #begin #tick #thread #valueCheck *m.lock().unwrap() # 0 #end #end #end #end";
//! let parsed = conan_lang::parse("counter.conan", script);
//! assert!(!parsed.has_errors());
//! assert_eq!(parsed.script.test_cases(), 1);
//! ```

mod brackets;
mod build;
mod check;
mod cut;
pub mod diagnostic;
mod format;
mod keywords;
mod limits;
pub mod mask;
mod nearest;
mod pieces;
pub mod render;
mod rust;
mod shared;
pub mod source;
pub mod span;
mod template;
pub mod tree;
mod words;

pub use diagnostic::{Code, Diagnostic, Severity};
pub use format::{FormatError, format};
pub use limits::on_large_stack;
pub use pieces::Directive;
pub use source::{Position, Source};
pub use span::{Name, Span, Spanned};
pub use tree::Script;

use mask::Mask;

/// A script that has been read: its text, its tree, and what is wrong with it.
#[derive(Debug)]
pub struct Parsed {
    /// The text.
    pub source: Source,
    /// The tree; as much as could be made out where there are errors.
    pub script: Script,
    /// The lexical layer.
    pub mask: Mask,
    /// What is wrong, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// True if no driver can be made of the script.
    pub fn has_errors(&self) -> bool {
        let mut severities = self.diagnostics.iter().map(Diagnostic::severity);
        severities.any(|severity| severity == Severity::Error)
    }
}

/// Reads a script and checks all of it. Never fails: what is wrong is in the
/// diagnostics.
///
/// proc-macro2 keeps the text of every fragment until the thread ends, so a
/// process that lives long reads scripts on threads that do not.
pub fn parse(name: impl Into<String>, text: impl Into<String>) -> Parsed {
    let (name, text) = (name.into(), text.into());
    if text.len() > source::MAX_BYTES {
        let source = Source::new(name, "");
        let message = "this file is larger than 4 GiB";
        return Parsed {
            script: Script::default(),
            mask: mask::mask("").0,
            diagnostics: vec![Diagnostic::new(Code::TooDeep, message, Span::at(0))],
            source,
        };
    }
    on_large_stack(|| parse_text(name, text))
}

fn parse_text(name: String, text: String) -> Parsed {
    let source = Source::new(name, text);
    let (mask, mut diagnostics) = mask::mask(source.text());
    let built = build::build(&source, &mask);
    // Behind the place where the reader gave up, nothing is truly missing.
    if mask.is_whole {
        diagnostics.extend(check::check(&source, &mask, &built));
        diagnostics.extend(built.diagnostics);
    }
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.code));
    Parsed {
        source,
        script: built.script,
        mask,
        diagnostics,
    }
}

/// Reads the bytes of a file. Bytes that are not UTF-8 are an error at their
/// place; the rest of the file is checked all the same.
pub fn parse_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Parsed {
    match String::from_utf8(bytes) {
        Ok(text) => parse(name, text),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let bad = error.as_bytes()[valid];
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let bom = if text.starts_with('\u{feff}') { 3 } else { 0 };
            let mut parsed = parse(name, text);
            let start = valid - bom;
            // Each bad stretch has become one replacement character.
            let span = Span::new(start, start + char::REPLACEMENT_CHARACTER.len_utf8());
            let message = format!("byte 0x{bad:02x} here is not UTF-8");
            let diagnostic = Diagnostic::new(Code::InvalidUtf8, message, span)
                .label("a script is UTF-8 text")
                .help("save the file in UTF-8");
            // What is said about those characters follows from the bytes.
            let source = &parsed.source;
            let follows = |span: Span| source.slice(span).contains(char::REPLACEMENT_CHARACTER);
            parsed.diagnostics.retain(|other| !follows(other.span));
            parsed.diagnostics.push(diagnostic);
            parsed
                .diagnostics
                .sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.code));
            parsed
        }
    }
}
