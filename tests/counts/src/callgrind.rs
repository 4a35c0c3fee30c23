//! Callgrind counts the instructions of a process that runs under it.

use std::{
    fs, io,
    path::Path,
    process::{self, Command},
};

use wakeful_counts::record::Counts;

/// The files that Callgrind writes are named like this, and then numbered.
const OUT: &str = "callgrind";

/// The name of this program while it is counted.
const PROGRAM: &str = "counts";

/// Plays every path on the ledgers in this folder.
pub(crate) fn count(folder: &Path) -> io::Result<Counts> {
    // Under one name and without an environment: the heap begins with both, and where it begins
    // decides whether a text grows in its place.
    fs::copy(std::env::current_exe()?, folder.join(PROGRAM))?;
    let played = Command::new("valgrind")
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        // Until a path begins, Callgrind only translates, which is ten times faster.
        .args(["--quiet", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no"])
        .arg("--toggle-collect=counts::callgrind::counted*")
        .arg(format!("--callgrind-out-file={OUT}"))
        .args([&format!("./{PROGRAM}"), "play", "."])
        .stderr(process::Stdio::inherit())
        .output()
        .map_err(|why| io::Error::other(format!("valgrind does not start: {why}")))?;
    if !played.status.success() {
        return Err(io::Error::other(format!("valgrind ended with {}", played.status)));
    }
    let printed = String::from_utf8_lossy(&played.stdout);
    let counts = printed.lines().enumerate().map(|(at, line)| {
        let (path, allocations) = line
            .rsplit_once(": ")
            .ok_or_else(|| io::Error::other(format!("`{line}` is not a count")))?;
        let instructions = total(&folder.join(format!("{OUT}.{}", at + 1)))?;
        Ok((path.to_owned(), format!("{instructions} instructions, {allocations} allocations")))
    });
    counts.collect()
}

/// The instructions in a file of Callgrind.
fn total(file: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(file)?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    total.ok_or_else(|| io::Error::other(format!("{} has no total", file.display())))
}

/// Does the work, and has Callgrind write what it took into the next file.
///
/// # Panics
/// If Callgrind does not answer.
pub(crate) fn during(work: &mut dyn FnMut()) {
    control("--instr=on");
    counted(work);
    control("--dump");
    control("--instr=off");
}

/// The one function inside which Callgrind counts.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
}

fn control(what: &str) {
    let answer =
        Command::new("callgrind_control").arg(what).arg(process::id().to_string()).output();
    let answer = answer.unwrap_or_else(|why| panic!("callgrind_control does not start: {why}"));
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
}
