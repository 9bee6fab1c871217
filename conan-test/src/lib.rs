//! Readable `.conan` scripts that test concurrent components, as cargo tests.
//!
//! Add `conan-test` to the `[dev-dependencies]`, write a script, and include
//! it in a test file:
//!
//! ```ignore
//! conan_test::script!("tests/scripts/queue.conan");
//! ```
//!
//! Every sequence of the script is a `#[test]`. A folder in place of a file
//! includes all scripts in it. See the book for the language.

pub use conan_macros::script;
pub use conan_runtime::{hotspot, ticks, time};

/// What generated drivers are made of. Not meant to be called by hand.
pub mod driver {
    pub use conan_macros::{fragments, main};
    pub use conan_runtime::{
        Conan, Ended, Escaped, HotSpot, Plan, Reached, Script, Sequence, Settings, Stays, Wake,
        WakeTimes, compare, ended, every_script_is_included, exception, main, mismatch, observe,
        outcome, run, test,
    };

    pub use conan_runtime::engine::{engine, with_same_threads};

    /// What is in scope in every fragment.
    pub mod prelude {
        pub use conan_runtime::{hotspot, ticks, time};
    }
}
