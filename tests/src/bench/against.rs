//! Two commits in one run: this tree and another commit, in turns.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{Depth, Figure, Group};
use crate::paths;

/// The turns of each group on each side.
const TURNS: usize = 3;

/// The figures of another commit and of this tree, by turns. Of both, the least cost counts.
///
/// # Errors
/// If there is no such commit, or it cannot be built or measured.
pub fn compare(commit: &str, groups: &[&Group], depth: Depth) -> io::Result<Vec<Compared>> {
    let tree = checked_out(commit)?;
    let mut all = Vec::new();
    for group in groups {
        let (mut before, mut now) = (Vec::new(), Vec::new());
        for turn in 1..=TURNS {
            anstream::eprintln!("{}, turn {turn} of {TURNS}: {}", group.name, group.about);
            before = least(before, measured_in(&tree, group, depth)?);
            now = least(now, group.measure(depth));
        }
        all.extend(now.into_iter().map(|now| {
            let before = before.iter().find(|before| before.is_same(&now)).cloned();
            Compared { before, now }
        }));
    }
    Ok(all)
}

/// A figure of this tree, and the same one of the other commit, if that has it.
pub struct Compared {
    /// Of the other commit.
    pub before: Option<Figure>,
    /// Of this tree.
    pub now: Figure,
}

/// The comparison as a table for people.
#[must_use]
pub fn table(all: &[Compared]) -> String {
    let head = ["figure", "before", "now", "now / before", "ratio before", "ratio now"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(all.iter().map(|Compared { before, now }| {
        let told = |of: fn(&Figure) -> String| {
            before.as_ref().map_or_else(|| "not measured".to_owned(), of)
        };
        let change = before
            .as_ref()
            .map_or(String::new(), |before| format!("{:.2}", now.cost / before.cost));
        [
            now.name.clone(),
            told(|figure| figure.unit.tell(figure.cost)),
            now.unit.tell(now.cost),
            change,
            told(|figure| format!("{:.2}", figure.ratio)),
            format!("{:.2}", now.ratio),
        ]
    }));
    super::columns(&rows)
}

/// Of two measurements of the same figures, the least cost of each side.
fn least(before: Vec<Figure>, new: Vec<Figure>) -> Vec<Figure> {
    new.into_iter()
        .map(|new| match before.iter().find(|before| before.is_same(&new)) {
            Some(old) => {
                let (cost, base) = (new.cost.min(old.cost), new.base.min(old.base));
                Figure { cost, base, ratio: cost / base, ..new }
            }
            None => new,
        })
        .collect()
}

/// The commit in a folder of its own, with its own build folder. It stays, so that the next
/// comparison with it need not build it again.
fn checked_out(commit: &str) -> io::Result<PathBuf> {
    let named = git(&["rev-parse", "--short=12", "--verify", &format!("{commit}^{{commit}}")])?;
    let tree = paths::tree("target/against").join(named.trim());
    if !tree.join("Cargo.toml").is_file() {
        anstream::eprintln!("against: checking {commit} out into {}", tree.display());
        // A folder that was deleted is still known to git as a work tree.
        git(&["worktree", "prune"])?;
        git(&["worktree", "add", "--detach", &tree.display().to_string(), named.trim()])?;
    }
    Ok(tree)
}

fn measured_in(tree: &Path, group: &Group, depth: Depth) -> io::Result<Vec<Figure>> {
    let file = tree.join("target/against.json");
    let mut bench = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    bench.current_dir(tree).args(["xtask", "bench", group.name, "--json"]).arg(&file);
    if depth == Depth::Quick {
        bench.arg("--quick");
    }
    // This program's own build folder would be taken for that of the other tree.
    bench.env_remove("CARGO_TARGET_DIR").stdout(Stdio::null());
    fs::create_dir_all(tree.join("target"))?;
    drop(fs::remove_file(&file));
    // It ends with 1 if a goal is missed, which does not matter here.
    bench.status()?;
    let text = fs::read_to_string(&file)
        .map_err(|why| io::Error::other(format!("{} was not measured: {why}", tree.display())))?;
    serde_json::from_str(&text).map_err(io::Error::other)
}

fn git(words: &[&str]) -> io::Result<String> {
    let answer = Command::new("git").current_dir(paths::root()).args(words).output()?;
    if !answer.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&answer.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
}

/// The commit of this tree, and whether the tree differs from it.
///
/// # Errors
/// If git does not answer.
pub fn here() -> io::Result<(String, bool)> {
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    Ok((commit.trim().to_owned(), !git(&["status", "--porcelain"])?.trim().is_empty()))
}
