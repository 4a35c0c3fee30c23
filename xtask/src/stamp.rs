//! One number for a text, to notice that it changed.

/// The stamp of a text.
pub fn of_text(text: &str) -> String {
    let mut hash = Fnv1a::new();
    hash.add(text.as_bytes());
    format!("{:016x}", hash.0)
}

/// FNV-1a, 64 bits. It notices an edit, and is the same under every toolchain; the standard hasher
/// does not promise that.
struct Fnv1a(u64);

impl Fnv1a {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds the bytes and their length. Without the length, moving a byte to the next file would
    /// not change the number.
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().copied().chain((bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_changes_with_any_byte_and_any_border() {
        let of = |parts: &[&str]| {
            let mut hash = Fnv1a::new();
            parts.iter().for_each(|part| hash.add(part.as_bytes()));
            hash.0
        };
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["ab", "c"]), of(&["ab", "d"]));
        assert_ne!(of(&["ab"]), of(&["ab", ""]));
    }
}
