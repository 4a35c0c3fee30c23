//! Reads vectors: JSON lines, plain or gzipped.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::value::RawValue;
use wakeful_host::text;

/// An input and the answer of the reference runtime.
#[derive(Debug)]
pub struct Vector {
    /// The operation.
    pub operation: String,
    /// The input.
    pub input: Box<RawValue>,
    /// The reference runtime's answer.
    pub output: Box<RawValue>,
}

#[derive(Deserialize)]
struct Line {
    input: Box<RawValue>,
    output: Box<RawValue>,
}

#[derive(Deserialize)]
struct Operation {
    op: String,
}

/// Why vectors cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A line is not a vector.
    #[error(
        "{}:{line}: {why}; a vector is {{\"input\": {{\"op\": ..}}, \"output\": ..}}",
        path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: serde_json::Error,
    },
}

/// Reads all vectors of a file. A file whose name ends in `.gz` is unpacked.
///
/// # Errors
/// If the file cannot be read, or a line is not a vector.
pub fn read_all(path: &Path) -> Result<Vec<Vector>, VectorError> {
    let unreadable = |why| VectorError::Unreadable { path: path.to_owned(), why };
    let file = File::open(path).map_err(unreadable)?;
    let unpacked: Box<dyn Read> = if path.extension().is_some_and(|extension| extension == "gz") {
        Box::new(GzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut vectors = Vec::new();
    for (line, number) in text::lines(BufReader::new(unpacked)).zip(1..) {
        let line = line.map_err(unreadable)?;
        if line.trim().is_empty() {
            continue;
        }
        let malformed = |why| VectorError::Malformed { path: path.to_owned(), line: number, why };
        let Line { input, output } = serde_json::from_str(&line).map_err(malformed)?;
        let Operation { op } = serde_json::from_str(input.get()).map_err(malformed)?;
        vectors.push(Vector { operation: op, input, output });
    }
    Ok(vectors)
}
