//! libc's own functions, behind those that have taken their place.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dladdr(address: *const c_void, place: *mut Place) -> c_int;
    fn __errno_location() -> *mut c_int;
}

/// The next definition after this one: libc's.
const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;

/// libc's `Dl_info`: what is at an address.
#[repr(C)]
struct Place {
    file: *const c_char,
    /// Where the executable, or the library, has been loaded.
    base: *const c_void,
    name: *const c_char,
    symbol: *const c_void,
}

impl Place {
    fn of(address: *const c_void) -> Self {
        let mut place = Self {
            file: ptr::null(),
            base: ptr::null(),
            name: ptr::null(),
            symbol: ptr::null(),
        };
        // SAFETY: any address will do, and there is room for the answer.
        unsafe { dladdr(address, &raw mut place) };
        place
    }
}

/// True if calls that the executable makes of a function arrive here, in the
/// executable or library that this code is in. Our own function's address would
/// not tell: where another has taken its place, that is what its name means
/// here, too.
pub(crate) fn arrives_here(name: &CStr) -> bool {
    const EVERYWHERE: *mut c_void = ptr::null_mut();
    // SAFETY: the name ends with a zero.
    let called = unsafe { dlsym(EVERYWHERE, name.as_ptr()) };
    is_ours(called)
}

/// True for what is in the executable or library that this code is in.
pub(crate) fn is_ours(address: *const c_void) -> bool {
    Place::of(address).base == Place::of(is_ours as *const c_void).base
}

/// A number made of the addresses of functions that take libc's place: whoever
/// asks for it has them linked in.
pub(crate) fn anchored(addresses: &[usize]) -> usize {
    black_box(addresses)
        .iter()
        .fold(0, |sum, address| sum ^ address)
}

/// A function of libc's, looked up once.
pub(crate) struct Real {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Real {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            address: AtomicPtr::new(ptr::null_mut()),
        }
    }

    pub(crate) fn get(&self) -> *mut c_void {
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

/// The calling thread's `errno`.
pub(crate) fn errno() -> c_int {
    // SAFETY: libc gives each thread its own.
    unsafe { *__errno_location() }
}

pub(crate) fn set_errno(error: c_int) {
    // SAFETY: libc gives each thread its own.
    unsafe { *__errno_location() = error };
}
