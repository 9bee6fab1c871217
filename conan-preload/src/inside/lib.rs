//! The shared library: the kernel, and the searches that can decide in it.
//!
//! Compiled by `conan-preload`'s build script, not by cargo.

mod wish;

#[used]
// SAFETY: libc calls what is here when the library has been loaded, after its
// own preparations and before `main`.
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

#[used]
// SAFETY: libc calls what is here when the process ends.
#[unsafe(link_section = ".fini_array")]
static ENDED: extern "C" fn() = ended;

extern "C" fn loaded() {
    conan_kernel::preload::loaded(wish::plan);
}

extern "C" fn ended() {
    conan_kernel::preload::ended();
}
