//! The engine's state, under its one lock: threads, queues, timers.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::decide::{Course, Deciding, Doing};
use crate::executable;
use crate::fine::{Fine, Races};
use crate::handover::{Next, Slot, handover};
use crate::io::Io;
use crate::left::Statics;
use crate::lock::{Guard, Lock};
use crate::places::ByAddress;
use crate::raw;
use crate::schedule::Strategy;
use crate::signals::Alarm;
use crate::thread::{Blocked, Cause, Inexact, Phase, Reason, Thread, ThreadId, Wake, WakeCall};
use crate::watchdog::{ALONE_NS, OFTEN};

/// Queues are kept though nobody is in them, unless there are more.
const KEPT_QUEUES: usize = 64;

/// How many addresses are remembered, at most.
const WAKE_CALLS: usize = 1024;

pub(crate) struct State {
    /// True while a world is open.
    pub(crate) open: bool,
    /// The threads of the open world: its own, and those of earlier ones that
    /// it has woken.
    pub(crate) members: Vec<ThreadId>,
    pub(crate) threads: Vec<Thread>,
    /// How many threads closed worlds have left behind, not counting those that
    /// a later world or a thread outside has woken.
    pub(crate) left_behind: usize,
    /// The static variables as the last world that left threads behind had them
    /// at its end.
    pub(crate) statics: Statics,
    /// How many nanoseconds a thread of the open world may compute where no other
    /// thread is ready.
    pub(crate) alone_ns: u64,
    /// True if the system has refused to start a thread for the open world.
    pub(crate) was_refused: bool,
    /// Threads of closed worlds that have ended: their places are used again.
    pub(crate) free: BTreeSet<ThreadId>,
    /// Threads of a process that have come to their end, and that nobody will
    /// join any more: they are used again.
    resting: Vec<ThreadId>,
    pub(crate) ready: VecDeque<ThreadId>,
    /// Ready, but they have said that others should go first.
    pub(crate) yielded: VecDeque<ThreadId>,
    pub(crate) current: Option<ThreadId>,
    /// Who waits at which address. Nobody asks for the order of addresses.
    pub(crate) queues: HashMap<usize, VecDeque<ThreadId>, BuildHasherDefault<ByAddress>>,
    pub(crate) timers: BTreeMap<(u64, u64), ThreadId>,
    pub(crate) by_pthread: BTreeMap<usize, ThreadId>,
    pub(crate) io: Io,
    pub(crate) alarm: Alarm,
    /// How many threads wait for a signal.
    pub(crate) awaiting: usize,
    /// Threads that have begun to wait at a static variable, and that nobody
    /// has waited for yet.
    pub(crate) at_statics: Vec<ThreadId>,
    /// The last wakes at addresses, one for all that share a place, each with
    /// the number of its world.
    wake_calls: Vec<Option<(u64, usize, WakeCall)>>,
    worlds: u64,
    pub(crate) strategy: Option<Box<dyn Strategy>>,
    pub(crate) deciding: Deciding,
    pub(crate) fine: Fine,
    pub(crate) races: Races,
    pub(crate) now: u64,
    /// True if the world is the whole process.
    pub(crate) is_process: bool,
    /// The time at which the world was opened.
    pub(crate) begun: u64,
    /// A digest of who ran when, to tell one run of a process from another.
    pub(crate) trace: u64,
    /// Time does not creep beyond this.
    pub(crate) horizon: u64,
    pub(crate) outside: usize,
    pub(crate) inexact: Vec<Inexact>,
    /// The thread that woke one outside last, if nobody has waited for that
    /// one since.
    pub(crate) woke_outside: Option<ThreadId>,
    sequence: u64,
    /// Turns since there was last a moment in which nobody had anything to do.
    pub(crate) turns: u32,
    /// Rounds in which threads did nothing but yield.
    idle_rounds: u32,
    /// Turns that others have had since the first of the yielded said so.
    passed_over: u32,
    /// The same for those that poll.
    overtaken: u32,
    /// Counts the turns of threads that do not make a habit of keeping them:
    /// these do what others poll for.
    pub(crate) happened: u64,
    /// Threads that were let go and have not come back.
    pub(crate) free_threads: BTreeSet<u32>,
}

/// So often makes it a habit.
const HABIT: u32 = 3;

/// Turns after which the yielded go on though others are still ready: those
/// may wait for them.
const LONG_ENOUGH: u32 = 100;

/// The engine's one lock.
static STATE: Lock<State> = Lock::new(State {
    open: false,
    members: Vec::new(),
    threads: Vec::new(),
    left_behind: 0,
    statics: Statics::new(),
    alone_ns: ALONE_NS,
    was_refused: false,
    free: BTreeSet::new(),
    resting: Vec::new(),
    ready: VecDeque::new(),
    yielded: VecDeque::new(),
    current: None,
    queues: HashMap::with_hasher(BuildHasherDefault::new()),
    timers: BTreeMap::new(),
    by_pthread: BTreeMap::new(),
    io: Io::new(),
    alarm: Alarm::NONE,
    awaiting: 0,
    at_statics: Vec::new(),
    wake_calls: Vec::new(),
    worlds: 0,
    strategy: None,
    deciding: Deciding::new(),
    fine: Fine::new(),
    races: Races::new(),
    now: 0,
    is_process: false,
    begun: 0,
    trace: 0,
    horizon: 0,
    outside: 0,
    inexact: Vec::new(),
    woke_outside: None,
    sequence: 0,
    turns: 0,
    idle_rounds: 0,
    passed_over: 0,
    overtaken: 0,
    happened: 0,
    free_threads: BTreeSet::new(),
});

/// True once there has been any managed thread: before that nobody outside
/// needs to look for managed ones to wake.
pub(crate) static ANY_MANAGED: AtomicBool = AtomicBool::new(false);

/// Counts what threads outside do to managed ones, for an owner who waits.
pub(crate) static BELL: AtomicU32 = AtomicU32::new(0);

/// Rings the bell.
pub(crate) fn ring() {
    BELL.fetch_add(1, Ordering::Release);
    raw::wake_all(&BELL);
}

/// Counts hand-overs, for the watchdog.
pub(crate) static SWITCHES: AtomicU32 = AtomicU32::new(0);

/// Where threads wait for the engine's own lock.
pub(crate) fn lock_address() -> usize {
    STATE.address()
}

/// Locks the state. The caller must be inside the engine.
#[inline]
pub(crate) fn lock() -> Guard<'static, State> {
    STATE.lock()
}

/// Takes the lock of the state if no thread holds it.
pub(crate) fn try_lock() -> Option<Guard<'static, State>> {
    STATE.try_lock()
}

impl State {
    /// Notes that the run is not exact because of `thread`.
    pub(crate) fn note_inexact(&mut self, thread: ThreadId, reason: Reason) {
        let tag = self.thread(thread).tag;
        self.inexact.push(Inexact {
            thread,
            reason,
            tag,
        });
    }

    /// The same, but not again and again.
    pub(crate) fn note_inexact_once(&mut self, thread: ThreadId, reason: Reason) {
        let is_it = |known: &Inexact| known.thread == thread && known.reason == reason;
        if !self.inexact.iter().any(is_it) {
            self.note_inexact(thread, reason);
        }
    }

    /// Registers a thread that is about to start.
    pub(crate) fn register(&mut self, name: Option<&str>) -> &'static Slot {
        ANY_MANAGED.store(true, Ordering::SeqCst);
        // The lowest first: later threads of a world have higher numbers.
        let free = self.free.pop_first();
        let slot = match free {
            Some(id) => {
                let slot = self.thread(id).slot;
                slot.take();
                slot
            }
            None => Slot::new(ThreadId(self.threads.len())),
        };
        self.members.push(slot.id);
        let name = name.map(str::to_owned);
        let thread = Thread::new(slot, name, self.members.len() - 1);
        match free {
            Some(id) => *self.thread(id) = thread,
            None => self.threads.push(thread),
        }
        slot
    }

    /// A thread of a crew is of this world now.
    pub(crate) fn enlist(&mut self, slot: &'static Slot, name: String) {
        self.members.push(slot.id);
        let thread = Thread::new(slot, Some(name), self.members.len() - 1);
        *self.thread(slot.id) = thread;
    }

    /// A thread of the program's takes the place of one that has come to its
    /// end, if that had a stack of the same size.
    pub(crate) fn take_resting(&mut self, stack: usize) -> Option<&'static Slot> {
        let fits = |&id: &ThreadId| self.threads[id.0].slot.berth.stack() == stack;
        let place = self.resting.iter().rposition(fits)?;
        let id = self.resting.remove(place);
        let thread = self.thread(id);
        *thread = Thread::new(thread.slot, None, thread.course.number);
        thread.slot.berth.detached.store(false, Ordering::Relaxed);
        thread.slot.looks.forget();
        Some(thread.slot)
    }

    /// Nobody will join a thread that is kept.
    pub(crate) fn detach(&mut self, id: ThreadId) {
        let thread = self.thread(id);
        let berth = &thread.slot.berth;
        berth.detached.store(true, Ordering::Relaxed);
        if thread.phase == Phase::Finished && berth.is_taken() {
            self.resting.push(id);
        }
    }

    /// A thread has come to its end: whoever waits for that goes on.
    pub(crate) fn end(&mut self, id: ThreadId) {
        let at = self.now;
        let thread = self.thread(id);
        thread.phase = Phase::Finished;
        let wake = Wake {
            by: Some(id),
            tag: thread.tag,
            timed_out: false,
            at,
        };
        for joiner in std::mem::take(&mut thread.joiners) {
            self.end_wait(joiner, wake);
        }
        self.progress();
    }

    /// The thread that was to use this place could not be started.
    pub(crate) fn has_not_started(&mut self, slot: &'static Slot) {
        self.thread(slot.id).phase = Phase::Finished;
        drop(slot.berth.take());
        slot.vacate();
    }

    #[inline]
    pub(crate) fn thread(&mut self, id: ThreadId) -> &mut Thread {
        &mut self.threads[id.0]
    }

    /// True if a thread is outside, and need not come back before it blocks.
    #[inline]
    pub(crate) fn stays_outside(&mut self, id: ThreadId) -> bool {
        self.is_process && self.thread(id).phase == Phase::Outside
    }

    #[inline]
    pub(crate) fn make_ready(&mut self, id: ThreadId) {
        let step = self.deciding.steps;
        let thread = self.thread(id);
        thread.phase = Phase::Ready;
        thread.course.ready_since = step;
        self.ready.push_back(id);
        self.progress();
    }

    /// Something happened: nobody is merely spinning.
    #[inline]
    pub(crate) fn progress(&mut self) {
        self.idle_rounds = 0;
        self.deciding.events += 1;
        self.deciding.yields = 0;
    }

    pub(crate) fn forget_wake_calls(&mut self) {
        // To clear them takes longer than many a world.
        self.worlds += 1;
        if !self.is_process {
            self.wake_calls.resize(WAKE_CALLS, None);
        }
    }

    #[inline]
    pub(crate) fn remember_wake_call(&mut self, address: usize, call: WakeCall) {
        // Nobody asks in a managed process, which is over before it has paid
        // for the room.
        if self.is_process {
            return;
        }
        if let Some(place) = self.wake_calls.get_mut((address >> 2) % WAKE_CALLS) {
            *place = Some((self.worlds, address, call));
        }
    }

    #[inline]
    pub(crate) fn last_wake_call(&self, address: usize) -> Option<WakeCall> {
        let (world, of, call) = (*self.wake_calls.get((address >> 2) % WAKE_CALLS)?)?;
        (world == self.worlds && of == address).then_some(call)
    }

    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let first = self.timers.keys().next().map(|(deadline, _)| *deadline);
        let others = [self.next_expiry(), self.alarm.due()];
        others.into_iter().flatten().chain(first).min()
    }

    /// Fires the timer at this place in the order of deadlines.
    pub(crate) fn fire(&mut self, index: usize) {
        let Some((&timer, &id)) = self.timers.iter().nth(index) else {
            return;
        };
        self.timers.remove(&timer);
        let at = self.now;
        self.end_wait(
            id,
            Wake {
                by: None,
                tag: 0,
                timed_out: true,
                at,
            },
        );
    }

    /// Takes a blocked thread out of its queue and timer and makes it ready.
    pub(crate) fn end_wait(&mut self, id: ThreadId, wake: Wake) {
        let open = self.open;
        let thread = self.thread(id);
        let phase = thread.phase;
        let timer = thread.timer.take();
        thread.last_wake = Some(wake);
        // One that an earlier world left behind belongs to the world that
        // wakes it; one that a thread outside wakes goes its own way.
        let was_left = !thread.is_member;
        let adopts = open && (thread.is_member || wake.by.is_some());
        if adopts && !std::mem::replace(&mut thread.is_member, true) {
            let course = Course::new(self.members.len());
            self.members.push(id);
            self.thread(id).course = course;
        }
        if was_left {
            self.left_behind = self.left_behind.saturating_sub(1);
        }
        self.thread(id).course.is_to(match phase {
            _ if wake.timed_out => Doing::TimeOut,
            Phase::Blocked(Blocked {
                cause: Cause::Futex(address),
                ..
            }) => Doing::Woken(address),
            _ => Doing::Continue,
        });
        if let Some(timer) = timer {
            self.timers.remove(&timer);
        }
        match phase {
            Phase::Blocked(Blocked {
                cause: Cause::Futex(address),
                ..
            }) => self.leave_queue(address, id),
            Phase::Blocked(Blocked {
                cause: Cause::Io(_),
                ..
            }) => self.leave_descriptors(id),
            Phase::Blocked(Blocked {
                cause: Cause::Join(other),
                ..
            }) => self.thread(other).joiners.retain(|&joiner| joiner != id),
            Phase::Blocked(Blocked {
                cause: Cause::Signal,
                ..
            }) => self.awaiting -= 1,
            _ => {}
        }
        if let Some(by) = wake.by {
            self.order(by, id);
        }
        if !adopts {
            self.thread(id).phase = Phase::Finished;
            let slot = self.thread(id).slot;
            self.free_threads
                .insert(slot.number.load(Ordering::Relaxed));
            handover().release(slot);
            return;
        }
        self.make_ready(id);
    }

    /// What a thread has done comes before what another one will do.
    pub(crate) fn order(&mut self, before: ThreadId, after: ThreadId) {
        let [before, after] = [before, after].map(|id| self.threads[id.0].course.number);
        self.fine.orders(before, after);
    }

    #[inline]
    pub(crate) fn leave_queue(&mut self, address: usize, id: ThreadId) {
        if let Some(queue) = self.queues.get_mut(&address) {
            queue.retain(|&waiting| waiting != id);
            // The next one may wait at the same place.
            if queue.is_empty() && self.queues.len() > KEPT_QUEUES {
                self.queues.remove(&address);
            }
        }
    }

    /// Puts a thread to wait. The caller passes the turn on.
    pub(crate) fn begin_wait(&mut self, id: ThreadId, cause: Cause, deadline: Option<u64>) {
        self.progress();
        let since = self.now;
        // Beyond what the kernel itself can count to: never.
        let deadline = deadline.filter(|&deadline| deadline < i64::MAX as u64);
        match cause {
            Cause::Futex(address) => {
                self.queues.entry(address).or_default().push_back(id);
                // All threads of a process are the engine's.
                if !self.is_process && executable::has_static_at(address) {
                    self.at_statics.push(id);
                }
            }
            Cause::Join(other) => self.thread(other).joiners.push(id),
            Cause::Signal => self.awaiting += 1,
            Cause::Sleep | Cause::Park | Cause::Io(_) => {}
        }
        let timer = deadline.map(|deadline| {
            self.sequence += 1;
            (deadline, self.sequence)
        });
        if let Some(timer) = timer {
            self.timers.insert(timer, id);
        }
        let thread = self.thread(id);
        thread.timer = timer;
        thread.reads = 0;
        thread.course.comes_to(match cause {
            Cause::Futex(address) => Doing::Wait(address),
            Cause::Join(other) => Doing::Join(other),
            Cause::Sleep | Cause::Park | Cause::Io(_) | Cause::Signal => Doing::Continue,
        });
        thread.phase = Phase::Blocked(Blocked {
            cause,
            since,
            deadline,
        });
    }

    /// Decides who has the turn next. The caller passes it on.
    pub(crate) fn choose(&mut self) -> Next {
        let previous = self.current.take();
        self.take_time();
        if self.deciding.preempts {
            self.revive();
        } else {
            self.recall_the_yielded();
        }
        loop {
            if self.ready.is_empty()
                && !self.take_signals()
                && !self.ask_descriptors()
                && !self.wake_the_yielded()
            {
                return None;
            }
            self.put_behind();
            let next = self.pass_the_turn(previous, false)?;
            self.happened += u64::from(!self.would_keep_turn(next.id));
            if !self.let_outside(next.id) {
                return Some(next);
            }
        }
    }

    /// In a process in which threads poll, one that has kept its turn goes behind
    /// those that have not: it may poll for what they do. But not for ever.
    fn put_behind(&mut self) {
        if !self.is_process || self.inexact.is_empty() {
            return;
        }
        let threads = &self.threads;
        let polls = |id: &ThreadId| {
            let thread = &threads[id.0];
            thread.kept_turn > 0 && !thread.needs_turn
        };
        let other = match self.ready.front() {
            Some(first) if polls(first) => self.ready.iter().position(|id| !polls(id)),
            _ => None,
        };
        self.overtaken += 1;
        match other.filter(|_| self.overtaken < LONG_ENOUGH) {
            Some(place) => {
                if let Some(id) = self.ready.remove(place) {
                    self.ready.push_front(id);
                }
            }
            None => self.overtaken = 0,
        }
    }

    /// The yielded have let others go first for long enough.
    fn recall_the_yielded(&mut self) {
        self.passed_over += 1;
        if self.yielded.is_empty() {
            self.passed_over = 0;
        } else if self.passed_over > LONG_ENOUGH {
            self.passed_over = 0;
            self.ready.append(&mut self.yielded);
        }
    }

    /// Adds to the digest of who ran when.
    #[inline]
    pub(crate) fn note_turn(&mut self, id: ThreadId) {
        let turn = (self.now - self.begun) ^ ((id.0 as u64) << 48);
        self.trace = (self.trace ^ turn).wrapping_mul(0x0100_0000_01b3);
    }

    /// Lets a thread of a process go on outside at once, if it would only keep
    /// its turn until the watchdog takes it, as it has done again and again.
    fn let_outside(&mut self, id: ThreadId) -> bool {
        let needs_turn = std::mem::take(&mut self.thread(id).needs_turn);
        if needs_turn || !self.would_keep_turn(id) {
            return false;
        }
        self.goes_outside(id);
        handover().bypass(Some(self.thread(id).slot));
        true
    }

    /// The calling thread has done what it needed its turn for. If it would only
    /// keep it, the others go on beside it.
    pub(crate) fn step_outside(&mut self, id: ThreadId) {
        if self.current == Some(id) && self.would_keep_turn(id) {
            self.goes_outside(id);
            let next = self.choose();
            handover().bypass(next);
        }
    }

    /// True for a thread of a process that makes a habit of keeping its turn;
    /// where many have done so, once is enough.
    fn would_keep_turn(&mut self, id: ThreadId) -> bool {
        let habit = if self.inexact.len() > OFTEN { 1 } else { HABIT };
        self.is_process && self.thread(id).kept_turn >= habit
    }

    /// A thread that has the turn is out of the engine's hands from now on.
    pub(crate) fn goes_outside(&mut self, id: ThreadId) {
        self.thread(id).phase = Phase::Outside;
        self.current = None;
        self.outside += 1;
    }

    /// Only yielding threads are left: they go on, and time creeps, so that
    /// what they wait for can come. False if there are none, or if time has
    /// come as far as it may.
    fn wake_the_yielded(&mut self) -> bool {
        if self.yielded.is_empty() {
            return false;
        }
        // They may wait for one outside, where time is real.
        if self.is_process && (self.outside > 0 || !self.wait_for_outside().is_empty()) {
            return false;
        }
        if self.idle_rounds == 0 {
            self.idle_rounds = 1;
        } else {
            self.creep();
            if self.fire_one() {
                return true;
            }
            if self.now >= self.horizon {
                self.idle_rounds = 0;
                return false;
            }
        }
        self.ready.append(&mut self.yielded);
        true
    }

    /// Those that are ready have gone on for as long as they may, as if they had
    /// done nothing but yield.
    pub(crate) fn hold_the_busy(&mut self) {
        self.yielded.append(&mut self.ready);
        self.idle_rounds = self.idle_rounds.max(1);
    }

    /// Time moves a little; more, the longer threads only yield.
    pub(crate) fn creep(&mut self) {
        self.idle_rounds += 1;
        let step = if self.is_process {
            // No horizon ends it: not so much that a loop that yields at each
            // step of its work would see hours go by.
            1000 * u64::from(self.idle_rounds / 16).clamp(1, 1000)
        } else {
            1000 << (self.idle_rounds / 4).min(30)
        };
        self.creep_by(step);
    }

    /// Time moves by so much, but not beyond what falls due next.
    pub(crate) fn creep_by(&mut self, step: u64) {
        let limit = self.next_deadline().unwrap_or(u64::MAX).min(self.horizon);
        self.now = self.now.max(limit.min(self.now.saturating_add(step)));
    }
}
