//! Which test a worker takes next. Each stays at one binary as long as it has
//! tests: it has loaded that one, and no other.

use std::ops::Range;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use super::list::Test;

/// The tests that nobody has taken yet, by binaries.
pub(super) struct Queue(Mutex<Vec<Part>>);

/// Those of one binary.
struct Part {
    /// Their places in the list of all.
    left: Range<usize>,
    /// Who is at it.
    workers: usize,
}

/// What a worker has taken.
pub(super) struct Taken {
    pub(super) number: usize,
    part: usize,
}

impl Queue {
    /// All of them. Those of one binary stand together.
    pub(super) fn new(tests: &[Test<'_>]) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        for part in tests.chunk_by(|one, other| ptr::eq(one.binary, other.binary)) {
            let start = parts.last().map_or(0, |before| before.left.end);
            parts.push(Part {
                left: start..start + part.len(),
                workers: 0,
            });
        }
        Self(Mutex::new(parts))
    }

    /// The next test for a worker that has taken this one before. When its binary
    /// has no more it goes to one where nobody is, and then helps where most is
    /// left to do.
    pub(super) fn take(&self, before: Option<&Taken>) -> Option<Taken> {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |part: &usize| !parts[*part].left.is_empty();
        let same = before.map(|before| before.part).filter(open);
        let place = same.or_else(|| {
            let urgency = |part: &usize| match &parts[*part] {
                Part { workers: 0, .. } => usize::MAX,
                Part { left, workers } => left.len() / (workers + 1),
            };
            // Of equals, the first.
            (0..parts.len()).filter(open).rev().max_by_key(urgency)
        })?;
        let part = &mut parts[place];
        part.workers += usize::from(same.is_none());
        let number = part.left.next()?;
        Some(Taken {
            number,
            part: place,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::build::Binary;
    use super::*;

    fn binary(name: &str) -> Binary {
        Binary {
            name: name.to_owned(),
            selection: Vec::new(),
            path: PathBuf::from(name),
            folder: PathBuf::new(),
            environment: Vec::new(),
            has_harness: true,
        }
    }

    fn tests<'b>(binaries: &'b [Binary], counts: &[usize]) -> Vec<Test<'b>> {
        let test = |binary| Test {
            binary,
            name: None,
            is_ignored: false,
        };
        let binaries = binaries.iter().zip(counts);
        let tests = binaries.flat_map(|(binary, &count)| vec![test(binary); count]);
        tests.collect()
    }

    /// The tests that workers get who ask in turn.
    fn taken(counts: &[usize], workers: usize) -> Vec<Vec<usize>> {
        let binaries: Vec<_> = counts.iter().map(|_| binary("b")).collect();
        let tests = tests(&binaries, counts);
        let queue = Queue::new(&tests);
        let mut before: Vec<Option<Taken>> = (0..workers).map(|_| None).collect();
        let mut taken = vec![Vec::new(); workers];
        for worker in (0..workers).cycle() {
            let Some(next) = queue.take(before[worker].as_ref()) else {
                break;
            };
            taken[worker].push(next.number);
            before[worker] = Some(next);
        }
        taken
    }

    #[test]
    fn each_stays_at_a_binary_and_goes_to_the_next_in_order() {
        assert_eq!(taken(&[2, 3, 2, 1], 2), [[0, 1, 5, 6], [2, 3, 4, 7]]);
    }

    #[test]
    fn who_finds_no_other_binary_helps_where_most_is_left() {
        assert_eq!(
            taken(&[1, 2, 5], 3),
            [vec![0, 4, 6], vec![1, 2, 7], vec![3, 5]]
        );
    }

    #[test]
    fn one_worker_takes_all_in_order() {
        assert_eq!(taken(&[3, 1, 2], 1), [[0, 1, 2, 3, 4, 5]]);
        assert_eq!(taken(&[], 1), [[0; 0]]);
    }
}
