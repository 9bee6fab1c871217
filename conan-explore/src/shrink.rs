//! From a schedule that fails to a simpler one that fails alike.
//!
//! First everything after some decision is left to the default. Then stretches
//! of a thread are moved together, so that fewer preemptions are left (after
//! Jalbert and Sen, 2010), and decisions that are not the default are made so,
//! more and more finely chosen ones of them (delta debugging, Zeller and
//! Hildebrandt, 2002). In the end, schedules with fewer deviations are tried one
//! after the other. What is kept is always what has really happened.

use crate::program::{Outcome, Program};
use crate::schedule::Schedule;
use crate::search::{Dfs, Progress, Replay, Search, Segments};
use crate::token::Token;
use crate::trace::Trace;

/// So many decisions in all replays are enough: long executions take long.
const MOST_DECISIONS: usize = 300_000;

/// A failing schedule that was made simpler.
#[derive(Debug, Clone)]
pub struct Shrunk<F> {
    /// What is wrong.
    pub failure: F,
    /// What is decided.
    pub trace: Trace,
    /// The same, to be kept.
    pub token: Token,
    /// How many replays it took.
    pub replays: u64,
}

/// Makes a schedule simpler with so many replays at most. Nothing if the same
/// decisions do not lead to the same failure.
///
/// Of an execution that was not exact it is only found out whether it can be had
/// again: what is left out may have made no difference by chance. And where a
/// thread computes without an end, each replay takes seconds.
pub(crate) fn shrink<F>(
    program: &dyn Program<Failure = F>,
    failure: &F,
    trace: &Trace,
    spurious: u32,
    replays: u64,
    is_exact: bool,
) -> Option<Shrunk<F>> {
    let mut shrinking = Shrinking {
        program,
        like: failure,
        spurious,
        left: if is_exact { replays } else { replays.min(1) },
        replays: 0,
        decisions: MOST_DECISIONS,
        best: None,
    };
    if !shrinking.attempt(Replay::new(trace.choices())) {
        return None;
    }
    loop {
        let before = shrinking.size();
        shrinking.cut();
        shrinking.join_segments();
        shrinking.take_defaults();
        if before == shrinking.size() && !shrinking.search() {
            break;
        }
    }
    let (failure, trace) = shrinking.best?;
    Some(Shrunk {
        failure,
        token: Token::of(&trace, spurious),
        trace,
        replays: shrinking.replays,
    })
}

struct Shrinking<'p, F> {
    program: &'p dyn Program<Failure = F>,
    like: &'p F,
    spurious: u32,
    /// Replays so far, and how many more there may be, and the decisions in
    /// them.
    replays: u64,
    left: u64,
    decisions: usize,
    best: Option<(F, Trace)>,
}

/// What is to become smaller: preemptions, other deviations, the place of the
/// last.
type Size = (usize, usize, usize);

fn size(trace: &Trace) -> Size {
    (
        trace.preemptions(),
        trace.deviations(),
        trace.choices().len(),
    )
}

impl<F> Shrinking<'_, F> {
    fn size(&self) -> Option<Size> {
        self.best.as_ref().map(|(_, trace)| size(trace))
    }

    fn choices(&self) -> Vec<usize> {
        self.best
            .as_ref()
            .map_or(Vec::new(), |(_, trace)| trace.choices())
    }

    /// Executes the program once. True if it failed alike, and in a simpler
    /// way than ever before.
    fn attempt(&mut self, search: impl Search + 'static) -> bool {
        self.execute(&Schedule::new(search, self.spurious))
    }

    fn execute(&mut self, schedule: &Schedule) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.replays += 1;
        schedule.begin(0);
        let verdict = self.program.execute(schedule.clone());
        let decisions = schedule.with(|_, trace| trace.taken().len());
        self.decisions = self.decisions.saturating_sub(decisions);
        if self.decisions == 0 {
            self.left = 0;
        }
        let Outcome::Failed(failure) = verdict.outcome else {
            return false;
        };
        let trace = schedule.trace();
        let is_better = self.size().is_none_or(|best| size(&trace) < best);
        if !is_better || !self.program.are_alike(self.like, &failure) {
            return false;
        }
        self.best = Some((failure, trace));
        true
    }

    /// Tries the schedules with fewer preemptions, then those with fewer
    /// deviations, as far as the replays go. True if one of them fails.
    fn search(&mut self) -> bool {
        let Some((preemptions, deviations, _)) = self.size() else {
            return false;
        };
        let fewer_preemptions = preemptions.checked_sub(1);
        let fewer_preemptions = fewer_preemptions.map(|bound| Dfs::new().preemptions(bound));
        let fewer_deviations =
            (0..deviations).map(|bound| Dfs::new().preemptions(preemptions).deviations(bound));
        let mut simpler = fewer_preemptions.into_iter().chain(fewer_deviations);
        simpler.any(|simpler| self.search_by(simpler))
    }

    fn search_by(&mut self, simpler: Dfs) -> bool {
        let schedule = Schedule::new(simpler, self.spurious);
        for _ in 0..self.left / 2 {
            if self.execute(&schedule) {
                return true;
            }
            let progress = schedule.with(|search, trace| search.end(trace));
            if progress == Progress::Exhausted {
                break;
            }
        }
        false
    }

    /// Leaves the last decisions to the default: all, half, a quarter of them.
    fn cut(&mut self) {
        let mut choices = self.choices();
        let mut part = choices.len();
        while part > 0 {
            let kept = choices.len() - part.min(choices.len());
            if self.attempt(Replay::new(choices[..kept].to_vec())) {
                choices = self.choices();
            } else {
                part /= 2;
            }
        }
    }

    /// Lets a thread run on where it was interrupted, to the end of its next
    /// stretch; or begin that stretch only where it would come to the next.
    fn join_segments(&mut self) {
        let mut place = 0;
        loop {
            let Some((_, trace)) = &self.best else { return };
            let (segments, others) = Segments::of(trace);
            if self.left == 0 || place >= segments.len() {
                return;
            }
            let thread = segments[place].thread;
            let mut later = segments.iter().skip(place + 1);
            let Some(next) = later.position(|segment| segment.thread == thread) else {
                place += 1;
                continue;
            };
            let next = place + 1 + next;
            let mut up = segments.clone();
            up[place].until = up.remove(next).until;
            let mut down = segments;
            down.remove(place);
            let joined = self.attempt(Segments::new(up, others.clone()))
                || self.attempt(Segments::new(down, others));
            if !joined {
                place += 1;
            }
        }
    }

    /// Takes the default at some of the decisions that are not.
    fn take_defaults(&mut self) {
        let mut parts = 1;
        loop {
            let choices = self.choices();
            let deviations: Vec<_> = (0..choices.len())
                .filter(|&place| choices[place] != 0)
                .collect();
            if deviations.is_empty() || parts > deviations.len() {
                return;
            }
            let length = deviations.len().div_ceil(parts);
            // The last first: what comes before them stays as it was.
            let succeeded = deviations.rchunks(length).any(|chunk| {
                let mut choices = choices.clone();
                for &place in chunk {
                    choices[place] = 0;
                }
                self.attempt(Replay::new(choices))
            });
            if self.left == 0 {
                return;
            }
            parts = if succeeded {
                (parts - 1).max(1)
            } else {
                parts * 2
            };
            // The last round tries each of them alone.
            if !succeeded && parts > deviations.len() && parts / 2 < deviations.len() {
                parts = deviations.len();
            }
        }
    }
}
