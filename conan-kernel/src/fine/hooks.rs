//! What instrumented code calls. The compiler wrapper of `cargo conan` has
//! three passes of LLVM put these calls in:
//!
//! - `tsan` makes calls of atomic operations, which are then made here. Without
//!   the rest of the sanitizer, it does nothing else.
//! - `sancov-module` calls before each load and store. As the atomic ones are
//!   calls already, these are the ordinary ones.
//! - `memprof` makes calls of copies, which are then made here.
//!
//! All of this can happen anywhere: before `main`, in an allocator, while a
//! thread's locals are dropped. Unless a world with preemptions is open, a hook
//! looks at one static variable; and unless the thread is managed and not
//! inside the engine, at two thread-locals.
//!
//! Each hook begins with two instructions that hand on, as one more argument,
//! where it was called from.

use std::ffi::c_void;
use std::sync::atomic::{
    AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence,
};

use super::{Effect, PRESENT, Touch};
use crate::point::Access;

/// Called before `main`, by what was compiled with hooks.
#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {
    PRESENT.store(true, Ordering::Relaxed);
}

/// Defines the function that instrumented code calls: `$body`, with the return
/// address as the argument after its `$arguments`.
macro_rules! hook {
    ($symbol:expr, $arguments:tt, $body:path) => {
        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = $symbol)]
            unsafe extern "C" fn hook() {
                #[cfg(target_arch = "x86_64")]
                std::arch::naked_asm!(
                    concat!("mov ", argument!(x86_64 $arguments), ", [rsp]"),
                    "jmp {body}",
                    body = sym $body,
                );
                #[cfg(target_arch = "aarch64")]
                std::arch::naked_asm!(
                    concat!("mov ", argument!(aarch64 $arguments), ", x30"),
                    "b {body}",
                    body = sym $body,
                );
            }
        };
    };
}

/// The register of the argument after so many.
macro_rules! argument {
    (x86_64 1) => {
        "rsi"
    };
    (x86_64 2) => {
        "rdx"
    };
    (x86_64 3) => {
        "rcx"
    };
    (x86_64 5) => {
        "r9"
    };
    (aarch64 1) => {
        "x1"
    };
    (aarch64 2) => {
        "x2"
    };
    (aarch64 3) => {
        "x3"
    };
    (aarch64 5) => {
        "x5"
    };
}

fn touch(address: usize, size: usize, access: Access, site: usize) -> Touch {
    Touch {
        address,
        size,
        access,
        is_atomic: false,
        is_conditional: false,
        site,
    }
}

extern "C" fn load<const SIZE: usize>(address: usize, site: usize) {
    super::plain(touch(address, SIZE, Access::Load, site));
}

extern "C" fn store<const SIZE: usize>(address: usize, site: usize) {
    super::plain(touch(address, SIZE, Access::Store, site));
}

macro_rules! plain {
    ($($size:literal)*) => { $(
        hook!(concat!("__sanitizer_cov_load", $size), 1, load::<$size>);
        hook!(concat!("__sanitizer_cov_store", $size), 1, store::<$size>);
    )* };
}

plain!(1 2 4 8 16);

/// Where the sanitizer that copies are taken from would keep its notes.
/// Instrumented functions read it, and do nothing with it.
#[unsafe(export_name = "__memprof_shadow_memory_dynamic_address")]
static SHADOW: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn copy(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    site: usize,
) -> *mut c_void {
    if size > 0 {
        super::plain(touch(from as usize, size, Access::Load, site));
        // The two accesses are two places.
        super::plain(touch(to as usize, size, Access::Store, site + 1));
    }
    // SAFETY: the caller's own copy, or a stricter one.
    unsafe { to.cast::<u8>().copy_from(from.cast::<u8>(), size) };
    to
}

unsafe extern "C" fn fill(to: *mut c_void, byte: i32, size: usize, site: usize) -> *mut c_void {
    if size > 0 {
        super::plain(touch(to as usize, size, Access::Store, site));
    }
    // SAFETY: the caller's own call.
    unsafe { to.cast::<u8>().write_bytes(byte as u8, size) };
    to
}

hook!("__memprof_memcpy", 3, copy);
hook!("__memprof_memmove", 3, copy);
hook!("__memprof_memset", 3, fill);

/// The orders, as instrumented code numbers them: relaxed, consume, acquire,
/// release, both, sequentially consistent.
#[derive(Clone, Copy)]
struct Order(u32);

impl Order {
    fn acquires(self) -> bool {
        matches!(self.0, 1 | 2 | 4 | 5)
    }

    fn releases(self) -> bool {
        matches!(self.0, 3..=5)
    }

    fn of_read(self) -> Effect {
        Effect {
            reads: true,
            acquires: self.acquires(),
            ..Effect::default()
        }
    }

    fn of_write(self) -> Effect {
        Effect {
            writes: true,
            releases: self.releases(),
            ..Effect::default()
        }
    }

    fn of_both(self) -> Effect {
        Effect {
            reads: true,
            writes: true,
            acquires: self.acquires(),
            releases: self.releases(),
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(order: u32) {
    std::sync::atomic::fence(Ordering::SeqCst);
    let order = Order(order);
    super::fence(order.acquires(), order.releases());
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_: u32) {
    compiler_fence(Ordering::SeqCst);
}

/// The atomic operations of one width. All are made in the strictest order,
/// which is as good as the one that was asked for. Narrow arguments come in
/// wide registers, of which the rest means nothing.
macro_rules! atomics {
    ($module:ident, $bits:literal, $atomic:ident, $integer:ident) => {
        mod $module {
            use super::{Access, Order, Ordering, Touch, touch, $atomic};

            fn atomic(address: *const $atomic, access: Access, site: usize) -> Touch {
                Touch {
                    is_atomic: true,
                    ..touch(address as usize, size_of::<$integer>(), access, site)
                }
            }

            unsafe extern "C" fn load(address: *const $atomic, order: u32, site: usize) -> u64 {
                super::super::atomic(atomic(address, Access::Load, site), || {
                    // SAFETY: the caller's own operation.
                    let old = unsafe { &*address }.load(Ordering::SeqCst);
                    (u64::from(old), Order(order).of_read())
                })
            }

            unsafe extern "C" fn store(address: *const $atomic, new: u64, order: u32, site: usize) {
                super::super::atomic(atomic(address, Access::Store, site), || {
                    // SAFETY: the caller's own operation.
                    unsafe { &*address }.store(new as $integer, Ordering::SeqCst);
                    ((), Order(order).of_write())
                });
            }

            unsafe extern "C" fn compare_exchange(
                address: *const $atomic,
                old: u64,
                new: u64,
                order: u32,
                otherwise: u32,
                site: usize,
            ) -> u64 {
                let touch = Touch {
                    is_conditional: true,
                    ..atomic(address, Access::Store, site)
                };
                super::super::atomic(touch, || {
                    let (old, new) = (old as $integer, new as $integer);
                    let both = Ordering::SeqCst;
                    // SAFETY: the caller's own operation.
                    match unsafe { &*address }.compare_exchange(old, new, both, both) {
                        Ok(old) => (u64::from(old), Order(order).of_both()),
                        Err(old) => (u64::from(old), Order(otherwise).of_read()),
                    }
                })
            }

            macro_rules! changes {
                ($name:ident, $method:ident) => {
                    unsafe extern "C" fn $name(
                        address: *const $atomic,
                        operand: u64,
                        order: u32,
                        site: usize,
                    ) -> u64 {
                        super::super::atomic(atomic(address, Access::Store, site), || {
                            // SAFETY: the caller's own operation.
                            let atomic = unsafe { &*address };
                            let old = atomic.$method(operand as $integer, Ordering::SeqCst);
                            (u64::from(old), Order(order).of_both())
                        })
                    }
                    hook!(
                        concat!("__tsan_atomic", $bits, "_", stringify!($name)),
                        3,
                        $name
                    );
                };
            }

            hook!(concat!("__tsan_atomic", $bits, "_load"), 2, load);
            hook!(concat!("__tsan_atomic", $bits, "_store"), 3, store);
            hook!(
                concat!("__tsan_atomic", $bits, "_compare_exchange_val"),
                5,
                compare_exchange
            );
            changes!(exchange, swap);
            changes!(fetch_add, fetch_add);
            changes!(fetch_sub, fetch_sub);
            changes!(fetch_and, fetch_and);
            changes!(fetch_or, fetch_or);
            changes!(fetch_xor, fetch_xor);
            changes!(fetch_nand, fetch_nand);
        }
    };
}

atomics!(bits_8, "8", AtomicU8, u8);
atomics!(bits_16, "16", AtomicU16, u16);
atomics!(bits_32, "32", AtomicU32, u32);
atomics!(bits_64, "64", AtomicU64, u64);
