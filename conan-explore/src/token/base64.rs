//! Base64 for addresses: with `-` and `_`, without padding (RFC 4648, 5).

use super::TokenError;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..=group.len() {
            let index = bits >> (18 - 6 * place) & 0x3f;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

pub(super) fn decode(text: &str) -> Result<Vec<u8>, TokenError> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for (place, character) in text.chars().enumerate() {
        let index = ALPHABET
            .iter()
            .position(|&letter| char::from(letter) == character)
            .ok_or(TokenError::Character(place))?;
        bits = bits << 6 | index as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    // A lone character is no byte, and the rest of the last one must be empty.
    if count == 6 || bits != 0 {
        return Err(TokenError::Incomplete);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn the_examples_of_the_standard() {
        let examples = [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, encoded) in examples {
            assert_eq!(encode(plain.as_bytes()), encoded);
            assert_eq!(decode(encoded), Ok(plain.as_bytes().to_vec()));
        }
        assert_eq!(encode(&[0xfb, 0xff]), "-_8");
    }

    #[test]
    fn what_no_bytes_give_is_refused() {
        for text in ["A", "AAAAA", "Zh", "Zm9", "Zg==", "Z+"] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
