//! The functions of libc that take their place in the executable.
//!
//! Each looks at a thread-local first: a thread that is not managed, or is
//! inside the engine, goes on to the real thing.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::mem;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::bottom::{self, Routine, Start};
use crate::crew::Destructor;
use crate::decide::{self, Doing};
use crate::futex;
use crate::handover::{Go, handover};
use crate::me::{self, Inside};
use crate::raw::{self, Timespec};
use crate::state::{self, Cause, Phase};
use crate::time::{self, CLOCK_MONOTONIC, CLOCK_REALTIME};

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn __errno_location() -> *mut c_int;
}

/// The next definition after this one: libc's.
const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;

/// A function of libc's, looked up once.
struct Real {
    name: &'static std::ffi::CStr,
    address: AtomicPtr<c_void>,
}

impl Real {
    const fn new(name: &'static std::ffi::CStr) -> Self {
        Self {
            name,
            address: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    fn get(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name ends with a zero.
        let found = unsafe { dlsym(RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

static REAL_CREATE: Real = Real::new(c"pthread_create");
static REAL_JOIN: Real = Real::new(c"pthread_join");
static REAL_AT_EXIT: Real = Real::new(c"__cxa_thread_atexit_impl");
static REAL_CLOCK: Real = Real::new(c"clock_gettime");

type Create = unsafe extern "C" fn(*mut usize, *const c_void, Routine, *mut c_void) -> c_int;
type Join = unsafe extern "C" fn(usize, *mut *mut c_void) -> c_int;
type AtExit = unsafe extern "C" fn(Destructor, *mut c_void, *mut c_void) -> c_int;
type Clock = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;

/// Turns the kernel's result into libc's: -1 and `errno`.
fn libc_result(result: isize) -> c_long {
    if (-4095..0).contains(&result) {
        // SAFETY: libc gives each thread its own `errno`.
        unsafe { *__errno_location() = -result as c_int };
        return -1;
    }
    result as c_long
}

/// libc's `syscall`. Variadic there; on the supported processors integer
/// arguments of a variadic call arrive in the same registers.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
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
    // SAFETY: the caller's own call.
    libc_result(unsafe { raw::syscall(number as isize, args) })
}

#[unsafe(no_mangle)]
extern "C" fn sched_yield() -> c_int {
    crate::selfcheck::SEEN_YIELD.store(true, Ordering::Relaxed);
    match me::managed() {
        Some(slot) => {
            let _inside = Inside::enter();
            state::yield_turn(slot);
            0
        }
        None => libc_result(raw::yield_now()) as c_int,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: c_int, result: *mut Timespec) -> c_int {
    crate::selfcheck::SEEN_CLOCK.store(true, Ordering::Relaxed);
    let is_ours = matches!(clock, CLOCK_MONOTONIC | CLOCK_REALTIME);
    if is_ours && let Some(slot) = me::managed() {
        let now = time::read(slot);
        // SAFETY: the caller gives room for the result.
        unsafe { result.write(time::as_clock(now, clock)) };
        return 0;
    }
    // SAFETY: libc's function of this name and type.
    let real: Clock = unsafe { mem::transmute(REAL_CLOCK.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(clock, result) }
}

/// A reading of a real clock in nanoseconds.
pub(crate) fn real_clock(clock: c_int) -> u64 {
    let mut now = Timespec::from_ns(0);
    // SAFETY: libc's function of this name and type.
    let real: Clock = unsafe { mem::transmute(REAL_CLOCK.get()) };
    // SAFETY: there is room for the result.
    unsafe { real(clock, &raw mut now) };
    now.to_ns().unwrap_or(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(request: *const Timespec, remaining: *mut Timespec) -> c_int {
    // SAFETY: the caller's own call, which is this special case of the other.
    let error = unsafe { clock_nanosleep(CLOCK_MONOTONIC, 0, request, remaining) };
    if error == 0 {
        return 0;
    }
    libc_result(-(error as isize)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    request: *const Timespec,
    remaining: *mut Timespec,
) -> c_int {
    const ABSOLUTE: c_int = 1;
    let is_ours = matches!(clock, CLOCK_MONOTONIC | CLOCK_REALTIME);
    if is_ours && let Some(slot) = me::managed() {
        // SAFETY: the caller gives a valid request.
        let Some(ns) = (unsafe { *request }).to_ns() else {
            return -raw::EINVAL as c_int;
        };
        let absolute = flags & ABSOLUTE != 0;
        let offset = if clock == CLOCK_REALTIME {
            time::realtime_offset()
        } else {
            0
        };
        time::sleep(slot, |now| {
            if absolute {
                ns.saturating_sub(offset)
            } else {
                now.saturating_add(ns)
            }
        });
        return 0;
    }
    // SAFETY: the caller's own call.
    let result = unsafe { raw::clock_nanosleep(clock, flags, request, remaining) };
    -result as c_int
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
    let start = |slot, enters| {
        Box::into_raw(Box::new(Start {
            bottom: 0,
            routine,
            argument,
            slot,
            enters,
        }))
    };
    let Some(creator) = me::managed() else {
        if let Some(slot) = me::take_spawning() {
            return create(start(slot, false));
        }
        // SAFETY: the caller's own call.
        return unsafe { real(thread, attributes, routine, argument) };
    };
    let _inside = Inside::enter();
    let mut state = state::enter(creator);
    let slot = state.register(None);
    let start = start(slot, true);
    let error = create(start);
    if error != 0 {
        state.has_not_started(slot);
        // SAFETY: no thread was started that could have taken it.
        drop(unsafe { Box::from_raw(start) });
        return error;
    }
    // SAFETY: libc has written the new thread's handle.
    let handle = unsafe { *thread };
    state.by_pthread.insert(handle, slot.id);
    state.order(creator.id, slot.id);
    await_begin(slot);
    state.make_ready(slot.id);
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
    } = *start;
    slot.bottom.set(bottom);
    if enters {
        enter_managed(slot);
    }
    // SAFETY: the creator's own routine and argument.
    unsafe { routine(argument) }
}

/// Makes the calling thread a managed one and waits for its first turn.
pub(crate) fn enter_managed(slot: &'static crate::handover::Slot) {
    slot.number.store(raw::thread_number(), Ordering::Release);
    raw::wake_all(&slot.number);
    me::become_managed(slot);
    if handover().begin(slot) == Go::Released {
        me::become_free();
    }
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
    let mut is_managed = false;
    if let Some(slot) = me::managed() {
        let _inside = Inside::enter();
        let mut state = state::enter(slot);
        if let Some(id) = state.by_pthread.remove(&thread) {
            is_managed = true;
            state = decide::pause(state, slot, Doing::Join(id));
            if state.thread(id).phase == Phase::Finished {
                state.order(id, slot.id);
            } else {
                state::block(state, slot, Cause::Join(id), None);
            }
        }
    }
    // SAFETY: libc's function of this name and type.
    let real: Join = unsafe { mem::transmute(REAL_JOIN.get()) };
    // A managed one has come to its end, but for what the system does then.
    let joins = |joins| {
        if let Some(slot) = me::managed().filter(|_| is_managed) {
            slot.is_joining.store(joins, Ordering::Relaxed);
        }
    };
    joins(true);
    // SAFETY: the caller's own call.
    let error = unsafe { real(thread, result) };
    joins(false);
    error
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
    // SAFETY: libc's function of this name and type.
    let real: AtExit = unsafe { mem::transmute(REAL_AT_EXIT.get()) };
    // SAFETY: the caller's own call.
    unsafe { real(destructor, object, library) }
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

/// References that make the linker take this object file, whatever else it
/// would have found the names in.
pub(crate) fn anchor() -> usize {
    let addresses = [
        syscall as *const () as usize,
        sched_yield as *const () as usize,
        clock_gettime as *const () as usize,
        nanosleep as *const () as usize,
        clock_nanosleep as *const () as usize,
        pthread_create as *const () as usize,
        pthread_join as *const () as usize,
        sigaltstack as *const () as usize,
        __cxa_thread_atexit_impl as *const () as usize,
    ];
    std::hint::black_box(addresses)
        .iter()
        .fold(0, |sum, address| sum ^ address)
}
