//! Directives without an `#end`: they say what they say up to the next one.

use super::places::may_stand;
use super::{Builder, Closed, explore};
use crate::cut;
use crate::diagnostic::{Code as Mistake, Diagnostic};
use crate::pieces::Directive;
use crate::span::{Name, Span, Spanned};
use crate::tree::{HotSpot, MAX_TICKTIME, Reached, TickItem, WakeTimes};
use crate::words::{bare, is_number, number, shorten, words};

impl Builder<'_> {
    pub(super) fn line(&mut self, directive: Directive, span: Span, argument: Span) {
        let whole = span.to(argument);
        self.make_room(directive, span);
        if self.is_misplaced(directive, span) {
            self.broken.push(whole);
            // Threads may use the component all the same.
            if directive == Directive::Cut {
                let cut = cut::parse(self.source, self.mask, span, argument);
                self.script.cuts.extend(cut);
            }
            return;
        }
        if argument.is_empty() {
            let needs = match directive {
                Directive::Ticktime => "a length in milliseconds",
                Directive::Cut => "a name and a constructor: `#cut m Component::new()`",
                Directive::Test => "the conditions that the sequence exercises",
                Directive::WakeTimes => "a name and times: `#wakeTimes w 3 4 4`",
                Directive::Explore => "a strategy: `#explore random 1000`",
                Directive::Always | Directive::Never | Directive::Sometimes => {
                    "the names of hot spots"
                }
                _ => "the names of threads",
            };
            let message = format!("`{}` says nothing", directive.word());
            let diagnostic = Diagnostic::new(Mistake::BadHead, message, span);
            return self.report(diagnostic.label(format!("expected {needs}")));
        }
        match directive {
            Directive::Ticktime => self.ticktime(span, argument),
            Directive::Cut => self.cut(span, argument),
            Directive::WakeTimes => self.wake_times(whole, argument),
            Directive::Explore => self.explore(whole, argument),
            Directive::Always => self.hot_spots(Reached::Always, argument),
            Directive::Never => self.hot_spots(Reached::Never, argument),
            Directive::Sometimes => self.hot_spots(Reached::Sometimes, argument),
            Directive::Suspended => {
                let names = self.names(argument);
                self.push_item(TickItem::Suspended(names, whole));
            }
            Directive::Finished => {
                let names = self.names(argument);
                self.push_item(TickItem::Finished(names, whole));
            }
            Directive::Test => self.test(argument),
            Directive::Stays => {
                let names = self.names(argument);
                if let Some(sequence) = self.sequence() {
                    sequence.stays.extend(names);
                }
            }
            _ => {}
        }
    }

    /// Closes the blocks that have lost their `#end`, if this is how to read
    /// a directive that cannot be inside of them.
    fn make_room(&mut self, directive: Directive, span: Span) {
        let depth = self.room_for(directive);
        let parent = depth.checked_sub(1).map(|at| self.stack[at].directive);
        if self.reading.lines_close && may_stand(directive, parent) {
            self.close_down_to(depth, Closed::By(span));
        }
    }

    fn names(&self, argument: Span) -> Vec<Name> {
        let names = words(self.source, self.mask, argument, true);
        names.into_iter().map(bare).collect()
    }

    fn ticktime(&mut self, span: Span, argument: Span) {
        let mut words = words(self.source, self.mask, argument, false).into_iter();
        let Some(word) = words.next() else { return };
        if let Some(second) = words.next() {
            let rest = Span::new(second.span.start as usize, argument.end as usize);
            self.stray(rest, "expected a directive: `#ticktime` is one number");
        }
        let value = number(&word.value);
        let Some(value) = value.filter(|n| (1..=MAX_TICKTIME).contains(n)) else {
            let (problem, expected) = if is_number(&word.value) && value != Some(0) {
                let most = format!("at most {MAX_TICKTIME} milliseconds, which is a day");
                ("is too long for a tick", most)
            } else {
                let kind = "a positive whole number of milliseconds".to_owned();
                ("is not the length of a tick", kind)
            };
            let message = format!("`{}` {problem}", shorten(&word.value));
            let diagnostic = Diagnostic::new(Mistake::BadTicktime, message, word.span);
            return self.report(diagnostic.label(format!("expected {expected}")));
        };
        let whole = span.to(word.span);
        if let Some(first) = &self.script.ticktime {
            let first = first.span;
            return self.report(
                Diagnostic::new(Mistake::DuplicateTicktime, "a second `#ticktime`", whole)
                    .label("all ticks of a script have one length")
                    .related(first, "the first one"),
            );
        }
        self.script.ticktime = Some(Spanned::new(value, whole));
    }

    fn cut(&mut self, span: Span, argument: Span) {
        match cut::parse(self.source, self.mask, span, argument) {
            Ok(cut) => self.script.cuts.push(cut),
            // A literal without an end has been reported already.
            Err(_) if !self.mask.is_readable(argument) => {}
            Err(diagnostic) => self.report(diagnostic),
        }
    }

    fn test(&mut self, argument: Span) {
        let names = self.names(argument);
        let is_name = |name: &Name| {
            let allowed = |c: char| c.is_alphanumeric() || "_.-:/+*'".contains(c);
            name.value.chars().all(allowed)
        };
        let count = names.iter().position(|name| !is_name(name));
        if let Some(stray) = count.map(|at| &names[at]) {
            let rest = Span::new(stray.span.start as usize, argument.end as usize);
            self.stray(rest, "expected the name of a condition, or a directive");
        }
        if let Some(sequence) = self.sequence() {
            let count = count.unwrap_or(names.len());
            sequence.test.extend(names.into_iter().take(count));
        }
    }

    fn explore(&mut self, span: Span, argument: Span) {
        let words = words(self.source, self.mask, argument, false);
        for (index, word) in words.iter().enumerate() {
            let Some(expected) = explore::mistake(index, &word.value) else {
                continue;
            };
            let message = match index {
                0 => format!("there is no strategy `{}`", shorten(&word.value)),
                _ => format!(
                    "`{}` says nothing about an exploration",
                    shorten(&word.value)
                ),
            };
            self.report(Diagnostic::new(Mistake::BadExplore, message, word.span).label(expected));
        }
        let text: Vec<&str> = words.iter().map(|word| word.value.as_str()).collect();
        let text = text.join(" ").replace('_', "");
        let Some(sequence) = self.sequence() else {
            return;
        };
        if let Some(first) = &sequence.explore {
            let first = first.span;
            return self.report(
                Diagnostic::new(Mistake::BadExplore, "a second `#explore`", span)
                    .label("a sequence is explored in one way")
                    .related(first, "the first one"),
            );
        }
        sequence.explore = Some(Spanned::new(text, span));
    }

    fn hot_spots(&mut self, reached: Reached, argument: Span) {
        for name in self.names(argument) {
            let Some(sequence) = self.sequence() else {
                return;
            };
            let mut known = sequence.hot_spots.iter();
            if let Some(first) = known.find(|spot| spot.name.value == name.value) {
                let first = first.name.span;
                let message = format!("the hot spot `{}` a second time", shorten(&name.value));
                self.report(
                    Diagnostic::new(Mistake::BadHotSpot, message, name.span)
                        .label("a hot spot is reached always, never or sometimes")
                        .related(first, "the first time"),
                );
                continue;
            }
            sequence.hot_spots.push(HotSpot { name, reached });
        }
    }

    fn wake_times(&mut self, span: Span, argument: Span) {
        let mut names = words(self.source, self.mask, argument, true).into_iter();
        let Some(name) = names.next() else { return };
        let mut times = Vec::new();
        let mut is_empty = true;
        for word in names {
            is_empty = false;
            match number(&word.value) {
                Some(time) => times.push(Spanned::new(time, word.span)),
                None => self.report(
                    Diagnostic::new(
                        Mistake::BadWakeTimes,
                        format!("`{}` is not a time", shorten(&word.value)),
                        word.span,
                    )
                    .label("expected the number of a tick"),
                ),
            }
        }
        if is_empty {
            self.report(
                Diagnostic::new(
                    Mistake::BadWakeTimes,
                    format!("the list `{}` has no times", name.value),
                    span,
                )
                .label("expected times after the name, as in `#wakeTimes w 3 4 4`"),
            );
        }
        if let Some(sequence) = self.sequence() {
            sequence.wake_times.push(WakeTimes { span, name, times });
        }
    }
}
