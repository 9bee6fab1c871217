//! Who has touched which memory, since the threads were last at rest.

use crate::point::Access;

use super::Touch;
use super::clocks::Clocks;
use super::sites::Sites;

/// Room for so many words of memory; a power of two.
const WORDS: usize = 1 << 15;

/// Room for so many touches, at most one for each word, thread and site.
const TOUCHES: usize = 1 << 16;

/// Of a large copy, so many words are looked at.
const MOST_WORDS: usize = 64;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Word {
    /// The address of eight bytes, divided by eight.
    number: usize,
    /// When it was used.
    round: u32,
    first: u32,
}

#[derive(Clone, Copy)]
struct Touched {
    thread: u32,
    site: u32,
    /// The thread's own time.
    time: u32,
    next: u32,
    /// Which of the eight bytes.
    bytes: u8,
    access: Access,
    is_atomic: bool,
}

pub(super) struct Shadow {
    words: Vec<Word>,
    used: usize,
    touches: Vec<Touched>,
    round: u32,
    is_full: bool,
}

impl Shadow {
    pub(super) const fn new() -> Self {
        Self {
            words: Vec::new(),
            used: 0,
            touches: Vec::new(),
            round: 0,
            is_full: false,
        }
    }

    pub(super) fn begin(&mut self) {
        let none = Word {
            number: 0,
            round: 0,
            first: NONE,
        };
        self.words.resize(WORDS, none);
        self.touches.reserve_exact(TOUCHES - self.touches.len());
        self.clear();
        self.is_full = false;
    }

    pub(super) fn clear(&mut self) {
        self.touches.clear();
        self.used = 0;
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.words.iter_mut().for_each(|word| word.round = 0);
            self.round = 1;
        }
    }

    /// True if there was no room for some touch in this world.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Takes note of an access, and of the sites that it meets.
    pub(super) fn note(
        &mut self,
        thread: usize,
        touch: &Touch,
        clocks: &mut Clocks,
        sites: &mut Sites,
    ) {
        let time = clocks.now(thread);
        let Some(site) = sites.number(touch.site) else {
            self.is_full = true;
            return;
        };
        let end = touch.address.saturating_add(touch.size);
        let last = end.saturating_sub(1) >> 3;
        for number in (touch.address >> 3..=last).take(MOST_WORDS) {
            let touched = Touched {
                thread: thread as u32,
                site,
                time,
                next: NONE,
                bytes: bytes(number, touch.address, end),
                access: touch.access,
                is_atomic: touch.is_atomic,
            };
            self.note_word(number, touched, clocks, sites);
        }
    }

    fn note_word(&mut self, number: usize, new: Touched, clocks: &mut Clocks, sites: &mut Sites) {
        let Some(word) = self.word(number) else {
            self.is_full = true;
            return;
        };
        let first = self.words[word].first;
        let mut index = first;
        let mut is_known = false;
        while let Some(old) = self.touches.get_mut(index as usize) {
            index = old.next;
            if old.thread == new.thread {
                if old.is_like(&new) {
                    old.time = new.time;
                    is_known = true;
                }
            } else if old.meets(&new, clocks) {
                sites.meets(old.site);
                sites.meets(new.site);
            }
        }
        if is_known {
            return;
        }
        if self.touches.len() == TOUCHES {
            self.is_full = true;
            return;
        }
        self.words[word].first = self.touches.len() as u32;
        self.touches.push(Touched { next: first, ..new });
    }

    fn word(&mut self, number: usize) -> Option<usize> {
        let start = super::scatter(number);
        let index = (0..self.words.len())
            .map(|step| start.wrapping_add(step) % WORDS)
            .find(|&index| {
                let word = &self.words[index];
                word.round != self.round || word.number == number
            })?;
        let word = &mut self.words[index];
        if word.round != self.round {
            if self.used > WORDS * 3 / 4 {
                return None;
            }
            self.used += 1;
            *word = Word {
                number,
                round: self.round,
                first: NONE,
            };
        }
        Some(index)
    }
}

impl Touched {
    fn is_like(&self, other: &Self) -> bool {
        self.site == other.site && self.bytes == other.bytes && self.access == other.access
    }

    /// True if this and a later touch of another thread could have come in the
    /// other order, and somebody would notice. Two atomic operations always
    /// can, as far as anybody knows; where one is not atomic, not if they are
    /// ordered by others.
    fn meets(&self, later: &Self, clocks: &mut Clocks) -> bool {
        let writes = self.access == Access::Store || later.access == Access::Store;
        writes
            && self.bytes & later.bytes != 0
            && (self.is_atomic && later.is_atomic
                || !clocks.knows(later.thread as usize, self.thread as usize, self.time))
    }
}

/// Which bytes of a word lie in a range.
fn bytes(word: usize, start: usize, end: usize) -> u8 {
    let base = word << 3;
    let from = start.saturating_sub(base).min(8);
    let to = end.saturating_sub(base).min(8);
    let below = |byte: usize| ((1_u32 << byte) - 1) as u8;
    below(to) & !below(from)
}

#[cfg(test)]
mod tests {
    use std::backtrace::Backtrace;

    use super::{Clocks, Shadow, Sites, Touch, bytes};
    use crate::point::Access;

    struct Notes(Shadow, Clocks, Sites);

    impl Notes {
        fn new() -> Self {
            let mut notes = Self(Shadow::new(), Clocks::new(), Sites::new());
            notes.0.begin();
            notes.1.begin();
            notes.2.begin();
            notes
        }

        fn note(&mut self, thread: usize, touch: Touch) {
            self.0.note(thread, &touch, &mut self.1, &mut self.2);
        }
    }

    fn plain(site: usize, address: usize, access: Access) -> Touch {
        Touch {
            address,
            size: 4,
            access,
            is_atomic: false,
            is_conditional: false,
            site,
        }
    }

    fn atomic(site: usize, address: usize, access: Access) -> Touch {
        Touch {
            is_atomic: true,
            ..plain(site, address, access)
        }
    }

    /// How many sites meet when two threads do this, one after the other.
    fn meeting(one: Touch, other: Touch) -> usize {
        let mut notes = Notes::new();
        notes.note(0, one);
        notes.note(1, other);
        notes.2.waiting()
    }

    #[test]
    fn sites_meet_at_the_same_bytes_if_one_writes() {
        use Access::{Load, Store};
        assert_eq!(meeting(plain(1, 64, Store), plain(2, 64, Load)), 2);
        assert_eq!(meeting(plain(1, 64, Load), plain(2, 64, Store)), 2);
        assert_eq!(meeting(plain(1, 64, Store), plain(1, 64, Store)), 1);
        assert_eq!(meeting(plain(1, 64, Load), plain(2, 64, Load)), 0);
        assert_eq!(meeting(plain(1, 64, Store), plain(2, 68, Load)), 0);
        assert_eq!(meeting(plain(1, 62, Store), plain(2, 64, Load)), 2);
        assert_eq!(meeting(atomic(1, 64, Store), plain(2, 64, Load)), 2);
    }

    #[test]
    fn a_thread_does_not_meet_itself() {
        let mut notes = Notes::new();
        notes.note(0, plain(1, 64, Access::Store));
        notes.note(0, plain(2, 64, Access::Store));
        assert_eq!(notes.2.waiting(), 0);
    }

    #[test]
    fn what_is_ordered_meets_only_if_it_is_atomic() {
        for (make, met) in [(plain as fn(usize, usize, Access) -> Touch, 0), (atomic, 2)] {
            let mut notes = Notes::new();
            notes.note(0, make(1, 64, Access::Store));
            notes.1.order(0, 1);
            notes.note(1, make(2, 64, Access::Store));
            assert_eq!(notes.2.waiting(), met);
            notes.note(0, make(3, 64, Access::Store));
            assert_eq!(notes.2.waiting(), if met == 0 { 2 } else { 3 });
        }
    }

    #[test]
    fn after_a_rest_nothing_of_before_is_met() {
        let mut notes = Notes::new();
        notes.note(0, plain(1, 64, Access::Store));
        notes.0.clear();
        notes.note(1, plain(2, 64, Access::Store));
        assert_eq!(notes.2.waiting(), 0);
    }

    #[test]
    fn it_says_when_there_is_no_room() {
        let mut notes = Notes::new();
        for number in 0..super::WORDS {
            assert_eq!(notes.0.is_full(), number > super::WORDS * 3 / 4 + 1);
            notes.note(0, plain(1, number * 8, Access::Load));
        }
        assert!(notes.0.is_full());
        notes.0.begin();
        assert!(!notes.0.is_full());
    }

    #[test]
    fn sites_are_adopted_after_a_visit_when_the_owner_says_so() {
        let mut notes = Notes::new();
        notes.note(0, plain(1, 64, Access::Store));
        notes.note(1, plain(2, 64, Access::Store));
        assert_eq!(notes.2.candidates().len(), 0);
        notes.2.visit(1, Backtrace::disabled);
        let candidates = notes.2.candidates();
        assert_eq!(candidates.len(), 1);
        assert!(!notes.2.is_adopted(1));
        notes.2.settle(&candidates[0], true);
        assert!(notes.2.is_adopted(1) && !notes.2.is_adopted(2));
        assert_eq!((notes.2.adopted(), notes.2.waiting()), (1, 1));
        notes.2.visit(2, Backtrace::disabled);
        let candidates = notes.2.candidates();
        notes.2.settle(&candidates[0], false);
        assert!(!notes.2.is_adopted(2));
        assert_eq!((notes.2.adopted(), notes.2.waiting()), (1, 0));
        notes.2.forget();
        assert!(!notes.2.is_adopted(1));
    }

    #[test]
    fn bytes_of_a_word() {
        assert_eq!(bytes(8, 64, 72), 0xff);
        assert_eq!(bytes(8, 60, 66), 0b11);
        assert_eq!(bytes(8, 70, 90), 0b1100_0000);
    }
}
