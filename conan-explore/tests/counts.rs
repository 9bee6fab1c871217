//! How many schedules there are: worked out by hand or by other means, and
//! counted.

mod common;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use common::{passes, programs};
use conan_explore::{Dfs, End, Exploration, Failure, Random, Stage, Threads};
use conan_kernel::{Access, access, point};

/// Explores to the end and returns how many schedules there were.
#[track_caller]
fn count(exploration: &Exploration<Failure>) -> u64 {
    assert!(
        matches!(exploration.end, End::Exhausted { .. }),
        "{exploration:?}"
    );
    let counts = exploration.counts;
    assert_eq!(counts.diverged, 0);
    assert_eq!(counts.executions, counts.schedules, "each is tried once");
    counts.executions - counts.redundant
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

fn choose(n: u64, k: u64) -> u64 {
    if k > n {
        return 0;
    }
    factorial(n) / factorial(k) / factorial(n - k)
}

#[test]
fn threads_with_points_have_as_many_schedules_as_their_steps_have_orders() {
    for (threads, points) in [(1, 3), (2, 0), (2, 1), (2, 3), (3, 1), (4, 0)] {
        let exploration = passes(&programs::points(threads, points), Dfs::new(), 10_000);
        let (n, steps) = (threads as u64, points as u64 + 1);
        let orders = factorial(n * steps) / factorial(steps).pow(threads as u32);
        assert_eq!(
            count(&exploration),
            orders,
            "{threads} threads, {points} points"
        );
    }
}

/// Schedules of two threads with so many steps each: a thread that has come to
/// its end is not preempted, so *m* stretches take *m* − 2 preemptions.
fn with_preemptions_up_to(bound: u64, steps: u64) -> u64 {
    let stretches = 2..=bound + 2;
    stretches
        .map(|m| 2 * choose(steps - 1, m.div_ceil(2) - 1) * choose(steps - 1, m / 2 - 1))
        .sum()
}

#[test]
fn two_threads_have_as_many_schedules_within_a_bound_as_the_formula_says() {
    for (points, bound) in [(3, 0), (3, 1), (3, 2), (3, 3), (5, 2), (3, 100)] {
        let search = Dfs::new().preemptions(bound);
        let exploration = passes(&programs::points(2, points), search, 10_000);
        let expected = with_preemptions_up_to((bound as u64).min(50), points as u64 + 1);
        assert_eq!(
            count(&exploration),
            expected,
            "{points} points, bound {bound}"
        );
        let End::Exhausted { bounds, .. } = exploration.end else {
            unreachable!("it was counted")
        };
        assert_eq!(bounds.preemptions, Some(bound));
    }
}

#[test]
fn two_threads_have_as_many_schedules_with_few_deviations_as_the_formula_says() {
    for (points, bound) in [(3, 0), (3, 1), (3, 2), (5, 3)] {
        let search = Dfs::new().deviations(bound);
        let exploration = passes(&programs::points(2, points), search, 10_000);
        // Each preemption is one; and to begin with the second thread is.
        let halves = |bound| with_preemptions_up_to(bound, points as u64 + 1) / 2;
        let expected = match bound as u64 {
            0 => halves(0),
            bound => halves(bound) + halves(bound - 1),
        };
        assert_eq!(
            count(&exploration),
            expected,
            "{points} points, bound {bound}"
        );
    }
}

/// Counts by going through all of them, without any engine.
fn enumerate(left: &mut [usize], last: Option<usize>, bound: usize) -> u64 {
    if left.iter().all(|&steps| steps == 0) {
        return 1;
    }
    let mut schedules = 0;
    for thread in 0..left.len() {
        let preempts = last.is_some_and(|last| last != thread && left[last] > 0);
        if left[thread] == 0 || (preempts && bound == 0) {
            continue;
        }
        left[thread] -= 1;
        schedules += enumerate(left, Some(thread), bound - usize::from(preempts));
        left[thread] += 1;
    }
    schedules
}

#[test]
fn three_threads_have_as_many_schedules_within_a_bound_as_an_enumeration_finds() {
    for (points, bound) in [(1, 0), (1, 1), (2, 1), (2, 2)] {
        let search = Dfs::new().preemptions(bound);
        let exploration = passes(&programs::points(3, points), search, 10_000);
        let expected = enumerate(&mut [points + 1; 3], None, bound);
        assert_eq!(
            count(&exploration),
            expected,
            "{points} points, bound {bound}"
        );
    }
}

/// A step of a thread in a program that says all it does to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    /// The first step, of which nothing is known.
    Begin,
    Load(usize),
    Store(usize),
}

fn are_independent(one: Act, other: Act) -> bool {
    match (one, other) {
        (Act::Load(_), Act::Load(_)) => true,
        (Act::Load(a) | Act::Store(a), Act::Load(b) | Act::Store(b)) => a != b,
        _ => false,
    }
}

/// All orders of the threads' steps, those that differ only in the order of
/// independent steps counted as one: the smallest of them.
fn classes(threads: &[Vec<Act>]) -> u64 {
    fn orders(
        threads: &[Vec<Act>],
        done: &mut Vec<usize>,
        order: &mut Vec<(usize, Act)>,
        all: &mut Vec<Vec<(usize, Act)>>,
    ) {
        let before = order.len();
        for thread in 0..threads.len() {
            if let Some(&act) = threads[thread].get(done[thread]) {
                done[thread] += 1;
                order.push((thread, act));
                orders(threads, done, order, all);
                order.pop();
                done[thread] -= 1;
            }
        }
        if before == threads.iter().map(Vec::len).sum::<usize>() {
            all.push(order.clone());
        }
    }
    // Again and again the lowest thread whose step can come first.
    fn smallest(mut order: Vec<(usize, Act)>) -> Vec<(usize, Act)> {
        let mut sorted = Vec::new();
        while !order.is_empty() {
            let can_be_first = |&place: &usize| {
                let (thread, act) = order[place];
                let mut before = order[..place].iter();
                before.all(|&(other, its)| other != thread && are_independent(its, act))
            };
            let first = (0..order.len())
                .filter(can_be_first)
                .min_by_key(|&place| order[place].0);
            sorted.push(order.remove(first.expect("the first can")));
        }
        sorted
    }
    let mut all = Vec::new();
    let mut done = vec![0; threads.len()];
    orders(threads, &mut done, &mut Vec::new(), &mut all);
    let classes: BTreeSet<_> = all.into_iter().map(smallest).collect();
    classes.len() as u64
}

fn accesses(threads: Vec<Vec<Act>>) -> Threads<impl Fn(&mut Stage)> {
    Threads::new(move |stage: &mut Stage| {
        for (number, acts) in threads.iter().enumerate() {
            let acts = acts.clone();
            stage.spawn(&format!("t{number}"), move || {
                for act in acts {
                    match act {
                        Act::Begin => {}
                        Act::Load(place) => access(place, Access::Load),
                        Act::Store(place) => access(place, Access::Store),
                    }
                }
            });
        }
    })
}

#[test]
fn sleep_sets_leave_one_schedule_of_each_class() {
    use Act::{Begin, Load, Store};
    let programs = [
        vec![
            vec![Begin, Store(8), Store(16)],
            vec![Begin, Store(24), Store(32)],
        ],
        vec![
            vec![Begin, Store(8), Store(8)],
            vec![Begin, Store(8), Store(8)],
        ],
        vec![
            vec![Begin, Load(8), Store(8)],
            vec![Begin, Load(8), Store(8)],
        ],
        vec![
            vec![Begin, Load(8), Store(16)],
            vec![Begin, Load(16), Store(8)],
            vec![Begin, Load(8)],
        ],
        vec![
            vec![Begin, Store(8), Load(16)],
            vec![Begin, Store(16), Load(24)],
            vec![Begin, Store(24), Load(8)],
        ],
    ];
    for program in programs {
        let expected = classes(&program);
        let exploration = passes(&accesses(program.clone()), Dfs::new().sleep_sets(), 10_000);
        assert_eq!(count(&exploration), expected, "{program:?}");
        let all = passes(&accesses(program.clone()), Dfs::new(), 10_000);
        let all = count(&all);
        assert_eq!(all, interleavings(&program), "{program:?}");
        assert!(all >= expected, "{program:?}");
    }
}

fn interleavings(threads: &[Vec<Act>]) -> u64 {
    let steps = threads.iter().map(|acts| acts.len() as u64);
    let ways: u64 = steps.clone().map(factorial).product();
    factorial(steps.sum()) / ways
}

#[test]
fn sleep_sets_leave_nothing_out_where_nothing_is_known() {
    let exploration = passes(&programs::points(2, 2), Dfs::new().sleep_sets(), 1000);
    assert_eq!(count(&exploration), 20);
    // With a bound, what is left out may be all that the bound leaves.
    let search = Dfs::new().sleep_sets().preemptions(1);
    let exploration = passes(&programs::points(2, 2), search, 1000);
    assert_eq!(count(&exploration), with_preemptions_up_to(1, 3));
}

/// Threads that take std's lock once, with a point while they have it: a model
/// of the lock that knows nothing of the engine.
#[derive(Debug, Clone)]
struct Locking {
    /// 0: free, 1: taken, 2: taken, and somebody may wait.
    word: u32,
    waiting: Vec<usize>,
    at: Vec<At>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Begin,
    Point,
    AboutToWait,
    Waiting,
    Woken,
    AboutToWake,
    HasWoken,
    End,
}

impl Locking {
    fn new(threads: usize) -> Self {
        Self {
            word: 0,
            waiting: Vec::new(),
            at: vec![At::Begin; threads],
        }
    }

    fn is_ready(&self, thread: usize) -> bool {
        !matches!(self.at[thread], At::Waiting | At::End)
    }

    /// What can come of a thread's next step: one state, or one for each
    /// thread that a wake can wake.
    fn step(mut self, thread: usize) -> Vec<Self> {
        self.at[thread] = match self.at[thread] {
            At::Begin if self.word == 0 => {
                self.word = 1;
                At::Point
            }
            At::Begin => {
                self.word = 2;
                At::AboutToWait
            }
            At::AboutToWait if self.word == 2 => {
                self.waiting.push(thread);
                At::Waiting
            }
            At::AboutToWait | At::Woken => {
                let before = std::mem::replace(&mut self.word, 2);
                if before == 0 {
                    At::Point
                } else {
                    At::AboutToWait
                }
            }
            At::Point => match std::mem::replace(&mut self.word, 0) {
                2 => At::AboutToWake,
                _ => At::End,
            },
            At::AboutToWake if self.waiting.is_empty() => At::End,
            At::AboutToWake => {
                self.at[thread] = At::HasWoken;
                return self.wake();
            }
            At::HasWoken => At::End,
            At::Waiting | At::End => unreachable!("it is not ready"),
        };
        vec![self]
    }

    fn wake(self) -> Vec<Self> {
        let wakes = |place: usize| {
            let mut woken = self.clone();
            let thread = woken.waiting.remove(place);
            woken.at[thread] = At::Woken;
            woken
        };
        (0..self.waiting.len()).map(wakes).collect()
    }

    /// How many ways there are to go on.
    fn schedules(&self, last: Option<usize>, bound: usize) -> u64 {
        let ready: Vec<_> = (0..self.at.len()).filter(|&t| self.is_ready(t)).collect();
        if ready.is_empty() {
            return 1;
        }
        let goes_on = last.filter(|&last| self.is_ready(last));
        let mut schedules = 0;
        for thread in ready {
            let preempts = goes_on.is_some_and(|last| last != thread);
            if preempts && bound == 0 {
                continue;
            }
            for next in self.clone().step(thread) {
                schedules += next.schedules(Some(thread), bound - usize::from(preempts));
            }
        }
        schedules
    }
}

#[test]
fn a_lock_has_as_many_schedules_as_a_model_of_it() {
    let program = |threads: usize| {
        Threads::new(move |stage: &mut Stage| {
            let lock = Arc::new(Mutex::new(()));
            for number in 0..threads {
                let lock = lock.clone();
                stage.spawn(&format!("t{number}"), move || {
                    let _guard = lock.lock().unwrap();
                    point();
                });
            }
        })
    };
    let unbounded = passes(&program(2), Dfs::new(), 10_000);
    assert_eq!(count(&unbounded), Locking::new(2).schedules(None, 1000));
    for (threads, bound) in [(2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2)] {
        let search = Dfs::new().preemptions(bound);
        let schedules = count(&passes(&program(threads), search, 10_000));
        let expected = Locking::new(threads).schedules(None, bound);
        assert_eq!(schedules, expected, "{threads} threads, bound {bound}");
    }
}

#[test]
fn the_estimate_is_the_number_when_all_is_explored() {
    let exploration = passes(&programs::points(3, 1), Dfs::new(), 1000);
    let estimate = exploration.counts.estimate.expect("dfs has one");
    assert!((estimate - 90.0).abs() < 1e-6, "{estimate}");
}

#[test]
fn the_estimate_of_a_random_walk_comes_near_the_number() {
    let exploration = passes(&programs::points(2, 3), Random::new(1), 1000);
    let estimate = exploration.counts.estimate.expect("random has one");
    let orders = 70.0;
    assert!((estimate - orders).abs() < orders / 10.0, "{estimate}");
    assert_eq!(exploration.counts.schedules, 70, "all were seen");
}
