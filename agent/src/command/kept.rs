//! The kept part of a stream: its beginning, its end, and how much lay between them.

use std::collections::VecDeque;

/// Text from a stream. If bytes are missing between its beginning and its end, a line says how
/// many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The text. Invalid UTF-8 is replaced.
    pub text: String,
    /// The number of bytes that are left out.
    pub left_out: u64,
}

impl Excerpt {
    /// Whether bytes are left out.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.left_out > 0
    }

    /// The beginning and the end of this text, at most about `max_bytes` of it.
    #[must_use]
    pub fn shortened(&self, max_bytes: usize) -> Self {
        let (text, half) = (self.text.as_bytes(), max_bytes / 2);
        if text.len() <= max_bytes {
            return self.clone();
        }
        Self::new(
            &text[..half],
            self.left_out + (text.len() - 2 * half) as u64,
            &text[text.len() - half..],
        )
    }

    /// Joins a beginning and an end, with `left_out` bytes between them.
    pub(super) fn new(head: &[u8], left_out: u64, tail: &[u8]) -> Self {
        // Nothing is missing, so a character may lie across the border of the two parts and stays
        // whole.
        if left_out == 0 {
            return Self {
                text: String::from_utf8_lossy(&[head, tail].concat()).into_owned(),
                left_out,
            };
        }
        // A character that was cut in two is left out.
        let (head_end, tail_start) = (whole_end(head), whole_start(tail));
        let left_out = left_out + (head.len() - head_end) as u64 + tail_start as u64;
        let [head, tail] = [&head[..head_end], &tail[tail_start..]].map(String::from_utf8_lossy);
        Self { text: format!("{head}{}{tail}", gap(left_out)), left_out }
    }
}

/// The line in place of the bytes that are left out.
pub(super) fn gap(bytes: u64) -> String {
    format!("\n[wakeful: {bytes} bytes left out]\n")
}

/// The end of the last complete character.
fn whole_end(bytes: &[u8]) -> usize {
    let cut = bytes.utf8_chunks().last().map_or(&[][..], |last| last.invalid());
    match std::str::from_utf8(cut) {
        Err(why) if why.error_len().is_none() => bytes.len() - cut.len(),
        _ => bytes.len(),
    }
}

/// The start of the first complete character.
fn whole_start(bytes: &[u8]) -> usize {
    // A character has at most three bytes after its first one. More of them are not UTF-8, and are
    // kept.
    bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count()
}

/// A stream in memory, bounded: its first half of the limit, and its newest half.
#[derive(Debug)]
pub(super) struct Kept {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Kept {
    /// An empty stream that keeps at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { half: limit / 2, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        // A piece longer than the tail replaces it whole, so its older bytes are never copied.
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let too_many = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..too_many);
        self.tail.extend(rest);
    }

    pub(super) fn excerpt(&self) -> Excerpt {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        Excerpt::new(&self.head, self.total - (self.head.len() + tail.len()) as u64, &tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(limit: usize, pieces: &[&str]) -> Excerpt {
        let mut kept = Kept::new(limit);
        pieces.iter().for_each(|piece| kept.add(piece.as_bytes()));
        kept.excerpt()
    }

    #[test]
    fn what_fits_is_kept_whole() {
        assert_eq!(
            kept(8, &["abc", "", "defgh"]),
            Excerpt { text: "abcdefgh".into(), left_out: 0 }
        );
    }

    #[test]
    fn what_does_not_fit_loses_its_middle() {
        let cut = Excerpt { text: "abcd\n[wakeful: 3 bytes left out]\nhijk".into(), left_out: 3 };
        for pieces in [
            &["abcdefghijk"][..],
            &["abc", "defg", "hijk"],
            &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"],
        ] {
            assert_eq!(kept(8, pieces), cut, "{pieces:?}");
        }
    }

    #[test]
    fn a_character_that_is_cut_in_two_is_left_out_whole() {
        // Six characters of two bytes each: both limits fall into the middle of a character.
        let cut = kept(6, &["äöüäöü"]);
        assert_eq!(cut, Excerpt { text: "ä\n[wakeful: 8 bytes left out]\nü".into(), left_out: 8 });
    }

    #[test]
    fn bytes_that_are_no_text_stay_as_replacements() {
        let mut kept = Kept::new(64);
        kept.add(b"a\xffb\xc3");
        assert_eq!(kept.excerpt().text, "a\u{fffd}b\u{fffd}");
    }
}
