//! The contexts of all managed threads, and of the owner of their world, run
//! on one thread of the system's, the *carrier*. A hand-over is a change of
//! registers, not a call of the kernel.
//!
//! Each context runs on its own stack with its own thread-locals, so that
//! everything in it is as if its own thread ran. Only the kernel sees the
//! carrier: its number, its alternate signal stack. The carrier blocks the
//! signals that the context blocks. A context's own thread sleeps meanwhile,
//! with its signals blocked; it goes on when the context has come to its end or
//! is let go. The first thread of a managed process is a carrier itself: to
//! start another one takes as long as many a test.
//!
//! A context that does not come back keeps its carrier. The others go on with
//! another one.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::thread;

use super::context::Context;
use super::{Go, Handover, Next, Slot, THREAD_TIME};
use crate::clocks::real_clock;
use crate::lock::{Guard, Lock};
use crate::me::Inside;
use crate::process;
use crate::raw::{self, OwnSignalStack, SignalMask};
use crate::signals;
use crate::state::{self, State};
use crate::trap;
use crate::watchdog::{self, PERIOD_NS, Watchdog};

/// A context, and who runs it.
#[derive(Default)]
pub(super) struct Seat {
    context: Context,
    /// The carrier that runs it; null while none does.
    carrier: AtomicPtr<Carrier>,
    /// 1 if it shall only look at its own stack.
    tell: AtomicU32,
    /// The signals that its own thread does not take, when it is not here.
    mask: Lock<Option<SignalMask>>,
    /// The signals that the context does not take.
    blocked: AtomicU64,
    /// Processor time that it has used, once anybody has asked for that, and
    /// what its carrier had used when it began to run.
    used: AtomicU64,
    begun: AtomicU64,
}

/// The owner of the open world.
static OWNER: Seat = Seat {
    context: Context::new(),
    carrier: AtomicPtr::new(ptr::null_mut()),
    tell: AtomicU32::new(0),
    mask: Lock::new(None),
    blocked: AtomicU64::new(0),
    used: AtomicU64::new(0),
    begun: AtomicU64::new(0),
};

/// True once a thread has asked for its processor time.
static COUNTS_TIME: AtomicBool = AtomicBool::new(false);

impl Seat {
    /// The calling thread of the system's lets a carrier go on with its
    /// context.
    fn board(&self) {
        // A signal's handler would use the stack and the thread-locals that
        // the context is using elsewhere.
        *self.mask.lock() = Some(SignalMask::block_all());
        self.context.bind();
        self.context.set_aside();
    }

    /// True if it is the context's own thread that goes on now.
    #[inline]
    fn has_landed(&self) -> bool {
        let landed = self.context.was_reclaimed();
        if landed && let Some(mask) = self.mask.lock().take() {
            mask.restore();
        }
        landed
    }

    /// From here on the carrier blocks the signals that the context blocks.
    #[inline]
    fn take_mask(&self) {
        let carrier = self.carrier.load(Ordering::Relaxed);
        // SAFETY: carriers live for ever.
        if let Some(carrier) = unsafe { carrier.as_ref() } {
            carrier.block(self.blocked.load(Ordering::Relaxed));
        }
    }

    /// The context blocks these signals from now on. If it runs, the system
    /// knows that already.
    fn blocks(&self, signals: u64) {
        self.blocked.store(signals, Ordering::Relaxed);
        let carrier = self.carrier.load(Ordering::Relaxed);
        // SAFETY: carriers live for ever.
        if let Some(carrier) = unsafe { carrier.as_ref() } {
            carrier.blocked.store(signals, Ordering::Relaxed);
        }
    }

    /// The carrier that the calling context runs on, if any. It is about to
    /// leave it.
    #[inline]
    fn leave_carrier(&self) -> Option<&'static Carrier> {
        // Who runs it has it to itself; others only look.
        let carrier = self.carrier.load(Ordering::Relaxed);
        self.carrier.store(ptr::null_mut(), Ordering::Relaxed);
        if COUNTS_TIME.load(Ordering::Relaxed) {
            self.used.store(self.time_used(), Ordering::Relaxed);
        }
        // SAFETY: carriers live for ever.
        unsafe { carrier.as_ref() }
    }
}

impl Seat {
    /// What it has used so far; it runs.
    fn time_used(&self) -> u64 {
        let begun = self.begun.load(Ordering::Relaxed);
        let since = real_clock(THREAD_TIME).saturating_sub(begun);
        self.used.load(Ordering::Relaxed).saturating_add(since)
    }
}

/// A thread of the system's that runs contexts.
struct Carrier {
    /// Its own context, which waits for something to run. It has no
    /// thread-locals that it could use.
    home: Context,
    number: AtomicU32,
    /// What to run; null while there is nothing.
    order: AtomicPtr<Seat>,
    bell: AtomicU32,
    /// The signals that it blocks.
    blocked: AtomicU64,
    /// The next of those that have nothing to do.
    next: AtomicPtr<Self>,
}

/// The first of the carriers that have nothing to do; null if there is none.
static IDLE: Lock<AtomicPtr<Carrier>> = Lock::new(AtomicPtr::new(ptr::null_mut()));

impl Carrier {
    fn new() -> &'static Self {
        Box::leak(Box::new(Self {
            home: Context::new(),
            number: AtomicU32::new(0),
            order: AtomicPtr::new(ptr::null_mut()),
            bell: AtomicU32::new(0),
            blocked: AtomicU64::new(u64::MAX),
            next: AtomicPtr::new(ptr::null_mut()),
        }))
    }

    /// An idle one; a new one if the others are all stuck.
    fn any() -> &'static Self {
        let first = IDLE.lock();
        // SAFETY: carriers live for ever.
        if let Some(carrier) = unsafe { first.load(Ordering::Relaxed).as_ref() } {
            first.store(carrier.next.load(Ordering::Relaxed), Ordering::Relaxed);
            return carrier;
        }
        drop(first);
        let carrier = Self::new();
        let _inside = Inside::enter();
        thread::Builder::new()
            .name("conan carrier".to_owned())
            .spawn(|| carrier.serve())
            .expect("the system starts another thread");
        carrier
    }

    /// The calling thread of the system's, which runs a context already.
    fn here() -> &'static Self {
        let carrier = Self::new();
        carrier.attend();
        carrier.home.prepare(Self::come_home, carrier);
        carrier
    }

    /// The calling thread is about to run threads of the program.
    fn attend(&self) {
        // A context that overflows its stack says so on this one.
        if let Some(stack) = OwnSignalStack::new() {
            stack.set();
        }
        trap::attend();
        self.number.store(raw::thread_number(), Ordering::Relaxed);
    }

    fn send(&self, seat: &'static Seat) {
        self.order
            .store(ptr::from_ref(seat).cast_mut(), Ordering::Release);
        self.bell.store(1, Ordering::Release);
        raw::wake_all(&self.bell);
    }

    fn serve(&'static self) -> ! {
        let _inside = Inside::enter();
        // Signals are for the threads that it runs.
        SignalMask::block_all();
        self.attend();
        self.home.bind();
        self.carry_on()
    }

    /// Where the home of one begins that has run a context before.
    extern "sysv64" fn come_home(&'static self) -> ! {
        self.rest();
        self.carry_on()
    }

    /// Without any use of thread-locals, which allocating is.
    fn carry_on(&'static self) -> ! {
        loop {
            while self.bell.swap(0, Ordering::Acquire) == 0 {
                raw::wait(&self.bell, 0, None);
            }
            let order = self.order.swap(ptr::null_mut(), Ordering::Acquire);
            // SAFETY: whoever rings has stored a seat, and seats live for ever.
            if let Some(seat) = unsafe { order.as_ref() } {
                self.carry(&self.home, seat);
            }
            self.rest();
        }
    }

    /// It has nothing to do.
    fn rest(&'static self) {
        let first = IDLE.lock();
        self.next
            .store(first.load(Ordering::Relaxed), Ordering::Relaxed);
        first.store(ptr::from_ref(self).cast_mut(), Ordering::Relaxed);
    }

    /// Goes on with another context.
    #[inline]
    fn carry(&'static self, from: &Context, to: &Seat) {
        // A new thread may not have begun yet.
        to.context.await_saved();
        to.carrier
            .store(ptr::from_ref(self).cast_mut(), Ordering::Relaxed);
        if COUNTS_TIME.load(Ordering::Relaxed) {
            to.begun.store(real_clock(THREAD_TIME), Ordering::Relaxed);
        }
        from.switch(&to.context);
    }

    /// Has the system block these signals on the calling carrier.
    #[inline]
    fn block(&self, signals: u64) {
        if self.blocked.load(Ordering::Relaxed) != signals {
            self.blocked.store(signals, Ordering::Relaxed);
            SignalMask::of(signals).restore();
        }
    }

    /// Goes on with its own context: it has nothing else to do.
    fn go_home(&self, from: &Context) {
        self.block(u64::MAX);
        self.home.await_saved();
        from.switch(&self.home);
    }
}

#[inline]
fn seat(next: Next) -> &'static Seat {
    next.map_or(&OWNER, |slot| &slot.carried)
}

/// All managed threads on one carrier, as long as that is not stuck.
pub(super) struct Carriers;

impl Carriers {
    /// The owner goes on. The owner of a world is a thread of the program: it
    /// takes signals, and so do the threads that it starts. In a managed process
    /// it is a thread of the engine, which leaves the mask as it is.
    #[inline]
    fn owner_gone_on() {
        if !process::is_managed() {
            OWNER.take_mask();
        }
    }

    /// Somebody goes on with the calling thread: why?
    #[inline]
    fn gone_on(me: &'static Slot) -> Go {
        while !me.carried.has_landed() {
            if me.carried.tell.load(Ordering::Relaxed) == 0 {
                me.carried.take_mask();
                return Go::Turn;
            }
            me.carried.tell.store(0, Ordering::Relaxed);
            me.look_at_own_stack();
            if let Some(carrier) = me.carried.leave_carrier() {
                carrier.carry(&me.carried.context, &OWNER);
            }
        }
        Go::Released
    }
}

impl Handover for Carriers {
    fn board(&self) {
        watchdog::attend();
        OWNER
            .blocked
            .store(signals::blocked_by_owner(), Ordering::Relaxed);
        Carrier::any().send(&OWNER);
        OWNER.board();
        Self::owner_gone_on();
    }

    fn attend(&self) {
        watchdog::attend();
    }

    fn adopt(&self, me: &'static Slot) {
        let carrier = Carrier::here();
        me.carried.context.bind();
        me.carried
            .carrier
            .store(ptr::from_ref(carrier).cast_mut(), Ordering::Relaxed);
    }

    fn follow(&self) {
        SignalMask::block_all();
        // Many a process has ended before anybody needs an owner. Until then it
        // watches itself: a thread for that would take memory from where the
        // program takes it, perhaps at this moment. Once somebody waits for the
        // owner, nobody does, and after what is not exact it does not matter.
        let mut watchdog = Watchdog::default();
        while !OWNER.context.is_wanted_within(PERIOD_NS) {
            let _inside = Inside::enter();
            let mut state = state::lock();
            watchdog.look(&mut state);
            if !state.inexact.is_empty() {
                break;
            }
        }
        watchdog::attend();
        OWNER.board();
    }

    fn land(&self) {
        if let Some(carrier) = OWNER.leave_carrier() {
            OWNER.context.reclaim();
            carrier.go_home(&OWNER.context);
            OWNER.has_landed();
        }
    }

    fn run(&self, to: &'static Slot) {
        if let Some(carrier) = OWNER.leave_carrier() {
            carrier.carry(&OWNER.context, &to.carried);
            Self::owner_gone_on();
        }
    }

    fn wait(&self, me: &'static Slot) -> Go {
        match me.carried.leave_carrier() {
            Some(carrier) => carrier.go_home(&me.carried.context),
            None => me.carried.board(),
        }
        Self::gone_on(me)
    }

    fn pass(&self, state: Guard<'static, State>, me: &'static Slot, to: Next) -> Go {
        drop(state);
        if to.is_some_and(|to| to.id == me.id) {
            return Go::Turn;
        }
        if let Some(carrier) = me.carried.leave_carrier() {
            carrier.carry(&me.carried.context, seat(to));
        }
        Self::gone_on(me)
    }

    fn leave(&self, state: Guard<'static, State>, me: &'static Slot, to: Option<Next>) {
        drop(state);
        let Some(carrier) = me.carried.leave_carrier() else {
            return;
        };
        me.carried.context.reclaim();
        match to {
            Some(to) => carrier.carry(&me.carried.context, seat(to)),
            None => carrier.go_home(&me.carried.context),
        }
        me.carried.has_landed();
    }

    fn bypass(&self, to: Next) {
        Carrier::any().send(seat(to));
    }

    fn release(&self, slot: &'static Slot) {
        slot.carried.context.reclaim();
    }

    fn tell(&self, slot: &'static Slot) {
        slot.carried.tell.store(1, Ordering::Relaxed);
        self.run(slot);
    }

    fn number(&self, slot: &'static Slot) -> Option<u32> {
        let carrier = slot.carried.carrier.load(Ordering::Relaxed);
        // SAFETY: carriers live for ever.
        let carrier = unsafe { carrier.as_ref() }?;
        Some(carrier.number.load(Ordering::Relaxed))
    }

    fn blocks(&self, slot: &'static Slot, signals: u64) {
        slot.carried.blocks(signals);
    }

    fn owner_blocks(&self, signals: u64) {
        OWNER.blocks(signals);
        // Its own thread goes on with the mask when it lands.
        *OWNER.mask.lock() = Some(SignalMask::of(signals));
    }

    fn time_used(&self, me: &'static Slot) -> u64 {
        if !COUNTS_TIME.swap(true, Ordering::Relaxed) {
            // What has been used before is the first's.
            me.carried.begun.store(0, Ordering::Relaxed);
        }
        me.carried.time_used()
    }
}
