//! `cargo xtask sim --against REV`: simulates the same families with the core of this tree and with
//! that of another commit, and prints the first entry at which they differ.
//!
//! The other core is built in a copy of this tree, target/versions/tree. So families, faults and
//! hosts are the same, and builds of this tree stay.

mod histories;

use std::{fs, io, path::Path, process::ExitCode};

use histories::Difference;
use xtask::{
    call::{Call, Failure},
    copy, native,
    paths::{Paths, program},
    stage::{bold, green, red, stage},
};

/// The copy, below target.
const COPY: &str = "versions/tree";

/// The built artifacts that the copy gets.
const BUILT: [&str; 3] = ["target/debug/deps", "target/debug/build", "target/debug/.fingerprint"];

/// The number of characters of an entry that are shown.
const SHOWN: usize = 400;

/// Simulates families with both cores, and prints where they differ. The options are those of the
/// program `sim`.
pub(crate) fn against(
    paths: &Paths,
    revision: &str,
    options: &[String],
) -> Result<ExitCode, Failure> {
    let commit = commit(paths, revision)?;
    let place = paths.target().join("versions");
    stage("native", "building the native host and this program", || {
        native::build_programs(paths, &["sim"])
    })?;
    let copy = stage(
        "copy",
        &format!("the tree with the core of {revision} ({commit}), in target/{COPY}"),
        || tree_with_core_of(paths, &commit, &place),
    )?;
    copy::take_over(paths, copy.root(), &BUILT)?;
    stage("version", "building the same with that core", || build(&copy, revision))?;
    let sim = |paths: &Paths| paths.target().join("debug").join(program("sim"));
    let other = sim(&copy);
    let folders = [("here", sim(paths), "this tree"), ("there", other, revision)].map(
        |(name, program, who)| {
            let folder = place.join("histories").join(name);
            stage("sim", &format!("simulating families with the core of {who}"), || {
                live(paths, name, &program, options, &folder)
            })
            .map(|()| folder)
        },
    );
    let [here, there] = folders;
    told(&here?, &there?, revision)
}

/// The commit that a revision names.
fn commit(paths: &Paths, revision: &str) -> Result<String, Failure> {
    // After `--end-of-options`, a revision that begins with a hyphen is not an option.
    let asked = ["rev-parse", "--verify", "--quiet", "--short", "--end-of-options"];
    let answer = Call::new(paths, "versions-commit", "git")
        .args(asked)
        .arg(format!("{revision}^{{commit}}"))
        .answer();
    let commit = answer.map_err(|_| {
        Failure::new(format!(
            "git knows no commit `{revision}` here; `git log --oneline` lists them"
        ))
    })?;
    Ok(commit.trim().to_owned())
}

/// A copy of this tree in which the core is that of a commit.
fn tree_with_core_of(paths: &Paths, commit: &str, place: &Path) -> Result<Paths, Failure> {
    let (archive, core) = (place.join("core.tar"), place.join("core"));
    // A file that this commit does not have must not stay from another commit.
    emptied(&core).map_err(|why| Failure::new(format!("cannot make {}: {why}", core.display())))?;
    Call::new(paths, "versions-archive", "git")
        .args(["archive", "--format=tar", "-o"])
        .arg(&archive)
        .args([commit, "core"])
        .answer()?;
    Call::new(paths, "versions-unpack", "tar")
        .arg("-xf")
        .arg(&archive)
        .arg("-C")
        .arg(&core)
        .answer()?;
    copy::update_but(paths, COPY, "core", &core).map(Paths::from_root)
}

/// Builds the simulation in the copy.
fn build(copy: &Paths, revision: &str) -> Result<(), Failure> {
    let call =
        Call::cargo(copy, "versions", "build").args(native::SELECTION).args(["--bin", "sim"]);
    let log = call.log();
    let (status, printed) = call.told()?;
    if status.success() {
        return Ok(());
    }
    let errors: Vec<&str> = printed.lines().filter(|line| line.starts_with("error")).collect();
    let what = format!(
        "the core of {revision} does not compile with the host and the tests of this tree, so the \
         two cannot be compared; {} has all of it",
        log.display()
    );
    Err(Failure { what, printed: errors.join("\n") })
}

/// Simulates families. The history of each agent goes into a folder that is emptied before.
fn live(
    paths: &Paths,
    name: &str,
    program: &Path,
    options: &[String],
    folder: &Path,
) -> Result<(), Failure> {
    // The histories of an earlier run would be compared too.
    emptied(folder)
        .map_err(|why| Failure::new(format!("cannot make {}: {why}", folder.display())))?;
    let call = Call::new(paths, &format!("versions-{name}"), program)
        .args(options)
        .arg("--histories")
        .arg(folder);
    let log = call.log();
    let (status, printed) = call.told()?;
    match (status.code(), printed.lines().last()) {
        (Some(0), _) => Ok(()),
        // Exit code 1 is fine here: a broken invariant is part of the comparison.
        (Some(1), Some(counted)) if counted.contains("; digest ") => {
            anstream::println!("{}: {counted}; {} says what was wrong", bold(name), log.display());
            Ok(())
        }
        _ => Err(Failure {
            what: format!(
                "the simulation did not reach its end ({status}); {} has its output",
                log.display()
            ),
            printed,
        }),
    }
}

fn emptied(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => fs::create_dir_all(folder),
    }
}

/// Prints for each family the first difference, or that there is none.
fn told(here: &Path, there: &Path, revision: &str) -> Result<ExitCode, Failure> {
    let cannot = |why: io::Error| {
        Failure::new(format!("cannot compare {} with {}: {why}", here.display(), there.display()))
    };
    let seeds = histories::names(here).map_err(cannot)?;
    let mut parted = 0;
    for seed in &seeds {
        match histories::first(&here.join(seed), &there.join(seed)).map_err(cannot)? {
            None => anstream::println!("seed {seed}: the same"),
            Some(found) => {
                parted += 1;
                anstream::println!("seed {seed}: {}", difference(&found, revision));
            }
        }
    }
    let verdict = if parted == 0 {
        green("no difference").to_string()
    } else {
        red(format!("{parted} differ")).to_string()
    };
    anstream::println!(
        "{} families with the core of this tree and that of {revision}: {verdict}; {} has what \
         they wrote",
        seeds.len(),
        here.with_file_name("").display()
    );
    Ok(if parted == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The agent, the entry, and what each version wrote.
fn difference(found: &Difference, revision: &str) -> String {
    let [one, other] = found.wrote.each_ref().map(|entry| entry.as_deref().map(without_chain));
    let shared = one
        .unwrap_or_default()
        .chars()
        .zip(other.unwrap_or_default().chars())
        .take_while(|(one, other)| one == other)
        .count();
    let [one, other] = [one, other]
        .map(|entry| entry.map_or_else(|| "nothing".to_owned(), |entry| part(entry, shared)));
    format!(
        "{} at entry {}\n  this tree wrote {one}\n  {revision} wrote {other}",
        found.agent, found.seq
    )
}

/// An entry without its chain, because the chain differs after any earlier difference.
fn without_chain(entry: &str) -> &str {
    entry.rsplit_once(",\"chain\":").map_or(entry, |(body, _)| body)
}

/// The shown part of an entry: its beginning, and the text around the first difference.
fn part(entry: &str, differs_at: usize) -> String {
    let (length, half) = (entry.chars().count(), SHOWN / 2);
    if length <= SHOWN {
        return entry.to_owned();
    }
    let of = |from: usize, count: usize| entry.chars().skip(from).take(count).collect::<String>();
    if differs_at < half {
        return format!("{} ..", of(0, SHOWN));
    }
    let from = differs_at - half / 4;
    let end = if from + half < length { " .." } else { "" };
    format!("{} .. {}{end}", of(0, half), of(from, half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_both_entries_without_their_chains() {
        let wrote =
            [Some(r#"{"seq":3,"record":{"rule":"9.sleep"},"chain":"00ff"}"#.to_owned()), None];
        let text = difference(&Difference { agent: "sim-7".to_owned(), seq: 3, wrote }, "v1");
        assert_eq!(
            text,
            "sim-7 at entry 3\n\
             \x20 this tree wrote {\"seq\":3,\"record\":{\"rule\":\"9.sleep\"}\n\
             \x20 v1 wrote nothing"
        );
    }

    #[test]
    fn of_long_entries_the_beginning_is_shown_and_where_they_differ() {
        let long = format!("{{\"seq\":3{}here{}", "a".repeat(1_000), "b".repeat(1_000));
        let at = long.find("here").expect("it is there");
        let shown = part(&long, at);
        assert!(
            shown.starts_with("{\"seq\":3aaa")
                && shown.contains("aaahere")
                && shown.ends_with("bb ..")
                && shown.len() < 450,
            "{shown}"
        );
        assert!(part(&long, 10).starts_with("{\"seq\":3aaa") && part("short", 2) == "short");
    }
}
