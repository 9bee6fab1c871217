//! The kernel as a shared library, loaded into a process that knows nothing
//! of it. The library itself is made in `conan-preload`: it calls [`loaded`]
//! before the process's `main`, and [`ended`] when the process ends.
//!
//! It acts only if `CONAN_PRELOAD_ACCOUNT` is in the environment, which names
//! a file, or `CONAN_PRELOAD_ORIGINAL`. Then the process is an *original*, and
//! it is its copies that get further and are told of a file. What came of a
//! process is written there when it ends:
//!
//! ```text
//! virtual 6000000012
//! trace 9f3c02aa41b7d650
//! inexact running worker
//! hang blocked
//! thread consumer
//! number 2
//! cause futex
//! since 1200
//! held 1
//! cycle 0 1
//! |   0: conan_kernel::handover::Slot::look_at_own_stack
//! ```
//!
//! `virtual` is in nanoseconds. After `hang` there is a block for each thread,
//! with its number in the process and its backtrace; `held` has the threads of
//! which one probably holds the lock that it waits for, `cycle` those on the way back to itself, by the numbers
//! of their blocks. If the process cannot be managed, the file has but a
//! line `unavailable` with the reason. What `CONAN_PRELOAD_SCHEDULE` asks for
//! is the library's own affair, and so are the lines about it. If it asks for
//! something that cannot be, the file has but a line `refused` with the reason,
//! and the process ends before it has begun.

use std::env;
use std::ffi::{OsStr, c_int, c_void};
use std::fmt::{self, Write as _};
use std::fs;
use std::mem;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::crash::{Crash, Reporter, report_crashes};
use crate::me::{self, Inside};
pub use crate::memory::Memory;
use crate::original;
pub use crate::original::LastArgument;
use crate::parent::end_with_parent;
use crate::process::{self, Hang, account, manage_process};
use crate::random::{self, Source};
use crate::raw;
use crate::real::Real;
use crate::schedule::{Fifo, Strategy};
use crate::selfcheck::available_as_library;
use crate::settings::Settings;
pub use crate::settings::setting;
use crate::thread::{Cause, Reason, ThreadId, ThreadInfo};
use crate::trap;
use crate::world::World;

/// Makes a shared library of the crate that says this: [`loaded`] is called
/// before the process's `main`, with the function that makes a plan and the one
/// that looks closer at a hang, and [`ended`] at its end. The crate has [`Memory`]
/// of its own. [`backtrace`] takes the
/// place of the unwinder's function, which only a library can: whoever links
/// the unwinder into an executable has that function there.
#[macro_export]
macro_rules! preload_entry {
    ($plan:path, $relations:path) => {
        #[global_allocator]
        static MEMORY: $crate::preload::Memory = $crate::preload::Memory;

        #[used]
        // SAFETY: libc calls what is here when the library has been loaded,
        // after its own preparations and before `main`.
        #[unsafe(link_section = ".init_array")]
        static LOADED: unsafe extern "C" fn(::std::ffi::c_int, *mut *mut ::std::ffi::c_char) = {
            unsafe extern "C" fn loaded(
                count: ::std::ffi::c_int,
                arguments: *mut *mut ::std::ffi::c_char,
            ) {
                // SAFETY: libc has the program's arguments, and says so here
                // first.
                let last = unsafe { $crate::preload::LastArgument::of(count, arguments) };
                $crate::preload::loaded(last, $plan, $relations);
            }
            loaded
        };

        #[used]
        // SAFETY: libc calls what is here when the process ends.
        #[unsafe(link_section = ".fini_array")]
        static ENDED: extern "C" fn() = {
            extern "C" fn ended() {
                $crate::preload::ended();
            }
            ended
        };

        // SAFETY: has the type of the function whose name it has.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn _Unwind_Backtrace(
            step: *const ::std::ffi::c_void,
            argument: *mut ::std::ffi::c_void,
        ) -> ::std::ffi::c_int {
            // SAFETY: the caller's own call.
            unsafe { $crate::preload::backtrace(step, argument) }
        }
    };
}

/// Names the file for the account, and asks for the process to be managed.
const ACCOUNT: &str = "CONAN_PRELOAD_ACCOUNT";

/// Asks for copies of the process.
const ORIGINAL: &str = "CONAN_PRELOAD_ORIGINAL";

/// Says who decides; [`Fifo`] does if nothing is said.
const SCHEDULE: &str = "CONAN_PRELOAD_SCHEDULE";

/// Says where random numbers come from: from `system`, or from the seed that
/// it is; from the seed 0 if nothing is said.
const RANDOM: &str = "CONAN_PRELOAD_RANDOM";

/// Names the process that has started this one, and that it ends with.
const PARENT: &str = "CONAN_PRELOAD_PARENT";

/// The exit code of a test that has failed.
const FAILED: i32 = 101;

/// The exit code of a process that was asked for the impossible.
const REFUSED: i32 = 2;

/// Threads that are looked at closer, at most: each backtrace takes a moment.
const MANY: usize = 64;

/// What the library adds to the account.
static MORE: OnceLock<Box<dyn Fn() -> String + Send + Sync>> = OnceLock::new();

/// True in a process that has loaded the library.
static IS_LOADED: AtomicBool = AtomicBool::new(false);

/// True in a process that has loaded the library, managed or not. False where
/// the engine is linked into the executable.
pub(crate) fn is_loaded() -> bool {
    IS_LOADED.load(Ordering::Relaxed)
}

/// How the threads of a process take turns, and what to say about that in the
/// end.
pub struct Plan<S> {
    /// Takes all decisions.
    pub strategy: S,
    /// Lines for the account.
    pub account: Box<dyn Fn() -> String + Send + Sync>,
}

/// What stands between a blocked thread and others. The kernel sees that a
/// thread waits at an address; that it is a lock's, somebody else must know.
pub struct Relation {
    /// The thread.
    pub thread: ThreadId,
    /// Its stack, if it was taken.
    pub backtrace: Option<String>,
    /// One of these probably holds the lock that it waits for. It may be among
    /// them.
    pub held_by: Vec<ThreadId>,
    /// The way over those that it waits for back to itself, who is the first;
    /// empty if there is none.
    pub cycle: Vec<ThreadId>,
}

/// To be called when the library has been loaded, by the only thread of the
/// process. Takes the process over if it was asked for, or each of its copies,
/// which have another `last` argument. `plan` makes a plan of what is asked for,
/// or says why it cannot. `relations` is asked when the process hangs, unless it
/// has very many threads.
pub fn loaded<S: Strategy + 'static>(
    last: Option<LastArgument>,
    plan: impl FnOnce(&str) -> Result<Plan<S>, String>,
    relations: fn(&World) -> Vec<Relation>,
) {
    IS_LOADED.store(true, Ordering::Relaxed);
    let is_original = env::var_os(ORIGINAL).is_some();
    if !is_original && env::var_os(ACCOUNT).is_none() {
        return;
    }
    let mut settings = Settings::take();
    if let Some(parent) = settings.number(PARENT) {
        end_with_parent(parent);
    }
    share_memory();
    raw::randomize_addresses();
    trap::prepare();
    if let Some(last) = last.filter(|_| is_original) {
        // The same for all copies; it takes a moment.
        let _ = available_as_library();
        settings = original::serve(last);
    }
    settings.hold();
    random::draw_from(source());
    report_crashes(&OfTest);
    let hung = move |world: &World, hang| hung(world, hang, relations);
    let managed = match setting(SCHEDULE) {
        None => manage_process(Fifo, hung),
        Some(wish) => match plan(&wish.to_string_lossy()) {
            Ok(plan) => {
                MORE.get_or_init(|| plan.account);
                manage_process(plan.strategy, hung)
            }
            Err(reason) => {
                say_of_it(&format!("refused {reason}\n"));
                std::process::exit(REFUSED);
            }
        },
    };
    if let Err(reason) = managed {
        say_of_it(&format!("unavailable {reason}\n"));
    }
}

/// Reports the crash of a test, of which the process leaves its account.
struct OfTest;

impl Reporter for OfTest {
    fn describe(&self, crash: &Crash<'_>, text: &mut dyn fmt::Write) -> fmt::Result {
        let Crash { signal, thread, .. } = crash;
        match thread {
            Some(name) => writeln!(text, "{signal} in thread '{name}'"),
            None => writeln!(text, "{signal} in a thread without a name"),
        }
    }

    fn end(&self) {
        ended();
    }
}

/// Where the account goes.
fn path() -> Option<&'static Path> {
    setting(ACCOUNT).map(Path::new)
}

fn say_of_it(text: &str) {
    if let Some(path) = path() {
        let _ = fs::write(path, text);
    }
}

/// Where random numbers are to come from.
fn source() -> Source {
    match setting(RANDOM).and_then(OsStr::to_str) {
        Some("system") => Source::System,
        Some(text) => Source::Seed(text.parse().unwrap_or_default()),
        None => Source::Seed(0),
    }
}

/// The unwinder's `_Unwind_Backtrace`. std looks names up in each step of it, in
/// the debug information, which takes as long as a thread may run at a time;
/// but it comes to its end.
///
/// # Safety
///
/// The arguments must be such as that function takes.
pub unsafe fn backtrace(step: *const c_void, argument: *mut c_void) -> c_int {
    type Function = unsafe extern "C" fn(*const c_void, *mut c_void) -> c_int;
    static REAL: Real = Real::new(c"_Unwind_Backtrace");
    // SAFETY: libgcc's function of this name and type.
    let real: Function = unsafe { mem::transmute(REAL.get()) };
    // SAFETY: the caller vouches for it.
    let call = || unsafe { real(step, argument) };
    match me::managed() {
        Some(slot) => slot.in_system(call),
        None => call(),
    }
}

unsafe extern "C" {
    fn mallopt(parameter: c_int, value: c_int) -> c_int;
}

/// One thread runs at a time: libc need not give each its own part of the
/// memory, which takes as long as to start one.
fn share_memory() {
    const PARTS_AT_MOST: c_int = -8;
    // SAFETY: no other thread has been started yet.
    unsafe { mallopt(PARTS_AT_MOST, 1) };
}

/// To be called when the process ends.
pub fn ended() {
    let _inside = Inside::enter();
    if account().is_some() {
        say_of_it(&text());
    }
}

/// What is known at any time.
fn text() -> String {
    let mut text = String::new();
    let Some(account) = account() else {
        return text;
    };
    let _ = writeln!(text, "virtual {}", account.passed);
    let _ = writeln!(text, "trace {:016x}", account.trace);
    for (name, reason) in account.inexact {
        let reason = match reason {
            Reason::Running => "running",
            Reason::Blocked => "blocked",
            Reason::WokeOutside => "woke-outside",
            Reason::WokenFromOutside => "woken-from-outside",
            Reason::Io => "io",
            Reason::Signal => "signal",
            Reason::Process => "process",
            Reason::Room => "room",
            Reason::Random => "random",
        };
        let _ = writeln!(text, "inexact {reason} {}", one_line(name.as_deref()));
    }
    if let Some(more) = MORE.get() {
        text.push_str(&more());
    }
    text
}

fn hung(world: &World, hang: Hang, relations: fn(&World) -> Vec<Relation>) -> i32 {
    let mut text = text();
    let what = match hang {
        Hang::Blocked => "blocked",
        Hang::Yielding => "yielding",
        Hang::Ticking => "ticking",
    };
    let _ = writeln!(text, "hang {what}");
    text.push_str(&blocks(world, relations));
    if let Some(path) = path()
        && let Err(failure) = fs::write(path, &text)
    {
        process::say(&format!(
            "every thread is suspended for good, and {} cannot be written: {failure}\n",
            path.display()
        ));
    }
    FAILED
}

/// A block for each thread that has not ended.
fn blocks(world: &World, relations: fn(&World) -> Vec<Relation>) -> String {
    let threads = world.threads();
    let alive: Vec<_> = threads.iter().filter(|info| !info.is_finished).collect();
    let mut relations = match alive.len() {
        ..=MANY => relations(world),
        _ => Vec::new(),
    };
    let mut text = String::new();
    for (index, thread) in alive.iter().enumerate() {
        let _ = writeln!(text, "thread {}", one_line(thread.name.as_deref()));
        let _ = writeln!(text, "number {}", thread.number);
        let _ = writeln!(text, "cause {}", cause(thread, &threads));
        if let Some(blocked) = thread.blocked {
            let since = world.now().saturating_sub(blocked.since);
            let _ = writeln!(text, "since {since}");
        }
        let mut backtrace = None;
        if let Some(relation) = relations.iter_mut().find(|it| it.thread == thread.id) {
            text.push_str(&numbers("held", &relation.held_by, &alive));
            text.push_str(&numbers("cycle", &relation.cycle, &alive));
            backtrace = relation.backtrace.take();
        }
        if index < MANY {
            backtrace = backtrace.or_else(|| world.backtrace(thread.id));
        }
        for line in backtrace.iter().flat_map(|text| text.lines()) {
            let _ = writeln!(text, "|{line}");
        }
    }
    text
}

/// A line with the numbers of these threads' blocks; nothing if there are none.
fn numbers(key: &str, threads: &[ThreadId], alive: &[&ThreadInfo]) -> String {
    let number = |id: &ThreadId| alive.iter().position(|info| info.id == *id);
    let mut line = String::new();
    for number in threads.iter().filter_map(number) {
        let _ = write!(line, " {number}");
    }
    if line.is_empty() {
        line
    } else {
        format!("{key}{line}\n")
    }
}

fn cause(thread: &ThreadInfo, threads: &[ThreadInfo]) -> String {
    match thread.blocked.map(|blocked| blocked.cause) {
        Some(Cause::Futex(_)) => "futex".to_owned(),
        Some(Cause::Sleep) => "sleep".to_owned(),
        Some(Cause::Join(other)) => {
            let other = threads.iter().find(|info| info.id == other);
            let Some(other) = other else {
                return "join".to_owned();
            };
            format!("join {} {}", other.number, one_line(other.name.as_deref()))
        }
        Some(Cause::Park) => "park".to_owned(),
        Some(Cause::Signal) => "signal".to_owned(),
        Some(Cause::Io(call)) => format!("io {} {}", call.name, call.kind().unwrap_or_default()),
        None => "yield".to_owned(),
    }
}

fn one_line(name: Option<&str>) -> String {
    name.unwrap_or_default().replace('\n', " ")
}
