//! Scheduling points: what there is to choose from, and asking the strategy.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::fair::Aside;
use crate::fine::Touch;
use crate::handover::{Next, Slot};
use crate::lock::Guard;
use crate::me::{self, Inside};
use crate::places::Places;
use crate::point::{Access, Choice, Kind, Place, Point, Step};
use crate::schedule::Strategy;
use crate::state::{self, SWITCHES, State};
use crate::thread::{Phase, Thread, ThreadId, Wake};
use crate::turn;

/// True while a world is open whose strategy preempts: code that calls
/// [`point`] very often pays no more than a look at it.
static PREEMPTING: AtomicBool = AtomicBool::new(false);

/// What the decisions of the open world need.
pub(crate) struct Deciding {
    is_fixed: bool,
    pub(crate) preempts: bool,
    watches: bool,
    /// Kept, so that a decision allocates nothing.
    options: Vec<Choice>,
    places: Places,
    /// Scheduling points so far.
    pub(crate) steps: u64,
    pub(crate) limit: u64,
    /// The same once the execution has failed, whatever comes.
    failed_limit: Option<u64>,
    /// What has happened, apart from yields.
    pub(crate) events: u64,
    /// Yields since a thread has waited, was woken or has ended.
    pub(crate) yields: u64,
}

impl Deciding {
    pub(crate) const fn new() -> Self {
        Self {
            is_fixed: true,
            preempts: false,
            watches: false,
            options: Vec::new(),
            places: Places::new(),
            steps: 0,
            limit: u64::MAX,
            failed_limit: None,
            events: 0,
            yields: 0,
        }
    }

    /// A new world decides by this strategy.
    pub(crate) fn begin(&mut self, strategy: &dyn Strategy) {
        *self = Self {
            is_fixed: strategy.is_fixed(),
            preempts: strategy.preempts(),
            watches: strategy.watches(),
            options: std::mem::take(&mut self.options),
            places: std::mem::replace(&mut self.places, Places::new()).forgotten(),
            ..Self::new()
        };
        PREEMPTING.store(self.preempts, Ordering::Relaxed);
    }

    pub(crate) fn end(&mut self) {
        self.preempts = false;
        PREEMPTING.store(false, Ordering::Relaxed);
    }

    /// A thread is one of the options.
    #[inline]
    fn offer(&mut self, threads: &mut [Thread], id: ThreadId) {
        let course = &threads[id.0].course;
        let step = match course.step {
            Some(step) => step,
            None => self.work_out(threads, id),
        };
        let course = &threads[id.0].course;
        self.options.push(Choice {
            thread: course.number,
            position: course.position,
            step,
        });
    }

    fn work_out(&mut self, threads: &mut [Thread], id: ThreadId) -> Step {
        let step = match threads[id.0].course.doing {
            Doing::Begin => Step::Begin,
            Doing::Continue => Step::Continue,
            Doing::Wait(address) => Step::Wait(self.place(address)),
            Doing::Wake(address) => Step::Wake(self.place(address)),
            Doing::Woken(address) => Step::Woken(self.place(address)),
            Doing::TimeOut => Step::TimeOut,
            Doing::Yield => Step::Yield,
            Doing::Join(id) => Step::Join(threads[id.0].course.number as u32),
            Doing::Point => Step::Point,
            Doing::Load(address) => Step::Load(self.place(address)),
            Doing::Store(address) => Step::Store(self.place(address)),
        };
        threads[id.0].course.step = Some(step);
        step
    }

    fn place(&mut self, address: usize) -> Place {
        Place(self.places.number(address))
    }

    /// The execution has failed, whatever comes.
    fn has_failed(&mut self) {
        let limit = self.steps.saturating_mul(2).saturating_add(STEPS_TO_END);
        self.failed_limit.get_or_insert(limit);
    }
}

/// After a failure, the other threads may take as many steps as there were before
/// it, plus this number. A thread that ends meanwhile is used again, and holds
/// nothing any more. A thread that waits for the one that has failed would only
/// spin.
const STEPS_TO_END: u64 = 100;

/// How a thread has come to where it is.
#[derive(Debug)]
pub(crate) struct Course {
    /// The thread's number in its world.
    pub(crate) number: usize,
    doing: Doing,
    /// The same as strategies see it, once that has been worked out.
    step: Option<Step>,
    /// How many scheduling points it has come to.
    position: u64,
    /// The step at which it became ready, and that of its last turn.
    pub(crate) ready_since: u64,
    pub(crate) last_turn: u64,
    /// The step of its last yield, and the events before it.
    pub(crate) last_yield: Option<(u64, u64)>,
    /// Points at which it could go on, since then.
    pub(crate) points: u32,
    pub(crate) aside: Aside,
    /// The access that it is about to make, if it has stopped before one.
    pub(crate) touching: Option<Touch>,
}

impl Course {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            doing: Doing::Begin,
            step: None,
            position: 0,
            ready_since: 0,
            last_turn: 0,
            last_yield: None,
            points: 0,
            aside: Aside::No,
            touching: None,
        }
    }

    /// The thread has come to a scheduling point.
    #[inline]
    pub(crate) fn comes_to(&mut self, doing: Doing) {
        self.is_to(doing);
        self.position += 1;
    }

    /// What the thread does when it goes on from where it is.
    #[inline]
    pub(crate) fn is_to(&mut self, doing: Doing) {
        self.doing = doing;
        self.step = None;
    }
}

/// A [`Step`] before anybody wants to know its numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Doing {
    Begin,
    Continue,
    Wait(usize),
    Wake(usize),
    Woken(usize),
    TimeOut,
    Yield,
    Join(ThreadId),
    Point,
    Load(usize),
    Store(usize),
}

impl State {
    /// True if there is a strategy to ask.
    pub(crate) fn decides(&self) -> bool {
        !self.deciding.is_fixed
    }

    /// True if threads are ready that have no step left.
    pub(crate) fn is_out_of_steps(&self) -> bool {
        self.deciding.steps >= self.deciding.limit && !self.ready.is_empty()
    }

    /// True if threads are ready that have no step left because one has failed.
    /// What was decided before the world was opened is done all the same.
    pub(crate) fn is_cut_short(&self) -> bool {
        let steps = self.deciding.steps;
        let is_over = self
            .deciding
            .failed_limit
            .is_some_and(|limit| steps >= limit);
        is_over && !self.strategy.as_ref().is_some_and(|it| it.has_more()) && !self.ready.is_empty()
    }

    /// Gives the turn to one of the ready threads, of which there are some.
    /// Nobody has it if there may be no more steps.
    pub(crate) fn pass_the_turn(&mut self, previous: Option<ThreadId>, interrupts: bool) -> Next {
        if self.deciding.steps >= self.deciding.limit || self.is_cut_short() {
            return None;
        }
        self.deciding.steps += 1;
        self.ask_descriptors_at_times();
        let id = self.pick(previous, interrupts);
        let step = self.deciding.steps;
        let thread = self.thread(id);
        thread.phase = Phase::Running;
        thread.course.last_turn = step;
        let slot = thread.slot;
        self.current = Some(id);
        self.note_turn(id);
        // Under the lock there is no other writer.
        let switches = SWITCHES.load(Ordering::Relaxed);
        SWITCHES.store(switches.wrapping_add(1), Ordering::Relaxed);
        if self.deciding.preempts {
            self.has_had_a_turn(id);
        }
        Some(slot)
    }

    /// Takes the one out of the ready threads that runs next. In a world with
    /// preemptions that may also be one whose time is up.
    fn pick(&mut self, previous: Option<ThreadId>, interrupts: bool) -> ThreadId {
        if self.deciding.is_fixed {
            return self.ready.pop_front().expect("a ready thread");
        }
        // Nobody need be asked, as most often at the end of a world.
        let is_alone = self.ready.len() == 1 && self.timers.is_empty();
        if is_alone && !self.deciding.watches {
            return self.ready.pop_front().expect("a ready thread");
        }
        self.deciding.options.clear();
        for &id in &self.ready {
            self.deciding.offer(&mut self.threads, id);
        }
        if self.deciding.preempts {
            self.offer_the_due();
        }
        let index = self.ask(Kind::Next, previous, interrupts);
        let chosen = match index {
            0 => self.ready.pop_front(),
            _ => self.ready.remove(index),
        };
        if let Some(id) = chosen {
            return id;
        }
        self.fire(index - self.ready.len());
        self.ready.pop_back().expect("the thread that was due")
    }

    /// Which of the waiting threads a wake at their address wakes, as an
    /// index; `left` is how many it may still wake.
    pub(crate) fn whom(
        &mut self,
        waiting: &[ThreadId],
        left: usize,
        by: Option<ThreadId>,
    ) -> usize {
        // Whoever wakes all of them need not choose.
        if left >= waiting.len() {
            return 0;
        }
        self.deciding.options.clear();
        for &id in waiting {
            self.deciding.offer(&mut self.threads, id);
        }
        self.ask(Kind::Wake, by, false)
    }

    /// Fires one of the timers that are due. False if there is none.
    pub(crate) fn fire_one(&mut self) -> bool {
        if self.next_deadline().is_none_or(|first| first > self.now) {
            return false;
        }
        if self.go_off() | self.expire_timers() {
            return true;
        }
        let first = self.timers.keys().next();
        if first.is_none_or(|&(first, _)| first > self.now) {
            return false;
        }
        let index = if self.deciding.is_fixed {
            0
        } else {
            self.deciding.options.clear();
            self.offer_the_due();
            self.ask(Kind::Due, None, false)
        };
        self.fire(index);
        true
    }

    /// Whether a thread that is about to wait is woken for no reason.
    pub(crate) fn wakes_for_nothing(&mut self, id: ThreadId, address: usize) -> bool {
        if self.deciding.is_fixed || !self.strategy.as_ref().is_some_and(|it| it.is_spurious()) {
            return false;
        }
        self.deciding.options.clear();
        for doing in [Doing::Wait(address), Doing::Woken(address)] {
            self.thread(id).course.is_to(doing);
            self.deciding.offer(&mut self.threads, id);
        }
        self.ask(Kind::Spurious, Some(id), false) == 1
    }

    /// The last wake at this address, if it woke nobody.
    pub(crate) fn missed_at(&self, address: usize) -> Option<Wake> {
        let call = self.last_wake_call(address)?;
        call.woke.is_none().then_some(Wake {
            by: call.by,
            tag: call.tag,
            timed_out: false,
            at: call.at,
        })
    }

    #[inline]
    fn offer_the_due(&mut self) {
        for (_, id) in self.timers.range(..=(self.now, u64::MAX)) {
            let course = &self.threads[id.0].course;
            self.deciding.options.push(Choice {
                thread: course.number,
                position: course.position,
                step: Step::TimeOut,
            });
        }
    }

    /// Asks the strategy, if there is more than one option.
    #[inline]
    fn ask(&mut self, kind: Kind, previous: Option<ThreadId>, interrupts: bool) -> usize {
        let previous = previous.map(|id| self.thread(id).course.number);
        let options = &self.deciding.options[..];
        if options.len() < 2 && !self.deciding.watches {
            return 0;
        }
        let point = Point {
            kind,
            previous,
            interrupts,
            options,
        };
        match &mut self.strategy {
            Some(strategy) => strategy.decide(&point).min(options.len() - 1),
            None => 0,
        }
    }
}

/// A scheduling point at which the calling thread, which has the turn, could
/// go on. Returns when it does. One that is outside goes on at once.
#[inline]
pub(crate) fn pause(
    mut state: Guard<'static, State>,
    slot: &'static Slot,
    doing: Doing,
) -> Guard<'static, State> {
    if !state.deciding.preempts || state.stays_outside(slot.id) {
        return state;
    }
    state.deciding.events += 1;
    state.current = None;
    let thread = state.thread(slot.id);
    thread.phase = Phase::Ready;
    thread.course.comes_to(doing);
    let next = if state.has_gone_on_for_long(slot.id) {
        state.step_aside(slot.id);
        state.choose()
    } else {
        state.revive();
        state.ready.push_front(slot.id);
        state.pass_the_turn(Some(slot.id), true)
    };
    match next {
        Some(next) if next.id == slot.id => state,
        next => {
            turn::hand_over(state, slot, next);
            state::lock()
        }
    }
}

/// True while points are anything at all.
#[inline]
pub(crate) fn is_preempting() -> bool {
    PREEMPTING.load(Ordering::Relaxed)
}

/// Says that the execution that the calling managed thread is part of has
/// failed, whatever the other threads do. They soon have no steps any more.
pub fn has_failed() {
    if me::slot().is_some() {
        let _inside = Inside::enter();
        state::lock().deciding.has_failed();
    }
}

/// A scheduling point of the calling thread's own making: other threads may
/// run before it goes on, if the world's strategy preempts. Does nothing
/// otherwise, and nothing on threads that are not managed.
pub fn point() {
    if is_preempting() {
        pause_here(Doing::Point);
    }
}

/// As [`point`], for code that is about to read or write memory that others
/// can reach, and does nothing else that they could notice before its next
/// scheduling point.
///
/// Only the same address is the same place. Accesses of different widths that
/// can overlap have to be given the address of what they have in common.
pub fn access(address: usize, access: Access) {
    if is_preempting() {
        pause_here(match access {
            Access::Load => Doing::Load(address),
            Access::Store => Doing::Store(address),
        });
    }
}

fn pause_here(doing: Doing) {
    if let Some(slot) = me::managed() {
        let _inside = Inside::enter();
        drop(pause(turn::enter(slot), slot, doing));
    }
}
