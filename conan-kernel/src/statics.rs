//! Where the executable's own variables are. A lock among them, such as that
//! of standard output, may be held by a thread outside any world.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;

/// The beginning of the system's `dl_phdr_info`.
#[repr(C)]
struct Object {
    base: usize,
    name: *const c_void,
    headers: *const Header,
    count: u16,
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
const WRITABLE: u32 = 2;

type Visit = unsafe extern "C" fn(*const Object, usize, *mut c_void) -> c_int;

unsafe extern "C" {
    fn dl_iterate_phdr(visit: Visit, data: *mut c_void) -> c_int;
}

/// True for an address of a static variable of the executable.
pub(crate) fn contain(address: usize) -> bool {
    static RANGES: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    let ranges = RANGES.get_or_init(|| {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        // SAFETY: `visit` gets back the pointer to the list, and nobody else
        // uses it meanwhile.
        unsafe { dl_iterate_phdr(visit, (&raw mut ranges).cast()) };
        ranges
    });
    ranges.iter().any(|range| range.contains(&address))
}

/// Looks at the first object, which is the executable.
unsafe extern "C" fn visit(object: *const Object, _: usize, ranges: *mut c_void) -> c_int {
    // SAFETY: the system describes one object, valid during the call.
    let object = unsafe { &*object };
    // SAFETY: as many headers as it says.
    let headers = unsafe { std::slice::from_raw_parts(object.headers, usize::from(object.count)) };
    // SAFETY: the pointer is the one that `contain` gave.
    let ranges = unsafe { &mut *ranges.cast::<Vec<Range<usize>>>() };
    for header in headers {
        if header.kind == LOADED && header.flags & WRITABLE != 0 {
            let start = object.base + header.address as usize;
            ranges.push(start..start + header.size as usize);
        }
    }
    1
}
