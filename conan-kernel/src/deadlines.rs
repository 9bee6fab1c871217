//! The waits of libc's own that have a deadline: for the locks, semaphores and
//! condition variables of C. The engine does not see them, so they take place in
//! real time. But their deadlines come from virtual clocks, which may be hours
//! away from the system's: what is left until then is what counts.

use std::ffi::{c_int, c_void};
use std::mem;

use crate::clocks::{kept_by, real_clock};
use crate::me::{self, Inside};
use crate::raw::Timespec;
use crate::real::{Real, anchored};
use crate::state;
use crate::time::{self, CLOCK_MONOTONIC, CLOCK_REALTIME};

/// A deadline by a virtual clock, as the system's own has it; as it is if the
/// caller sees the system's, or names a clock that has no virtual one.
fn really(clock: c_int, deadline: Timespec) -> Timespec {
    let (Some(_), Some(clock), Some(ns)) = (me::managed(), kept_by(clock), deadline.to_ns()) else {
        return deadline;
    };
    let _inside = Inside::enter();
    let now = time::as_clock(state::lock().now, clock).to_ns();
    let left = ns.saturating_sub(now.unwrap_or_default());
    Timespec::from_ns(real_clock(clock).saturating_add(left))
}

/// The clock of a condition variable, which alone knows it: the two are decades
/// apart.
fn of_either(deadline: Timespec) -> c_int {
    const A_DECADE: i64 = 10 * 365 * 24 * 3600;
    if deadline.seconds < A_DECADE {
        CLOCK_MONOTONIC
    } else {
        CLOCK_REALTIME
    }
}

/// Makes functions that take libc's place, of their names, their arguments up to
/// the deadline, and the clock that this is by.
macro_rules! wait_until {
    ($($name:ident $symbol:literal ($($argument:ident: $type:ty),+; $deadline:ident) by $clock:expr;)+) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type,)+ $deadline: *const Timespec) -> c_int {
                type Function = unsafe extern "C" fn($($type,)+ *const Timespec) -> c_int;
                static REAL: Real = Real::new($symbol);
                // SAFETY: libc's function of this name and type.
                let real: Function = unsafe { mem::transmute(REAL.get()) };
                // SAFETY: the caller gives one.
                let $deadline = unsafe { *$deadline };
                let until = really($clock, $deadline);
                // SAFETY: the caller's own call, with another deadline.
                unsafe { real($($argument,)+ &raw const until) }
            }
        )+

        /// The addresses of all functions that take libc's place here.
        pub(crate) fn anchor() -> usize {
            anchored(&[$($name as *const () as usize),+])
        }
    };
}

wait_until! {
    pthread_cond_timedwait c"pthread_cond_timedwait"
        (condition: *mut c_void, mutex: *mut c_void; deadline) by of_either(deadline);
    pthread_cond_clockwait c"pthread_cond_clockwait"
        (condition: *mut c_void, mutex: *mut c_void, clock: c_int; deadline) by clock;
    pthread_mutex_timedlock c"pthread_mutex_timedlock"
        (mutex: *mut c_void; deadline) by CLOCK_REALTIME;
    pthread_mutex_clocklock c"pthread_mutex_clocklock"
        (mutex: *mut c_void, clock: c_int; deadline) by clock;
    pthread_rwlock_timedrdlock c"pthread_rwlock_timedrdlock"
        (lock: *mut c_void; deadline) by CLOCK_REALTIME;
    pthread_rwlock_timedwrlock c"pthread_rwlock_timedwrlock"
        (lock: *mut c_void; deadline) by CLOCK_REALTIME;
    pthread_rwlock_clockrdlock c"pthread_rwlock_clockrdlock"
        (lock: *mut c_void, clock: c_int; deadline) by clock;
    pthread_rwlock_clockwrlock c"pthread_rwlock_clockwrlock"
        (lock: *mut c_void, clock: c_int; deadline) by clock;
    sem_timedwait c"sem_timedwait"
        (semaphore: *mut c_void; deadline) by CLOCK_REALTIME;
    sem_clockwait c"sem_clockwait"
        (semaphore: *mut c_void, clock: c_int; deadline) by clock;
}
