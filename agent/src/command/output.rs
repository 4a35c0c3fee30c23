//! The output file of a command, with a bounded size.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

use super::kept::{Excerpt, gap};

/// The longest line that [`gap`] writes.
const GAP_BYTES: u64 = 64;

/// A file that keeps the beginning and the end of what was appended.
///
/// The first half never changes. When the second half is full, its newer part moves up behind the
/// first half. A line between them says how many bytes are missing. So the file is correct at any
/// time, and each byte is written at most twice.
#[derive(Debug)]
pub(super) struct OutputFile {
    file: File,
    head: u64,
    tail: u64,
    /// The length of the file.
    length: u64,
    /// The position of the part after the gap line.
    tail_start: u64,
    total: u64,
    left_out: u64,
    fault: Option<String>,
}

impl OutputFile {
    /// Creates a file that only its owner can read and that keeps about `limit` bytes.
    pub(super) fn create(path: &Path, limit: u64) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?;
        let head = limit / 2;
        Ok(Self {
            file,
            head,
            // The tail fills up to twice this length before it moves up, so the whole file keeps
            // about `limit` bytes.
            tail: (limit / 4).max(1),
            length: 0,
            tail_start: head,
            total: 0,
            left_out: 0,
            fault: None,
        })
    }

    /// Appends output. If the disk fails, the rest of the output is dropped and
    /// [`OutputFile::fault`] gives the reason.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let written = match self.fault {
            None => self.try_append(bytes).map_err(|(written, why)| {
                self.fault = Some(why.to_string());
                written
            }),
            Some(_) => Err(0),
        };
        // A full disk must not stop the command, so what cannot be written is only counted.
        if let Err(written) = written {
            self.left_out += (bytes.len() - written) as u64;
        }
    }

    fn try_append(&mut self, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        let mut written = 0;
        while written < bytes.len() {
            let space = (self.head + GAP_BYTES + 2 * self.tail).saturating_sub(self.length);
            let rest = &bytes[written..];
            let piece = &rest[..rest.len().min(usize::try_from(space).unwrap_or(usize::MAX))];
            if piece.is_empty() {
                self.move_up().map_err(|why| (written, why))?;
                continue;
            }
            self.file.write_all_at(piece, self.length).map_err(|why| (written, why))?;
            self.length += piece.len() as u64;
            written += piece.len();
        }
        Ok(())
    }

    /// Drops the bytes between the first half and the newest part.
    fn move_up(&mut self) -> io::Result<()> {
        let mut newest = vec![0; usize::try_from(self.tail).unwrap_or(usize::MAX)];
        let from = self.length - self.tail;
        self.file.read_exact_at(&mut newest, from)?;
        let left_out = self.left_out + (from - self.tail_start);
        let line = gap(left_out);
        self.file.write_all_at(line.as_bytes(), self.head)?;
        let tail_start = self.head + line.len() as u64;
        self.file.write_all_at(&newest, tail_start)?;
        self.file.set_len(tail_start + self.tail)?;
        (self.left_out, self.tail_start, self.length) =
            (left_out, tail_start, tail_start + self.tail);
        Ok(())
    }

    /// The number of bytes that were appended.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The number of those bytes that are not in the file.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Why the rest of the output is missing; `None` if nothing failed.
    pub(super) fn fault(&self) -> Option<String> {
        self.fault.clone()
    }
}

/// The beginning and the end of an output file, at most `max_bytes` of it. It may belong to a
/// command of an earlier process.
///
/// # Errors
/// If the file cannot be read.
pub fn excerpt(path: &Path, max_bytes: usize) -> io::Result<Excerpt> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let read = |from: u64, bytes: usize| -> io::Result<Vec<u8>> {
        let mut read = vec![0; bytes];
        let mut count = 0;
        // The command may still write the file, so a short read is normal.
        while count < bytes {
            match file.read_at(&mut read[count..], from + count as u64)? {
                0 => break,
                more => count += more,
            }
        }
        read.truncate(count);
        Ok(read)
    };
    match usize::try_from(length) {
        Ok(length) if length <= max_bytes => Ok(Excerpt::new(&read(0, length)?, 0, &[])),
        _ => {
            let half = max_bytes / 2;
            let tail = read(length - half as u64, half)?;
            Ok(Excerpt::new(&read(0, half)?, length - 2 * half as u64, &tail))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Appends the numbers from 0 in pieces. Returns all of them, the text of the file, and the
    /// bytes left out.
    fn written(limit: u64, numbers: u32, piece: usize) -> (String, String, u64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        let all: String = (0..numbers).map(|number| format!("{number:07}\n")).collect();
        let mut file = OutputFile::create(&path, limit).unwrap();
        for bytes in all.as_bytes().chunks(piece) {
            file.append(bytes);
            assert!(
                fs::metadata(&path).unwrap().len() <= limit + GAP_BYTES,
                "the file is never longer than its limit"
            );
        }
        assert_eq!((file.total(), file.fault()), (all.len() as u64, None));
        (all, fs::read_to_string(&path).unwrap(), file.left_out())
    }

    #[test]
    fn a_file_holds_the_beginning_the_end_and_the_count_between_them() {
        for (limit, piece) in [(1000, 7), (1000, 64), (1000, 5000), (4096, 1), (8, 3)] {
            let (all, text, left_out) = written(limit, 2000, piece);
            let head = usize::try_from(limit / 2).unwrap();
            let line = gap(left_out);
            assert!(left_out > 0);
            assert_eq!(text[..head], all[..head], "limit {limit}, pieces of {piece}");
            assert_eq!(&text[head..head + line.len()], line);
            let tail = &text[head + line.len()..];
            assert!(
                all.ends_with(tail) && tail.len() as u64 >= limit / 4,
                "limit {limit}, pieces of {piece}: {tail}"
            );
            assert_eq!((head + tail.len()) as u64 + left_out, all.len() as u64);
        }
    }

    #[test]
    fn a_short_output_is_whole() {
        let (all, text, left_out) = written(100_000, 1000, 333);
        assert_eq!((text, left_out), (all, 0));
    }

    #[test]
    fn an_excerpt_has_both_ends_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        fs::write(&path, "0123456789").unwrap();
        assert_eq!(excerpt(&path, 10).unwrap(), Excerpt { text: "0123456789".into(), left_out: 0 });
        assert_eq!(
            excerpt(&path, 4).unwrap(),
            Excerpt { text: format!("01{}89", gap(6)), left_out: 6 }
        );
        assert_eq!(
            excerpt(&folder.path().join("none"), 4).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
