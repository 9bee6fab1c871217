//! A lock over the raw system call: std's own would come back to us.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::raw;

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// A mutual exclusion lock that never goes through libc.
pub(crate) struct Lock<T> {
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by the holder of the lock only.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self {
            word: AtomicU32::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    /// Where threads wait for it.
    pub(crate) fn address(&self) -> usize {
        self.word.as_ptr() as usize
    }

    #[inline]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        let free = self
            .word
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed);
        if free.is_err() {
            while self.word.swap(CONTENDED, Ordering::Acquire) != FREE {
                raw::wait(&self.word, CONTENDED, None);
            }
        }
        Guard { lock: self }
    }

    /// Takes the lock if no thread holds it.
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        let free = self
            .word
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed);
        free.is_ok().then_some(Guard { lock: self })
    }

    /// Frees it.
    ///
    /// # Safety
    ///
    /// The caller must hold it, and have forgotten the guard.
    #[inline]
    pub(crate) unsafe fn unlock(&self) {
        if self.word.swap(FREE, Ordering::Release) == CONTENDED {
            raw::wake_all(&self.word);
        }
    }
}

impl<T: Default> Default for Lock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// The holder of a lock.
pub(crate) struct Guard<'l, T> {
    lock: &'l Lock<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the lock, and is borrowed mutably.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard holds it, and goes.
        unsafe { self.lock.unlock() };
    }
}
