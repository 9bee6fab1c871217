//! Thousands of random futex calls, held against a model of their own.
//!
//! The model knows nothing of the engine: threads run in turn, each until it
//! waits; a queue for each address; time-outs by deadline, then by when the
//! wait began; a clock that a reading moves by one nanosecond.

mod common;

use std::collections::VecDeque;
use std::ffi::{c_int, c_long};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use common::{Random, run_to_the_end, spawn, world};
use conan_kernel::{Inexact, Reason};

const THREADS: usize = 6;
const WORDS: usize = 4;
const OPERATIONS: usize = 600;
const SEEDS: u64 = 24;

const EAGAIN: i32 = 11;
const EINVAL: i32 = 22;
const ETIMEDOUT: i32 = 110;

/// One step of a thread's program.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Wait {
        word: usize,
        value: u32,
        until: Until,
    },
    WaitBitset {
        word: usize,
        value: u32,
        until: Until,
        bits: u32,
    },
    Wake {
        word: usize,
        count: u32,
    },
    WakeBitset {
        word: usize,
        count: u32,
        bits: u32,
    },
    Store {
        word: usize,
        value: u32,
    },
}

/// When a wait gives up. Points are multiples of a step from the beginning,
/// so that many of them are the same.
#[derive(Debug, Clone, Copy)]
enum Until {
    Never,
    After(u64),
    Point(u64),
    RealtimePoint(u64),
}

/// What a call gave, and the time after it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Event {
    thread: usize,
    step: usize,
    /// The result, or the error as a negative number.
    result: i64,
    time: u64,
}

fn program(random: &mut Random) -> Vec<Operation> {
    (0..OPERATIONS).map(|_| operation(random)).collect()
}

fn operation(random: &mut Random) -> Operation {
    let word = random.below(WORDS as u64) as usize;
    let value = random.below(3) as u32;
    let count = match random.below(4) {
        0 => i32::MAX as u32,
        few => few as u32,
    };
    // No bit at all is an error, and happens now and then.
    let bits = random.below(8) as u32;
    match random.below(9) {
        0 | 1 => Operation::Wait {
            word,
            value,
            until: length(random),
        },
        2 | 3 => Operation::WaitBitset {
            word,
            value,
            until: point(random),
            bits,
        },
        4 | 5 => Operation::Wake { word, count },
        6 => Operation::WakeBitset { word, count, bits },
        _ => Operation::Store { word, value },
    }
}

fn length(random: &mut Random) -> Until {
    match random.below(3) {
        0 => Until::Never,
        _ => Until::After(random.below(20) * 50),
    }
}

fn point(random: &mut Random) -> Until {
    let step = random.below(400) * 500;
    match random.below(4) {
        0 => Until::Never,
        1 => Until::RealtimePoint(step),
        _ => Until::Point(step),
    }
}

mod real {
    //! The same calls, made as libraries make them.

    use super::{AtomicU32, Event, Operation, Ordering, Until, WORDS, c_int, c_long, io};

    #[cfg(target_arch = "x86_64")]
    const FUTEX: c_long = 202;
    #[cfg(target_arch = "aarch64")]
    const FUTEX: c_long = 98;
    const PRIVATE: c_int = 128;
    const REALTIME: c_int = 256;

    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }

    unsafe extern "C" {
        fn syscall(number: c_long, ...) -> c_long;
        fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    }

    pub(super) fn clock(clock: c_int) -> u64 {
        let mut time = Timespec {
            seconds: 0,
            nanoseconds: 0,
        };
        // SAFETY: there is room for the result.
        assert_eq!(unsafe { clock_gettime(clock, &raw mut time) }, 0);
        time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
    }

    fn timespec(ns: u64) -> Timespec {
        Timespec {
            seconds: (ns / 1_000_000_000) as i64,
            nanoseconds: (ns % 1_000_000_000) as i64,
        }
    }

    /// Where and when a run began.
    #[derive(Clone, Copy)]
    pub(super) struct Base {
        pub(super) monotonic: u64,
        pub(super) realtime: u64,
    }

    impl Base {
        fn time(self, until: Until) -> Option<Timespec> {
            match until {
                Until::Never => None,
                Until::After(length) => Some(timespec(length)),
                Until::Point(point) => Some(timespec(self.monotonic + point)),
                Until::RealtimePoint(point) => Some(timespec(self.realtime + point)),
            }
        }
    }

    pub(super) fn wake(word: &AtomicU32, count: u32) -> i64 {
        futex(word, 1, count, None, 0)
    }

    fn futex(
        word: &AtomicU32,
        command: c_int,
        value: u32,
        time: Option<Timespec>,
        bits: u32,
    ) -> i64 {
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let none = std::ptr::null::<u32>();
        let operation = command | PRIVATE;
        // SAFETY: the word and the time outlive the call.
        let result = unsafe { syscall(FUTEX, word.as_ptr(), operation, value, time, none, bits) };
        if result == -1 {
            let error = io::Error::last_os_error().raw_os_error();
            return -i64::from(error.expect("the call sets the error"));
        }
        result
    }

    pub(super) fn perform(words: &[AtomicU32; WORDS], base: Base, operation: Operation) -> i64 {
        match operation {
            Operation::Wait { word, value, until } => {
                futex(&words[word], 0, value, base.time(until), 0)
            }
            Operation::WaitBitset {
                word,
                value,
                until,
                bits,
            } => {
                let realtime = matches!(until, Until::RealtimePoint(_));
                let command = if realtime { 9 | REALTIME } else { 9 };
                futex(&words[word], command, value, base.time(until), bits)
            }
            Operation::Wake { word, count } => wake(&words[word], count),
            Operation::WakeBitset { word, count, bits } => {
                futex(&words[word], 10, count, None, bits)
            }
            Operation::Store { word, value } => {
                words[word].store(value, Ordering::SeqCst);
                0
            }
        }
    }

    pub(super) fn event(thread: usize, step: usize, result: i64, base: Base) -> Event {
        let time = clock(1) - base.monotonic;
        Event {
            thread,
            step,
            result,
            time,
        }
    }
}

/// Runs the programs in a world. When only waits without an end are left, an
/// outsider wakes everybody, word after word.
fn run_in_a_world(programs: &[Vec<Operation>]) -> Vec<Event> {
    let mut world = world();
    let words: Arc<[AtomicU32; WORDS]> = Arc::default();
    let events = Arc::new(Mutex::new(Vec::new()));
    let base = Arc::new(Mutex::new(None));
    let clocks = base.clone();
    spawn(&mut world, "clocks", move || {
        // The second reading is one nanosecond later.
        let (monotonic, realtime) = (real::clock(1), real::clock(0));
        let base = real::Base {
            monotonic: monotonic + 1,
            realtime,
        };
        *clocks.lock().unwrap() = Some(base);
    });
    run_to_the_end(&mut world);
    let base = base.lock().unwrap().expect("the clocks were read");
    for (thread, program) in programs.iter().enumerate() {
        let (words, events, program) = (words.clone(), events.clone(), program.clone());
        spawn(&mut world, &format!("thread {thread}"), move || {
            for (step, operation) in program.into_iter().enumerate() {
                let result = real::perform(&words, base, operation);
                let event = real::event(thread, step, result, base);
                events.lock().unwrap().push(event);
            }
        });
    }
    loop {
        run_to_the_end(&mut world);
        let woken = words.iter().map(|word| real::wake(word, u32::MAX >> 1));
        if woken.sum::<i64>() == 0 {
            break;
        }
    }
    assert!(common::all_finished(&world), "every program has an end");
    let by_outsider = |one: &Inexact| one.reason == Reason::WokenFromOutside;
    assert!(world.inexact().iter().all(by_outsider));
    let events = events.lock().unwrap();
    events.clone()
}

/// A thread of the model.
struct Modelled<'p> {
    program: &'p [Operation],
    step: usize,
    /// What the wait that has just ended gave.
    ended: Option<i64>,
}

/// A wait in the model, in the order in which the waits began.
#[derive(Clone, Copy)]
struct Waiting {
    thread: usize,
    word: usize,
    bits: u32,
    deadline: Option<u64>,
}

struct Model<'p> {
    threads: Vec<Modelled<'p>>,
    words: [u32; WORDS],
    ready: VecDeque<usize>,
    waiting: Vec<Waiting>,
    now: u64,
    events: Vec<Event>,
}

impl<'p> Model<'p> {
    fn new(programs: &'p [Vec<Operation>]) -> Self {
        let start = |program| Modelled {
            program,
            step: 0,
            ended: None,
        };
        Self {
            threads: programs.iter().map(|program| start(program)).collect(),
            words: [0; WORDS],
            ready: (0..programs.len()).collect(),
            waiting: Vec::new(),
            now: 0,
            events: Vec::new(),
        }
    }

    fn run(mut self) -> Vec<Event> {
        loop {
            while let Some(thread) = self.ready.pop_front() {
                self.run_thread(thread);
            }
            if self.time_out_one() {
                continue;
            }
            for word in 0..WORDS {
                self.wake(word, u32::MAX >> 1, u32::MAX);
            }
            if self.ready.is_empty() {
                return self.events;
            }
        }
    }

    /// Until the thread waits or has come to its end.
    fn run_thread(&mut self, thread: usize) {
        if let Some(result) = self.threads[thread].ended.take() {
            self.event(thread, result);
        }
        while let Some(&operation) = self.threads[thread].program.get(self.threads[thread].step) {
            match self.perform(thread, operation) {
                Some(result) => self.event(thread, result),
                None => return,
            }
        }
    }

    fn event(&mut self, thread: usize, result: i64) {
        self.now += 1;
        let step = self.threads[thread].step;
        self.events.push(Event {
            thread,
            step,
            result,
            time: self.now,
        });
        self.threads[thread].step += 1;
    }

    /// Nothing if the thread waits.
    fn perform(&mut self, thread: usize, operation: Operation) -> Option<i64> {
        match operation {
            Operation::Wait { word, value, until } => {
                self.wait(thread, word, value, until, u32::MAX)
            }
            Operation::WaitBitset {
                word,
                value,
                until,
                bits,
            } => self.wait(thread, word, value, until, bits),
            Operation::Wake { word, count } => Some(self.wake(word, count, u32::MAX)),
            Operation::WakeBitset { word, count, bits } => Some(self.wake(word, count, bits)),
            Operation::Store { word, value } => {
                self.words[word] = value;
                Some(0)
            }
        }
    }

    fn wait(
        &mut self,
        thread: usize,
        word: usize,
        value: u32,
        until: Until,
        bits: u32,
    ) -> Option<i64> {
        if bits == 0 {
            return Some(-i64::from(EINVAL));
        }
        if self.words[word] != value {
            return Some(-i64::from(EAGAIN));
        }
        let deadline = match until {
            Until::Never => None,
            Until::After(length) => Some(self.now + length),
            Until::Point(point) | Until::RealtimePoint(point) => Some(point),
        };
        self.waiting.push(Waiting {
            thread,
            word,
            bits,
            deadline,
        });
        None
    }

    fn wake(&mut self, word: usize, count: u32, bits: u32) -> i64 {
        if bits == 0 {
            return -i64::from(EINVAL);
        }
        let mut woken = 0;
        let matches = |wait: &Waiting| wait.word == word && wait.bits & bits != 0;
        while woken < count
            && let Some(index) = self.waiting.iter().position(matches)
        {
            self.end_wait(index, 0);
            woken += 1;
        }
        i64::from(woken)
    }

    fn time_out_one(&mut self) -> bool {
        let timed = self.waiting.iter().enumerate();
        let first = timed
            .filter_map(|(index, wait)| Some((wait.deadline?, index)))
            .min();
        let Some((deadline, index)) = first else {
            return false;
        };
        self.now = self.now.max(deadline);
        self.end_wait(index, -i64::from(ETIMEDOUT));
        true
    }

    fn end_wait(&mut self, index: usize, result: i64) {
        let wait = self.waiting.remove(index);
        self.threads[wait.thread].ended = Some(result);
        self.ready.push_back(wait.thread);
    }
}

fn programs(seed: u64) -> Vec<Vec<Operation>> {
    let mut random = Random::new(seed);
    (0..THREADS).map(|_| program(&mut random)).collect()
}

#[track_caller]
fn assert_same(seed: u64, programs: &[Vec<Operation>], one: &[Event], other: &[Event]) {
    let pairs = one.iter().zip(other);
    if let Some((place, (one, other))) = pairs.enumerate().find(|(_, (one, other))| one != other) {
        let operation = programs[one.thread][one.step];
        panic!("seed {seed}, event {place}: {one:?} and {other:?} differ; {operation:?}");
    }
    assert_eq!(one.len(), other.len(), "seed {seed}");
}

#[test]
fn random_futex_calls_do_what_the_model_does() {
    for seed in 1..=SEEDS {
        let programs = programs(seed);
        let seen = run_in_a_world(&programs);
        assert_eq!(seen.len(), THREADS * OPERATIONS);
        assert_same(seed, &programs, &seen, &Model::new(&programs).run());
    }
}

#[test]
fn the_same_seed_twice_gives_the_same_events() {
    for seed in 1001..=1012 {
        let programs = programs(seed);
        let first = run_in_a_world(&programs);
        assert_same(seed, &programs, &first, &run_in_a_world(&programs));
    }
}

#[test]
fn the_programs_try_everything() {
    let seen: Vec<_> = (1..=SEEDS)
        .flat_map(|seed| Model::new(&programs(seed)).run())
        .map(|event| event.result)
        .collect();
    for result in [0, 1, 2, 3]
        .into_iter()
        .chain([EAGAIN, EINVAL, ETIMEDOUT].map(|error| -i64::from(error)))
    {
        let often = seen.iter().filter(|&&other| other == result).count();
        assert!(often > 100, "{result} was seen {often} times only");
    }
}
