//! libc's own functions, behind those that have taken their place.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn __errno_location() -> *mut c_int;
}

/// The next definition after this one: libc's.
const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;

/// Where calls of a function arrive that the executable makes.
pub(crate) fn called(name: &CStr) -> usize {
    const EVERYWHERE: *mut c_void = std::ptr::null_mut();
    // SAFETY: the name ends with a zero.
    unsafe { dlsym(EVERYWHERE, name.as_ptr()) as usize }
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
            address: AtomicPtr::new(std::ptr::null_mut()),
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
