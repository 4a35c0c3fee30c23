//! Finds the bytes that a JSON string must escape: quotes, backslashes and control characters.

/// 1 in each byte of a word.
const ONES: u64 = u64::MAX / 0xFF;
/// The highest bit of each byte.
const HIGH: u64 = ONES << 7;

/// The number of bytes at the start of `text` that a JSON string holds without escapes. It tests
/// eight bytes at once, because most of what is read and written is in strings.
pub(super) fn plain(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let special = special(u64::from_le_bytes(*word));
        if special != 0 {
            // Little-endian, so the lowest set bit belongs to the first special byte.
            return index * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let plain = rest.iter().position(|byte| matches!(byte, ..0x20 | b'"' | b'\\'));
    text.len() - rest.len() + plain.unwrap_or(rest.len())
}

/// Marks the first byte of the word that needs an escape with its highest bit. Bytes after it may
/// be marked wrongly, because the subtraction borrows from them.
fn special(word: u64) -> u64 {
    let less_than = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
    let is = |byte: u8| less_than(word ^ (ONES * u64::from(byte)), 1);
    (less_than(word, 0x20) | is(b'"') | is(b'\\')) & HIGH
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn every_byte_is_found_at_every_offset_beside_any_other() {
        let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
        for byte in 0..=0xFF {
            for beside in [b' ', b'!', b'#', b'[', b']', 0x7F, 0x80, 0xFF] {
                // Miri is a thousand times slower.
                for at in (0..19).step_by(if cfg!(miri) { 6 } else { 1 }) {
                    let mut text = vec![beside; 19];
                    text[at] = byte;
                    assert_eq!(
                        plain(&text),
                        if is_plain(byte) { 19 } else { at },
                        "{byte:#x} at {at} beside {beside:#x}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_first_of_several_is_found() {
        assert_eq!(plain(b"0123\"\\\n\"01234567"), 4);
        assert_eq!(plain(b"01234567\x1f\"345678"), 8);
        assert_eq!(plain(b""), 0);
    }
}
