//! How a driver ends.

/// The exit code of a driver that cannot do what it was asked for, or cannot
/// write its reports. It has said why on standard error. A component that exits
/// the process is not likely to choose this code.
pub const REFUSED: u8 = 102;
