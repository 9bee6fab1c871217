//! Which crates, and where their tests are.

/// A crate whose tests are restated.
pub(crate) struct Suite {
    /// The name of its package.
    pub(crate) package: &'static str,
    /// The folder in `scripts/crates`.
    pub(crate) folder: &'static str,
    /// Where its tests are.
    pub(crate) home: Home,
    /// The dev-dependencies that these tests need.
    pub(crate) dev_dependencies: &'static [&'static str],
}

/// Where a crate has its tests.
pub(crate) enum Home {
    /// In `tests`, a binary for each file.
    Tests,
    /// Among its sources: in each file itself, or in a module of this name.
    Sources(Option<&'static str>),
}

/// A test: the file that it is in, without extension, and its name.
///
/// Scripts are called as the files, with `_virtual` if need be, and sequences
/// as the tests.
pub(crate) struct Test {
    pub(crate) file: String,
    pub(crate) name: &'static str,
}

pub(crate) const SUITES: [Suite; 4] = [
    Suite {
        package: "crossbeam-channel",
        folder: "crossbeam_channel_suite",
        home: Home::Tests,
        dev_dependencies: &["rand"],
    },
    Suite {
        package: "flume",
        folder: "flume_suite",
        home: Home::Tests,
        dev_dependencies: &["crossbeam-utils", "rand"],
    },
    Suite {
        package: "r2d2",
        folder: "r2d2_suite",
        home: Home::Sources(None),
        dev_dependencies: &[],
    },
    Suite {
        package: "parking_lot",
        folder: "parking_lot_suite",
        home: Home::Sources(Some("tests")),
        dev_dependencies: &["rand"],
    },
];
