//! The functions of libc that take their place in the executable.
//!
//! Each looks at a thread-local first: a thread that is not managed, or is
//! inside the engine, goes on to the real thing.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::mem;
use std::sync::atomic::Ordering;

use crate::bottom::{self, Routine, Start};
use crate::clocks;
use crate::crew::{self, Destructor, Errand};
use crate::deadlines;
use crate::decide::{self, Doing};
use crate::futex;
use crate::handover::{Go, handover};
use crate::io;
use crate::lock_holders::clear_ahead;
use crate::me::{self, Inside};
use crate::process;
use crate::random;
use crate::raw::{self, Nearby};
use crate::real::{self, Real};
use crate::signals;
use crate::state;
use crate::thread::{Cause, Phase};
use crate::turn::{self, Ended};

unsafe extern "C" {
    fn pthread_self() -> usize;
    fn pthread_attr_getstack(
        attributes: *const c_void,
        stack: *mut usize,
        size: *mut usize,
    ) -> c_int;
    fn pthread_attr_getdetachstate(attributes: *const c_void, detached: *mut c_int) -> c_int;
}

static REAL_CREATE: Real = Real::new(c"pthread_create");
static REAL_JOIN: Real = Real::new(c"pthread_join");
static REAL_SET_NAME: Real = Real::new(c"pthread_setname_np");
static REAL_DETACH: Real = Real::new(c"pthread_detach");
static REAL_KEY_CREATE: Real = Real::new(c"pthread_key_create");
static REAL_KEY_DELETE: Real = Real::new(c"pthread_key_delete");
static REAL_AT_EXIT: Real = Real::new(c"__cxa_thread_atexit_impl");
static REAL_EXIT: Real = Real::new(c"exit");

type Create = unsafe extern "C" fn(*mut usize, *const c_void, Routine, *mut c_void) -> c_int;
type Join = unsafe extern "C" fn(usize, *mut *mut c_void) -> c_int;
type SetName = unsafe extern "C" fn(usize, *const c_char) -> c_int;
type Detach = unsafe extern "C" fn(usize) -> c_int;
type KeyCreate = unsafe extern "C" fn(*mut u32, Option<Destructor>) -> c_int;
type KeyDelete = unsafe extern "C" fn(u32) -> c_int;
type AtExit = unsafe extern "C" fn(Destructor, *mut c_void, *mut c_void) -> c_int;

/// Turns the kernel's result into libc's: -1 and `errno`.
pub(crate) fn libc_result(result: isize) -> c_long {
    if (-4095..0).contains(&result) {
        real::set_errno(-result as c_int);
        return -1;
    }
    result as c_long
}

/// libc's `syscall`. Variadic there; on the supported processors integer
/// arguments of a variadic call arrive in the same registers.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn syscall(
    number: c_long,
    a0: usize,
    a1: usize,
    a2: usize,
    a3: usize,
    a4: usize,
    a5: usize,
) -> c_long {
    let args = [a0, a1, a2, a3, a4, a5];
    if number as isize == raw::FUTEX {
        crate::selfcheck::SEEN_SYSCALL.store(true, Ordering::Relaxed);
        let result = match me::managed() {
            // SAFETY: the caller's own arguments.
            Some(slot) => unsafe { futex::managed(slot, args) },
            // SAFETY: the caller's own arguments.
            None => Some(unsafe { futex::unmanaged(args) }),
        };
        if let Some(result) = result {
            return libc_result(result);
        }
    }
    // SAFETY: the caller's own arguments.
    if let Some(result) = unsafe { random::by_number(number as isize, args) } {
        return result as c_long;
    }
    if let Some(result) = signals::by_number(number as isize, args) {
        return result as c_long;
    }
    // SAFETY: the caller's own call.
    libc_result(unsafe { raw::syscall(number as isize, args) })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn sched_yield() -> c_int {
    crate::selfcheck::SEEN_YIELD.store(true, Ordering::Relaxed);
    match me::managed() {
        Some(slot) => {
            let _inside = Inside::enter();
            turn::yield_turn(slot);
            0
        }
        None => libc_result(raw::yield_now()) as c_int,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut usize,
    attributes: *const c_void,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Create = unsafe { mem::transmute(REAL_CREATE.get()) };
    crate::selfcheck::SEEN_CREATE.store(true, Ordering::Relaxed);
    // SAFETY: `begin` takes what `start` points to, once.
    let create =
        |start: *mut Start| unsafe { real(thread, attributes, bottom::begin, start.cast()) };
    let start = |slot, enters, nearby| {
        Box::into_raw(Box::new(Start {
            bottom: 0,
            routine,
            argument,
            slot,
            enters,
            nearby,
        }))
    };
    let Some(creator) = me::managed() else {
        if let Some(slot) = me::take_spawning() {
            return create(start(slot, false, None));
        }
        // SAFETY: the caller's own call.
        return unsafe { real(thread, attributes, routine, argument) };
    };
    let _inside = Inside::enter();
    let mut state = turn::enter_briefly(creator);
    let wanted = (state.is_process && crew::can_keep())
        // SAFETY: the caller's own attributes.
        .then(|| unsafe { Wanted::by(attributes) })
        .flatten();
    let slot = if let Some(wanted) = &wanted
        && let Some(slot) = state.take_resting(wanted.stack)
    {
        slot.berth.send(Errand { routine, argument });
        let blocked = creator.signals.blocked();
        slot.signals.begin(blocked);
        handover().blocks(slot, blocked);
        // SAFETY: the caller wants the new thread's handle there.
        unsafe { *thread = slot.berth.handle.load(Ordering::Relaxed) };
        slot
    } else {
        let slot = state.register(None);
        let create = |nearby| {
            let start = start(slot, true, nearby);
            let error = create(start);
            if error != 0 {
                // SAFETY: no thread was started that could have taken it.
                drop(unsafe { Box::from_raw(start) });
            }
            error
        };
        let error = if state.is_process {
            Nearby::start(create)
        } else {
            create(None)
        };
        if error != 0 {
            state.was_refused = true;
            state.has_not_started(slot);
            return error;
        }
        if let Some(wanted) = &wanted {
            slot.berth.keep(wanted.stack);
        }
        // SAFETY: libc has written the new thread's handle.
        slot.berth
            .handle
            .store(unsafe { *thread }, Ordering::Relaxed);
        await_begin(slot);
        slot
    };
    if wanted.is_some_and(|wanted| wanted.is_detached) {
        state.detach(slot.id);
    } else {
        let handle = slot.berth.handle.load(Ordering::Relaxed);
        state.by_pthread.insert(handle, slot.id);
    }
    state.order(creator.id, slot.id);
    state.make_ready(slot.id);
    if state.stays_outside(creator.id) {
        state::ring();
    }
    drop(decide::pause(state, creator, Doing::Continue));
    0
}

/// Where a managed thread begins.
pub(crate) unsafe extern "C" fn begin(start: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` above has made it for this thread alone.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    let Start {
        bottom,
        routine,
        argument,
        slot,
        enters,
        nearby,
    } = *start;
    slot.bottom.set(bottom);
    nearby.inspect(Nearby::spread);
    if enters {
        enter_managed(slot);
    }
    if slot.berth.is_taken() {
        // SAFETY: the creator's own routine and argument, and those of later
        // creators.
        return unsafe { crew::live(slot, Errand { routine, argument }) };
    }
    // SAFETY: the creator's own routine and argument.
    unsafe { routine(argument) }
}

/// What the program wants of a thread that may be one that was kept.
struct Wanted {
    stack: usize,
    is_detached: bool,
}

impl Wanted {
    /// Nothing if it has to be a thread of its own.
    ///
    /// # Safety
    ///
    /// The attributes must be such as `pthread_create` takes.
    unsafe fn by(attributes: *const c_void) -> Option<Self> {
        let (mut stack, mut size, mut detached) = (0, 0, 0);
        if attributes.is_null() {
            return Some(Self {
                stack,
                is_detached: false,
            });
        }
        // SAFETY: the caller's attributes, and places of our own.
        let are_known = unsafe {
            pthread_attr_getstack(attributes, &raw mut stack, &raw mut size) == 0
                && pthread_attr_getdetachstate(attributes, &raw mut detached) == 0
        };
        // Without a stack of the program's own it would end at 0.
        (are_known && stack.wrapping_add(size) == 0).then_some(Self {
            stack: size,
            is_detached: detached != 0,
        })
    }
}

/// True for those of the replaced functions through which most threads block.
pub(crate) fn blocks(function: usize) -> bool {
    let functions = [
        syscall as *const () as usize,
        pthread_join as *const () as usize,
        sched_yield as *const () as usize,
        clocks::nanosleep as *const () as usize,
        clocks::clock_nanosleep as *const () as usize,
    ];
    functions.contains(&function)
}

/// Makes the calling thread a managed one and waits for its first turn.
pub(crate) fn enter_managed(slot: &'static crate::handover::Slot) {
    signals::inherit(slot);
    // Takes memory from where the program does: whoever waits in `await_begin`
    // takes none meanwhile.
    me::become_managed(slot);
    // SAFETY: has no arguments.
    let handle = unsafe { pthread_self() };
    slot.berth.handle.store(handle, Ordering::Relaxed);
    slot.number.store(raw::thread_number(), Ordering::Release);
    raw::wake_all(&slot.number);
    if handover().begin(slot) == Go::Released {
        me::become_free();
    }
    clear_ahead();
}

/// Waits until a new thread has come to [`enter_managed`]. On its way there it
/// takes locks of std's own, in real time: a managed thread that came to one
/// of them at the same moment would see a thread outside.
pub(crate) fn await_begin(slot: &crate::handover::Slot) {
    while slot.number.load(Ordering::Acquire) == 0 {
        raw::wait(&slot.number, 0, None);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: usize, result: *mut *mut c_void) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: Join = unsafe { mem::transmute(REAL_JOIN.get()) };
    // SAFETY: the caller's own call.
    let join = || unsafe { real(thread, result) };
    let Some(slot) = me::managed() else {
        return join();
    };
    let mut inside = Inside::enter();
    let mut state = turn::enter(slot);
    let Some(id) = state.by_pthread.remove(&thread) else {
        drop((state, inside));
        return join();
    };
    state = decide::pause(state, slot, Doing::Join(id));
    state = turn::come_in(state, slot);
    loop {
        if state.thread(id).phase == Phase::Finished {
            state.order(id, slot.id);
            break;
        }
        let ended = turn::block(state, slot, Cause::Join(id), None);
        if !matches!(ended, Ended::Interrupted(_)) {
            state = state::lock();
            break;
        }
        // Handlers are called on the way out; then it goes on.
        drop(inside);
        inside = Inside::enter();
        state = turn::enter(slot);
    }
    let berth = &state.thread(id).slot.berth;
    if berth.is_taken() {
        if !result.is_null() {
            // SAFETY: the caller wants what the thread has returned there.
            unsafe { *result = berth.value() };
        }
        state.detach(id);
        return 0;
    }
    drop(state);
    // It has come to its end, but for what the system does then.
    slot.in_system(join)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_detach(thread: usize) -> c_int {
    if let Some(slot) = me::managed() {
        let _inside = Inside::enter();
        let mut state = turn::enter_briefly(slot);
        let id = state.by_pthread.remove(&thread);
        if let Some(id) = id
            && state.thread(id).slot.berth.is_taken()
        {
            state.detach(id);
            return 0;
        }
    }
    // SAFETY: libc's function of this name and type.
    let real: Detach = unsafe { mem::transmute(REAL_DETACH.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(thread) }
}

/// The calling thread, which was to be kept, comes to its end after all.
pub(crate) fn detach_self() {
    // SAFETY: libc's function of this name and type.
    let real: Detach = unsafe { mem::transmute(REAL_DETACH.get()) };
    // SAFETY: the thread is joinable, and nobody will join it.
    unsafe { real(pthread_self()) };
}

/// What a thread that is kept has under a key is dropped by us.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_create(key: *mut u32, destructor: Option<Destructor>) -> c_int {
    // SAFETY: libc's function of this name and type.
    let real: KeyCreate = unsafe { mem::transmute(REAL_KEY_CREATE.get()) };
    // SAFETY: the caller's own call.
    let error = unsafe { real(key, destructor) };
    if error == 0 && me::managed().is_some() {
        let _inside = Inside::enter();
        // SAFETY: libc has written the key.
        crew::add_key(unsafe { *key }, destructor);
    }
    error
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_delete(key: u32) -> c_int {
    if me::managed().is_some() {
        let _inside = Inside::enter();
        crew::remove_key(key);
    }
    // SAFETY: libc's function of this name and type.
    let real: KeyDelete = unsafe { mem::transmute(REAL_KEY_DELETE.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(key) }
}

/// The name is the managed thread's, whichever thread of the system's runs it.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setname_np(thread: usize, name: *const c_char) -> c_int {
    if let Some(slot) = me::managed()
        // SAFETY: has no arguments.
        && thread == unsafe { pthread_self() }
        // SAFETY: the caller's own name.
        && unsafe { crate::process::set_name(slot, name) }
    {
        return 0;
    }
    // SAFETY: libc's function of this name and type.
    let real: SetName = unsafe { mem::transmute(REAL_SET_NAME.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(thread, name) }
}

/// How std has thread-locals dropped at a thread's end. Those of a crew's job
/// are dropped at the job's.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_thread_atexit_impl(
    destructor: Destructor,
    object: *mut c_void,
    library: *mut c_void,
) -> c_int {
    if let Some(slot) = me::slot()
        && slot.berth.is_taken()
    {
        let _inside = Inside::enter();
        slot.berth.at_end(destructor, object);
        return 0;
    }
    if process::is_managed() && me::is_bystander() && real::is_ours(library) {
        // A thread of the engine's own, which never ends. libc would take memory
        // from where the program does.
        return 0;
    }
    // SAFETY: libc's function of this name and type.
    let real: AtExit = unsafe { mem::transmute(REAL_AT_EXIT.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(destructor, object, library) }
}

/// Ends the process.
#[unsafe(no_mangle)]
unsafe extern "C" fn exit(code: c_int) -> ! {
    type Exit = unsafe extern "C" fn(c_int) -> !;
    me::exits();
    // SAFETY: libc's function of this name and type.
    let real: Exit = unsafe { mem::transmute(REAL_EXIT.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(code) }
}

/// A thread that runs on another's behalf has that one's alternate stack: its
/// own would be taken from under the others when it ends.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaltstack(new: *const c_void, old: *mut c_void) -> c_int {
    let is_carried =
        me::slot().is_some_and(|slot| slot.number.load(Ordering::Relaxed) != raw::thread_number());
    if is_carried && !new.is_null() && old.is_null() {
        return 0;
    }
    // SAFETY: the caller's own call.
    libc_result(unsafe { raw::sigaltstack(new, old) }) as c_int
}

/// Functions without which there is no engine.
pub(crate) const CALLED: [&CStr; 6] = [
    c"syscall",
    c"sched_yield",
    c"clock_gettime",
    c"clock_nanosleep",
    c"pthread_create",
    c"pthread_join",
];

/// References that make the linker take this object file, whatever else it
/// would have found the names in.
pub(crate) fn anchor() -> usize {
    let own = real::anchored(&[
        syscall as *const () as usize,
        sched_yield as *const () as usize,
        pthread_create as *const () as usize,
        pthread_join as *const () as usize,
        pthread_detach as *const () as usize,
        pthread_key_create as *const () as usize,
        pthread_key_delete as *const () as usize,
        pthread_setname_np as *const () as usize,
        sigaltstack as *const () as usize,
        __cxa_thread_atexit_impl as *const () as usize,
        exit as *const () as usize,
    ]);
    own ^ clocks::anchor()
        ^ deadlines::anchor()
        ^ io::anchor()
        ^ signals::anchor()
        ^ random::anchor()
}
