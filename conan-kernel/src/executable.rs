//! What the system tells of the executable: where its variables are.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;

/// The system's `dl_phdr_info`.
#[repr(C)]
struct Object {
    base: usize,
    name: *const c_void,
    headers: *const Header,
    count: u16,
    added: u64,
    removed: u64,
    module: usize,
    locals: *mut u8,
}

/// The system's `Elf64_Phdr`.
#[repr(C)]
struct Header {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    file_size: u64,
    size: u64,
    align: u64,
}

const LOADED: u32 = 1;
const LOCALS: u32 = 7;
const EXECUTABLE: u32 = 1;
const WRITABLE: u32 = 2;
const READABLE: u32 = 4;

type Visit = unsafe extern "C" fn(*const Object, usize, *mut c_void) -> c_int;

unsafe extern "C" {
    fn dl_iterate_phdr(visit: Visit, data: *mut c_void) -> c_int;
}

/// What is wanted of the executable.
struct Found {
    base: usize,
    end: usize,
    statics: Vec<Range<usize>>,
    locals: Range<usize>,
    code: Range<usize>,
}

fn look() -> Found {
    let mut found = Found {
        base: 0,
        end: 0,
        statics: Vec::new(),
        locals: 0..0,
        code: 0..0,
    };
    // SAFETY: `visit` gets back the pointer to `found`, and nobody else uses
    // it meanwhile.
    unsafe { dl_iterate_phdr(visit, (&raw mut found).cast()) };
    found
}

/// Looks at the first object, which is the executable.
unsafe extern "C" fn visit(object: *const Object, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the system describes one object, valid during the call.
    let object = unsafe { &*object };
    // SAFETY: as many headers as it says.
    let headers = unsafe { std::slice::from_raw_parts(object.headers, usize::from(object.count)) };
    // SAFETY: the pointer is the one that `look` gave.
    let found = unsafe { &mut *found.cast::<Found>() };
    found.base = object.base;
    for header in headers {
        let size = header.size as usize;
        let start = object.base + header.address as usize;
        if header.kind == LOADED {
            found.end = found.end.max(start + size);
        }
        if header.kind == LOADED && header.flags & WRITABLE != 0 {
            found.statics.push(start..start + size);
        } else if header.kind == LOADED && header.flags == READABLE | EXECUTABLE {
            found.code = start..start + size;
        }
        if header.kind == LOCALS && !object.locals.is_null() {
            let start = object.locals as usize;
            found.locals = start..start + size;
        }
    }
    1
}

/// How much higher the executable is than its file says.
pub(crate) fn base() -> usize {
    static BASE: OnceLock<usize> = OnceLock::new();
    *BASE.get_or_init(|| look().base)
}

/// Where it ends.
#[cfg(target_arch = "x86_64")]
pub(crate) fn end() -> usize {
    look().end
}

/// True for an address of a static variable of the executable. A lock there,
/// such as that of standard output, may be held by a thread outside any world.
pub(crate) fn has_static_at(address: usize) -> bool {
    statics().iter().any(|range| range.contains(&address))
}

/// Where the static variables of the executable are.
pub(crate) fn statics() -> &'static [Range<usize>] {
    static RANGES: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    RANGES.get_or_init(|| look().statics)
}

/// Where the executable's code is, if it can be read.
pub(crate) fn code() -> Range<usize> {
    static CODE: OnceLock<Range<usize>> = OnceLock::new();
    CODE.get_or_init(|| look().code).clone()
}

/// A part of that [code](code), as bytes.
pub(crate) fn bytes_of_code(part: Range<usize>) -> &'static [u8] {
    let code = code();
    let start = part.start.clamp(code.start, code.end);
    let end = part.end.clamp(start, code.end);
    // SAFETY: the system has loaded the whole range, to be read, for good.
    // What the engine changes of it, it changes behind the compiler's back.
    unsafe { std::slice::from_raw_parts(start as *const u8, end - start) }
}

/// True if there are thread-locals besides those of the executable, of libc
/// and of the engine itself.
pub(crate) fn has_other_locals() -> bool {
    let mut others = Others {
        is_first: true,
        own: has_other_locals as *const () as usize,
        found: false,
    };
    // SAFETY: `visit_other` gets back the pointer to `others`, and nobody else
    // uses it meanwhile.
    unsafe { dl_iterate_phdr(visit_other, (&raw mut others).cast()) };
    others.found
}

struct Others {
    is_first: bool,
    /// An address of the engine's.
    own: usize,
    found: bool,
}

unsafe extern "C" fn visit_other(object: *const Object, _: usize, others: *mut c_void) -> c_int {
    // SAFETY: the system describes one object, valid during the call.
    let object = unsafe { &*object };
    // SAFETY: as many headers as it says.
    let headers = unsafe { std::slice::from_raw_parts(object.headers, usize::from(object.count)) };
    // SAFETY: the pointer is the one that `has_other_locals` gave.
    let others = unsafe { &mut *others.cast::<Others>() };
    let is_executable = std::mem::replace(&mut others.is_first, false);
    let is_own = headers.iter().any(|header| {
        let start = object.base + header.address as usize;
        header.kind == LOADED && (start..start + header.size as usize).contains(&others.own)
    });
    let has_locals = headers.iter().any(|header| header.kind == LOCALS);
    if has_locals && !is_executable && !is_own && !is_libc(object) {
        others.found = true;
    }
    0
}

fn is_libc(object: &Object) -> bool {
    // SAFETY: the system gives a text, or nothing.
    let name = unsafe { (!object.name.is_null()).then(|| CStr::from_ptr(object.name.cast())) };
    let name = name.map(CStr::to_bytes).unwrap_or_default();
    let file = name.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    file.starts_with(b"libc.so") || file.starts_with(b"ld-linux")
}

/// The calling thread's own copy of the executable's thread-locals.
pub(crate) fn thread_locals() -> Range<usize> {
    look().locals
}
