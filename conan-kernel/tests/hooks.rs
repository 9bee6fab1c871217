//! What code that was compiled with hooks calls. The tests call it themselves,
//! as such code would.

mod common;

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use common::{all_finished, run_to_the_end, spawn, world_with};
use conan_kernel::fine::{self, Race};
use conan_kernel::{Access, Decision, Point, Recorded, Step, Strategy};

unsafe extern "C" {
    fn __tsan_init();
    fn __sanitizer_cov_load8(address: *const u64);
    fn __sanitizer_cov_store8(address: *const u64);
    fn __tsan_atomic64_load(address: *const u64, order: u32) -> u64;
    fn __tsan_atomic64_store(address: *const u64, new: u64, order: u32);
    fn __tsan_atomic_thread_fence(order: u32);
    fn __memprof_memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void;
    fn __memprof_memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void;
    fn __memprof_memset(to: *mut c_void, byte: i32, size: usize) -> *mut c_void;
}

const RELAXED: u32 = 0;
const ACQUIRE: u32 = 2;
const RELEASE: u32 = 3;
const STRICT: u32 = 5;

/// One test at a time: what is learned belongs to the process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: may be called at any time.
    unsafe { __tsan_init() };
    fine::forget();
    guard
}

/// Memory that all threads reach, on the heap and never moved.
type Memory = Arc<[AtomicU64; 4]>;

fn memory() -> Memory {
    Arc::default()
}

fn at(memory: &Memory, index: usize) -> *const u64 {
    memory[index].as_ptr()
}

#[inline(never)]
fn read(address: *const u64) {
    // SAFETY: only tells of it.
    unsafe { __sanitizer_cov_load8(address) };
    std::hint::black_box(());
}

#[inline(never)]
fn write(address: *const u64) {
    // SAFETY: only tells of it.
    unsafe { __sanitizer_cov_store8(address) };
    std::hint::black_box(());
}

fn load(memory: &Memory, index: usize, order: u32) -> u64 {
    // SAFETY: an atomic variable.
    unsafe { __tsan_atomic64_load(at(memory, index), order) }
}

fn store(memory: &Memory, index: usize, order: u32) {
    // SAFETY: an atomic variable.
    unsafe { __tsan_atomic64_store(at(memory, index), 1, order) };
}

/// Decides by a function.
struct By<F>(F);

impl<F: FnMut(&Point<'_>) -> usize + Send> Strategy for By<F> {
    fn decide(&mut self, point: &Point<'_>) -> usize {
        self.0(point)
    }

    fn preempts(&self) -> bool {
        true
    }
}

fn first(_: &Point<'_>) -> usize {
    0
}

fn last(point: &Point<'_>) -> usize {
    point.options.len() - 1
}

type Job = fn(&Memory);

/// Lets each job run on a thread of its own, with the same memory.
fn run(
    decide: impl FnMut(&Point<'_>) -> usize + Send + 'static,
    jobs: &[Job],
) -> (Vec<Decision>, Vec<Race>) {
    let (strategy, decisions) = Recorded::new(By(decide));
    let mut world = world_with(strategy);
    let memory = memory();
    for (number, &job) in jobs.iter().enumerate() {
        let memory = Arc::clone(&memory);
        spawn(&mut world, &format!("thread {number}"), move || {
            job(&memory);
        });
    }
    run_to_the_end(&mut world);
    assert!(all_finished(&world));
    assert_eq!(world.inexact(), []);
    let races = world.races();
    drop(world);
    let decisions = decisions.lock().unwrap();
    (decisions.clone(), races)
}

/// Runs the jobs often enough to know where they meet.
fn learn(jobs: &[Job]) -> usize {
    for _ in 0..3 {
        for decide in [first, last] {
            run(decide, jobs);
            fine::adopt();
        }
    }
    assert_eq!(fine::adopt(), 0);
    fine::adopted()
}

/// How many decisions were about accesses to memory.
fn about_memory(decisions: &[Decision]) -> usize {
    let is_access = |step| matches!(step, Step::Load(_) | Step::Store(_));
    let mut count = 0;
    for decision in decisions {
        let mut options = decision.options.iter();
        count += usize::from(options.any(|option| is_access(option.step)));
    }
    count
}

#[test]
fn where_threads_meet_is_a_point_once_it_is_adopted() {
    let _alone = alone();
    let jobs: [Job; 2] = [|memory| write(at(memory, 0)), |memory| read(at(memory, 0))];
    let (before, _) = run(first, &jobs);
    assert_eq!(about_memory(&before), 0);
    assert!(fine::waiting() > 0);
    assert_eq!(learn(&jobs), 2);
    assert_eq!(fine::waiting(), 0);
    let (after, _) = run(first, &jobs);
    assert!(about_memory(&after) > 0);
    fine::forget();
    let (forgotten, _) = run(first, &jobs);
    assert_eq!(about_memory(&forgotten), 0);
}

#[test]
fn atomic_operations_are_points_before_anything_is_known_if_the_owner_wants_it() {
    let _alone = alone();
    let jobs: [Job; 2] = [
        |memory| {
            store(memory, 0, RELEASE);
            write(at(memory, 1));
        },
        |memory| {
            load(memory, 2, ACQUIRE);
            write(at(memory, 3));
        },
    ];
    let points = |decide: fn(&Point<'_>) -> usize| about_memory(&run(decide, &jobs).0);
    assert_eq!(points(first), 0);
    fine::anticipate();
    // Both have come to theirs, and not to what is no atomic operation.
    assert_eq!((points(last), points(last)), (2, 2));
    fine::adopt();
    assert_eq!(points(last), 0);
    fine::anticipate();
    fine::forget();
    assert_eq!(points(last), 0);
}

#[test]
fn only_the_first_of_very_many_atomic_operations_are_points() {
    let _alone = alone();
    let many: Job = |memory| {
        for _ in 0..3000 {
            load(memory, 0, ACQUIRE);
        }
    };
    fine::anticipate();
    let (decisions, _) = run(first, &[many, many]);
    assert!((1000..=2000).contains(&about_memory(&decisions)));
    fine::forget();
}

#[test]
fn where_nobody_meets_is_no_point() {
    let _alone = alone();
    let apart: [Job; 2] = [|memory| write(at(memory, 0)), |memory| write(at(memory, 1))];
    assert_eq!(learn(&apart), 0);
    let both_read: [Job; 2] = [|memory| read(at(memory, 0)), |memory| read(at(memory, 0))];
    assert_eq!(learn(&both_read), 0);
    let one_thread: [Job; 2] = [
        |memory| {
            write(at(memory, 0));
            read(at(memory, 0));
        },
        |_| {},
    ];
    assert_eq!(learn(&one_thread), 0);
}

#[test]
fn the_own_stack_is_nobodys_business() {
    let _alone = alone();
    let local: Job = |_| {
        let local = 0;
        write(&raw const local);
    };
    assert_eq!(learn(&[local, local]), 0);
}

/// One thread publishes what it has written, the other reads it if it was.
const PUBLISHED: [Job; 2] = [
    |memory| {
        write(at(memory, 0));
        store(memory, 1, RELEASE);
    },
    |memory| {
        if load(memory, 1, ACQUIRE) == 1 {
            read(at(memory, 0));
        }
    },
];

/// The same with fences.
const FENCED: [Job; 2] = [
    |memory| {
        write(at(memory, 0));
        // SAFETY: a fence.
        unsafe { __tsan_atomic_thread_fence(RELEASE) };
        store(memory, 1, RELAXED);
    },
    |memory| {
        if load(memory, 1, RELAXED) == 1 {
            // SAFETY: a fence.
            unsafe { __tsan_atomic_thread_fence(ACQUIRE) };
            read(at(memory, 0));
        }
    },
];

/// The same with nothing that orders.
const RELAXEDLY: [Job; 2] = [
    |memory| {
        write(at(memory, 0));
        store(memory, 1, RELAXED);
    },
    |memory| {
        if load(memory, 1, RELAXED) == 1 {
            read(at(memory, 0));
        }
    },
];

#[test]
fn what_atomic_operations_order_is_no_point() {
    let _alone = alone();
    // The atomic operations themselves meet, and nothing else does.
    assert_eq!(learn(&PUBLISHED), 2);
    fine::forget();
    assert_eq!(learn(&FENCED), 2);
    fine::forget();
    assert_eq!(learn(&RELAXEDLY), 4);
}

#[test]
fn what_starting_and_joining_threads_order_is_no_point() {
    let _alone = alone();
    let handed_over: [Job; 1] = [|memory| {
        write(at(memory, 0));
        let child = Arc::clone(memory);
        let child = thread::spawn(move || write(at(&child, 0)));
        child.join().unwrap();
        write(at(memory, 0));
    }];
    assert_eq!(learn(&handed_over), 0);
    let not_joined: [Job; 1] = [|memory| {
        let child = Arc::clone(memory);
        let child = thread::spawn(move || write(at(&child, 0)));
        write(at(memory, 0));
        child.join().unwrap();
    }];
    assert!(learn(&not_joined) > 0);
}

/// All races of these jobs under some schedules.
fn races(jobs: &[Job]) -> Vec<Race> {
    fine::forget();
    learn(jobs);
    [first, last]
        .into_iter()
        .flat_map(|decide| run(decide, jobs).1)
        .collect()
}

#[test]
fn a_race_is_told_with_both_accesses() {
    let _alone = alone();
    let races = races(&[|memory| write(at(memory, 0)), |memory| read(at(memory, 0))]);
    let race = races.first().expect("nothing orders the two");
    let both = [&race.first, &race.second];
    let mut names: Vec<_> = both.iter().map(|one| one.name.clone().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["thread 0", "thread 1"]);
    for racing in both {
        let (access, function) = match racing.number {
            0 => (Access::Store, "hooks::write"),
            _ => (Access::Load, "hooks::read"),
        };
        assert_eq!(racing.access, access);
        assert!(!racing.is_atomic);
        let backtrace = racing.backtrace.as_deref().expect("its stack is known");
        assert!(backtrace.contains(function), "{function} in {backtrace}");
        assert!(backtrace.contains("tests/hooks.rs"), "{backtrace}");
    }
}

#[test]
fn an_atomic_operation_races_with_an_ordinary_one_only() {
    let _alone = alone();
    let atomics: [Job; 2] = [
        |memory| store(memory, 0, RELAXED),
        |memory| {
            load(memory, 0, RELAXED);
        },
    ];
    assert_eq!(races(&atomics), []);
    let mixed: [Job; 2] = [
        |memory| store(memory, 0, RELAXED),
        |memory| read(at(memory, 0)),
    ];
    let races = races(&mixed);
    assert!(
        races
            .iter()
            .any(|race| race.first.is_atomic || race.second.is_atomic)
    );
}

#[test]
fn what_is_ordered_does_not_race() {
    let _alone = alone();
    assert_eq!(races(&PUBLISHED), []);
    // Nor what is ordered by what nobody sees.
    let locked: Job = |memory| {
        static LOCK: Mutex<()> = Mutex::new(());
        let _guard = LOCK.lock().unwrap();
        write(at(memory, 0));
    };
    assert_eq!(races(&[locked, locked]), []);
    assert!(fine::adopted() > 0, "the lock is not seen");
    assert!(!races(&[locked, |memory| write(at(memory, 0))]).is_empty());
}

#[test]
fn a_copy_reads_and_writes() {
    let _alone = alone();
    let copies: [Job; 2] = [
        |memory| {
            let to = at(memory, 0) as *mut c_void;
            // SAFETY: atomic variables next to each other, and one thread runs.
            unsafe { __memprof_memcpy(to, at(memory, 2).cast(), 16) };
        },
        |memory| write(at(memory, 1)),
    ];
    let races_with = |races: Vec<Race>| {
        races
            .iter()
            .any(|race| race.first.access == race.second.access)
    };
    assert!(races_with(races(&copies)), "both write");
    let reads: [Job; 2] = [copies[0], |memory| write(at(memory, 3))];
    let races = races(&reads);
    assert!(
        !races.is_empty() && !races_with(races),
        "one reads, one writes"
    );
}

struct Late(Memory);

impl Drop for Late {
    fn drop(&mut self) {
        write(at(&self.0, 0));
    }
}

thread_local! {
    static LATE: std::cell::RefCell<Option<Late>> = const { std::cell::RefCell::new(None) };
}

#[test]
fn an_access_while_thread_locals_are_dropped_is_an_access() {
    let _alone = alone();
    let late: Job = |memory| LATE.set(Some(Late(Arc::clone(memory))));
    assert!(learn(&[late, late]) > 0);
}

#[test]
fn outside_a_world_nothing_happens() {
    let _alone = alone();
    let memory = memory();
    let other = Arc::clone(&memory);
    let other = thread::spawn(move || write(at(&other, 0)));
    write(at(&memory, 0));
    read(std::ptr::null());
    other.join().unwrap();
    assert_eq!((fine::adopt(), fine::waiting()), (0, 0));
}

#[test]
fn copies_are_made() {
    let mut bytes = *b"0123456789";
    let start = bytes.as_mut_ptr();
    // SAFETY: within the array.
    unsafe {
        let moved = __memprof_memmove(start.add(2).cast(), start.cast(), 6);
        assert_eq!(moved, start.add(2).cast());
        assert_eq!(&bytes, b"0101234589");
        let set = __memprof_memset(start.cast(), 0x1_0000 + i32::from(b'x'), 3);
        assert_eq!(set, start.cast());
        assert_eq!(&bytes, b"xxx1234589");
        __memprof_memcpy(start.cast(), start.cast(), 0);
        __memprof_memcpy(start.cast(), start.add(5).cast(), 2);
    }
    assert_eq!(&bytes, b"34x1234589");
}

/// The atomic operations of one width, beside those of the standard library.
/// Of the registers, what is beyond the width is dirt.
macro_rules! agrees {
    ($test:ident, $atomic:ident, $integer:ident, $load:ident, $store:ident, $exchange:ident,
     $compare:ident, $($hook:ident $method:ident),*) => {
        #[test]
        fn $test() {
            use std::sync::atomic::$atomic;
            unsafe extern "C" {
                fn $load(address: *const $integer, order: u32) -> $integer;
                fn $store(address: *const $integer, new: u64, order: u32);
                fn $exchange(address: *const $integer, new: u64, order: u32) -> $integer;
                fn $compare(
                    address: *const $integer, old: u64, new: u64, order: u32, otherwise: u32,
                ) -> $integer;
                $(fn $hook(address: *const $integer, operand: u64, order: u32) -> $integer;)*
            }
            let dirt = !u64::from($integer::MAX);
            let wide = |number: $integer| u64::from(number) | dirt;
            let numbers = [0, 1, 5, $integer::MAX, $integer::MAX / 3];
            for (one, other) in numbers.iter().flat_map(|one| numbers.map(|other| (*one, other))) {
                let memory = $atomic::new(one);
                let address = memory.as_ptr().cast_const();
                // SAFETY: an atomic variable.
                unsafe {
                    assert_eq!($load(address, ACQUIRE), one);
                    let found = $compare(address, wide(other), wide(7), STRICT, RELAXED);
                    assert_eq!(found, one);
                    assert_eq!($load(address, RELAXED), if one == other { 7 } else { one });
                    let before = memory.load(Ordering::SeqCst);
                    assert_eq!($exchange(address, wide(one), STRICT), before);
                    assert_eq!(memory.load(Ordering::SeqCst), one);
                    $store(address, wide(other), RELEASE);
                    assert_eq!(memory.load(Ordering::SeqCst), other);
                    $(
                        memory.store(one, Ordering::SeqCst);
                        assert_eq!($hook(address, wide(other), STRICT), one);
                        let expected = $atomic::new(one);
                        expected.$method(other, Ordering::SeqCst);
                        assert_eq!(
                            memory.load(Ordering::SeqCst),
                            expected.load(Ordering::SeqCst),
                            stringify!($hook),
                        );
                    )*
                }
            }
        }
    };
}

agrees!(
    operations_on_8_bits_are_made, AtomicU8, u8,
    __tsan_atomic8_load, __tsan_atomic8_store, __tsan_atomic8_exchange, __tsan_atomic8_compare_exchange_val,
    __tsan_atomic8_fetch_add fetch_add, __tsan_atomic8_fetch_sub fetch_sub, __tsan_atomic8_fetch_and fetch_and, __tsan_atomic8_fetch_or fetch_or, __tsan_atomic8_fetch_xor fetch_xor, __tsan_atomic8_fetch_nand fetch_nand
);

agrees!(
    operations_on_16_bits_are_made, AtomicU16, u16,
    __tsan_atomic16_load, __tsan_atomic16_store, __tsan_atomic16_exchange, __tsan_atomic16_compare_exchange_val,
    __tsan_atomic16_fetch_add fetch_add, __tsan_atomic16_fetch_sub fetch_sub, __tsan_atomic16_fetch_and fetch_and, __tsan_atomic16_fetch_or fetch_or, __tsan_atomic16_fetch_xor fetch_xor, __tsan_atomic16_fetch_nand fetch_nand
);

agrees!(
    operations_on_32_bits_are_made, AtomicU32, u32,
    __tsan_atomic32_load, __tsan_atomic32_store, __tsan_atomic32_exchange, __tsan_atomic32_compare_exchange_val,
    __tsan_atomic32_fetch_add fetch_add, __tsan_atomic32_fetch_sub fetch_sub, __tsan_atomic32_fetch_and fetch_and, __tsan_atomic32_fetch_or fetch_or, __tsan_atomic32_fetch_xor fetch_xor, __tsan_atomic32_fetch_nand fetch_nand
);

agrees!(
    operations_on_64_bits_are_made, AtomicU64, u64,
    __tsan_atomic64_load, __tsan_atomic64_store, __tsan_atomic64_exchange, __tsan_atomic64_compare_exchange_val,
    __tsan_atomic64_fetch_add fetch_add, __tsan_atomic64_fetch_sub fetch_sub, __tsan_atomic64_fetch_and fetch_and, __tsan_atomic64_fetch_or fetch_or, __tsan_atomic64_fetch_xor fetch_xor, __tsan_atomic64_fetch_nand fetch_nand
);
