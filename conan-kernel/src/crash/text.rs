//! A text that is made without allocating.

use std::fmt;

/// The longest text, in bytes.
const ROOM: usize = 1024;

/// A text of limited length.
pub(super) struct Text {
    bytes: [u8; ROOM],
    length: usize,
}

impl Default for Text {
    fn default() -> Self {
        Self {
            bytes: [0; ROOM],
            length: 0,
        }
    }
}

impl Text {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl fmt::Write for Text {
    /// Takes as much as there is room for.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let rest = &mut self.bytes[self.length..];
        let taken = text.len().min(rest.len());
        rest[..taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.length += taken;
        if taken < text.len() {
            return Err(fmt::Error);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::{ROOM, Text};

    #[test]
    fn what_does_not_fit_is_cut_off() {
        let mut text = Text::default();
        assert!(write!(text, "line {}", 12).is_ok());
        assert_eq!(text.bytes(), b"line 12");
        assert!(write!(text, "{:ROOM$}", 1).is_err());
        assert_eq!(text.bytes().len(), ROOM);
        assert!(text.bytes().starts_with(b"line 12  "));
    }
}
