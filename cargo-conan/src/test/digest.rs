//! Numbers that stand for many bytes, the same in every process.

/// Tells texts, and libraries, from each other (FNV-1a, a word at a time).
pub(super) fn digest(bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let step = |hash: u64, part: &[u8]| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x0100_0000_01b3)
    };
    bytes.chunks(8).fold(start, step)
}
