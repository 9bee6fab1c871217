//! Which sequences run, to be named when a signal ends the process.

use std::sync::{Mutex, PoisonError};

use crate::script::{Script, Sequence};

/// The sequences that run: one, unless tests run in parallel on the wall clock.
static RUNNING: Mutex<Vec<(&'static Script, &'static Sequence)>> = Mutex::new(Vec::new());

/// While this lives, a sequence runs.
pub(crate) struct Running(&'static Script, &'static Sequence);

impl Running {
    pub(crate) fn begin(script: &'static Script, sequence: &'static Sequence) -> Self {
        #[cfg(conan_kernel)]
        conan_kernel::report_crashes(&reports::OfSequence);
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.push((script, sequence));
        Self(script, sequence)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(script, sequence): &(&Script, &Sequence)| {
            script.path == self.0.path && sequence.line == self.1.line
        };
        if let Some(place) = running.iter().position(is_it) {
            running.swap_remove(place);
        }
    }
}

#[cfg(conan_kernel)]
mod reports {
    use std::fmt;

    use conan_kernel::{Crash, Frame, Reporter};

    use super::RUNNING;
    use crate::backtrace::is_in_our_sources;
    use crate::event::Place;
    use crate::script::{Script, Sequence};

    /// Says in which sequence a thread has crashed, and where in it.
    pub(super) struct OfSequence;

    impl Reporter for OfSequence {
        fn describe(&self, crash: &Crash<'_>, text: &mut dyn fmt::Write) -> fmt::Result {
            write!(text, "{}", crash.signal)?;
            if let Some(thread) = crash.thread {
                write!(text, " in thread '{thread}'")?;
            }
            let line = crash.tag >> 32;
            if line > 0 {
                write!(text, " at line {line} of the script")?;
            }
            // A thread that has crashed here may hold it.
            if let Ok(running) = RUNNING.try_lock() {
                for (number, (script, sequence)) in running.iter().enumerate() {
                    let words = if number == 0 { ", while" } else { " and" };
                    let (name, path, line) = (sequence.name, script.path, sequence.line);
                    write!(text, "{words} the sequence `{name}` ({path}:{line})")?;
                }
                match running.len() {
                    0 => {}
                    1 => write!(text, " ran")?,
                    _ => write!(text, " ran in parallel")?,
                }
            }
            writeln!(text)
        }

        /// Without frames of ours, and with the script's path in place of its copy's.
        fn see(&self, frames: &mut Vec<Frame>) {
            frames.retain(|frame| !is_ours(frame));
            let Ok(running) = RUNNING.try_lock() else {
                return;
            };
            for frame in frames {
                let Some((file, line, column)) = frame.place.as_deref().and_then(parts) else {
                    continue;
                };
                // The compiler's path may be relative to where it ran.
                let is_copy = |(script, _): &&(&Script, &Sequence)| script.file.ends_with(file);
                let place = running.iter().find(is_copy).and_then(|(script, _)| {
                    let Place { line, column } = script.place_of(script.file, line, column)?;
                    Some(format!("{}:{line}:{column}", script.path))
                });
                if let Some(place) = place {
                    frame.place = Some(place);
                    "the script".clone_into(&mut frame.name);
                }
            }
        }
    }

    fn is_ours(frame: &Frame) -> bool {
        let name = frame.name.trim_start_matches('<');
        name.starts_with("conan_runtime::") || frame.place.as_deref().is_some_and(is_in_our_sources)
    }

    /// `src/lib.rs:7:9`
    fn parts(place: &str) -> Option<(&str, u32, u32)> {
        let (rest, column) = place.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        let file = file.strip_prefix("./").unwrap_or(file);
        Some((file, line.parse().ok()?, column.parse().ok()?))
    }
}
