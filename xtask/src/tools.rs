//! The build tools (xtask/tools), built once into target/tools and left alone until their source changes.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// Builds the tools unless they were built from these very files.
pub(crate) fn build(paths: &Paths) -> Result<(), Failure> {
    let source = paths.at("xtask/tools");
    let stamp = paths.target().join("tools/stamp");
    let now = stamp_of(&source).map_err(|why| Failure::new(format!("cannot read {}: {why}", source.display())))?;
    if paths.tools().is_file() && fs::read_to_string(&stamp).is_ok_and(|then| then == now) {
        return Ok(());
    }
    Call::cargo(paths, "tools", "build")
        .args(["--locked", "--manifest-path"])
        .arg(source.join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", paths.target().join("tools"))
        .build()?;
    fs::write(&stamp, now).map_err(|why| Failure::new(format!("cannot write {}: {why}", stamp.display())))
}

/// The manifest, the lock and the source, as one number. A stamp of times would not survive a checkout or a restored cache.
fn stamp_of(source: &Path) -> io::Result<String> {
    let mut files = vec![source.join("Cargo.toml"), source.join("Cargo.lock")];
    files_below(&source.join("src"), &mut files)?;
    files.sort();
    let mut hash = Fnv1a::new();
    for file in files {
        let name = file.strip_prefix(source).unwrap_or(&file);
        hash.add(name.to_string_lossy().as_bytes());
        hash.add(&fs::read(&file)?);
    }
    Ok(format!("{:016x}\n", hash.0))
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files_below(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a, 64 bits: enough to notice an edit, and the same under every toolchain, which the standard hasher does not promise.
struct Fnv1a(u64);

impl Fnv1a {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds the bytes and their length, so that a byte that moves from one file to the next changes the number.
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
