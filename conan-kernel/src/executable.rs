//! What the system tells of the executable: where its variables are.

use std::ffi::{c_int, c_void};
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
const WRITABLE: u32 = 2;

type Visit = unsafe extern "C" fn(*const Object, usize, *mut c_void) -> c_int;

unsafe extern "C" {
    fn dl_iterate_phdr(visit: Visit, data: *mut c_void) -> c_int;
}

/// What is wanted of the executable.
struct Found {
    statics: Vec<Range<usize>>,
    locals: Range<usize>,
}

fn look() -> Found {
    let mut found = Found {
        statics: Vec::new(),
        locals: 0..0,
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
    for header in headers {
        let size = header.size as usize;
        if header.kind == LOADED && header.flags & WRITABLE != 0 {
            let start = object.base + header.address as usize;
            found.statics.push(start..start + size);
        }
        if header.kind == LOCALS && !object.locals.is_null() {
            let start = object.locals as usize;
            found.locals = start..start + size;
        }
    }
    1
}

/// True for an address of a static variable of the executable. A lock there,
/// such as that of standard output, may be held by a thread outside any world.
pub(crate) fn has_static_at(address: usize) -> bool {
    static RANGES: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    let ranges = RANGES.get_or_init(|| look().statics);
    ranges.iter().any(|range| range.contains(&address))
}

/// The calling thread's own copy of the executable's thread-locals.
pub(crate) fn thread_locals() -> Range<usize> {
    look().locals
}
